// SPDX-License-Identifier: BSL-1.0
// Searches through a short list from its begin to its end.
//
// Each is one function for each predicate. One of <algorithm> is about eight functions without
// optimisation, and with it a loop that is unrolled four times.
#ifndef BOUGH_CORE_SEARCH_HPP
#define BOUGH_CORE_SEARCH_HPP

#include <bough/core/config.hpp>

namespace bough::inline BOUGH_ABI::detail {

// Where the first element lies for which `wanted(element)` holds; list.end(): there is none.
template <class L, class F>
constexpr auto find_if(L&& list, const F& wanted) {
    auto at = list.begin();
    for (const auto end = list.end(); at != end && !wanted(*at);) ++at;
    return at;
}
// Where the first element lies that equals this one.
template <class L, class E>
constexpr auto find(L&& list, const E& value) {
    auto at = list.begin();
    for (const auto end = list.end(); at != end && !(*at == value);) ++at;
    return at;
}
template <class L, class F>
constexpr bool any_of(const L& list, const F& wanted) {
    for (const auto& element : list)
        if (wanted(element)) return true;
    return false;
}
template <class L, class E>
constexpr bool contains(const L& list, const E& value) {
    for (const auto& element : list)
        if (element == value) return true;
    return false;
}

} // namespace bough::detail

#endif
