// SPDX-License-Identifier: BSL-1.0
// erase_unordered: goes on with each of several tasks, and removes those that are over.
#ifndef BOUGH_TRANSPORT_TCP_ERASE_UNORDERED_HPP
#define BOUGH_TRANSPORT_TCP_ERASE_UNORDERED_HPP

#include <bough/core/config.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Calls is_over(x), which may change x, once for each element, and removes x if it returns true.
// The others may change places.
template <class T, class F>
void erase_unordered(std::vector<T>& all, const F& is_over) {
    for (std::size_t i = 0; i != all.size();) {
        if (!is_over(all[i])) {
            ++i;
            continue;
        }
        if (i + 1 != all.size()) all[i] = std::move(all.back());
        all.pop_back();
    }
}

} // namespace bough::detail

#endif
