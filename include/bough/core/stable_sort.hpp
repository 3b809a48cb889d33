// SPDX-License-Identifier: BSL-1.0
// stable_sort: as std::stable_sort, but constexpr, without memory, and without a warning.
//
// clang with the library of g++ 12 warns of a deprecated function inside std::stable_sort, in the
// user's unit. At most O(n log(n)^2) moves; the ranges sorted here are short.
#ifndef BOUGH_CORE_STABLE_SORT_HPP
#define BOUGH_CORE_STABLE_SORT_HPP

#include <bough/core/config.hpp>

#include <algorithm>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// Merges [first, mid) and [mid, last), each sorted. Of equal elements those of the first range come first.
template <class I, class Less>
constexpr void merge_in_place(I first, I mid, I last, const Less& less) {
    while (first != mid && mid != last) {
        if (last - first == 2) {
            if (less(*mid, *first)) std::swap(*first, *mid);
            return;
        }
        I lower = first, upper = mid; // [lower, mid) and [mid, upper) change places
        if (mid - first > last - mid) {
            lower += (mid - first) / 2;
            upper = std::lower_bound(mid, last, *lower, less);
        } else {
            upper += (last - mid) / 2;
            lower = std::upper_bound(first, mid, *upper, less);
        }
        const I middle = std::rotate(lower, mid, upper);
        merge_in_place(first, lower, middle, less);
        first = middle;
        mid = upper;
    }
}

template <class I, class Less>
constexpr void stable_sort(I first, I last, const Less& less) {
    if (last - first < 2) return;
    const I mid = first + (last - first) / 2;
    bough::detail::stable_sort(first, mid, less);
    bough::detail::stable_sort(mid, last, less);
    if (less(*mid, *(mid - 1))) bough::detail::merge_in_place(first, mid, last, less);
}

} // namespace bough::detail

#endif
