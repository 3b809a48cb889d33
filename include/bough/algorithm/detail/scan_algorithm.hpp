// SPDX-License-Identifier: BSL-1.0
// scan_algorithm: what all algorithms of scan and exscan say of themselves.
#ifndef BOUGH_ALGORITHM_DETAIL_SCAN_ALGORITHM_HPP
#define BOUGH_ALGORITHM_DETAIL_SCAN_ALGORITHM_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/config.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/status.hpp>

namespace bough::inline BOUGH_ABI::detail {

// `A`: the algorithm itself, so that two of them cannot be compared.
template <class A>
struct scan_algorithm {
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    constexpr status check(const dimensions&) const noexcept { return {}; }
    constexpr bool keeps_rank_order(const dimensions&) const noexcept { return true; }
    // Every rank has another result.
    constexpr bool rank_consistent(const dimensions&) const noexcept { return false; }
    friend constexpr bool operator==(const scan_algorithm&, const scan_algorithm&) = default;
};

} // namespace bough::detail

#endif
