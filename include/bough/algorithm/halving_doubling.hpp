// SPDX-License-Identifier: BSL-1.0
// The family of recursive halving and doubling.
//
//   halving_doubling{}    allreduce: halving, then doubling             reduce: halving, then a gather
//                         reduce_scatter: recursive_halving{}           allgather: recursive doubling
#ifndef BOUGH_ALGORITHM_HALVING_DOUBLING_HPP
#define BOUGH_ALGORITHM_HALVING_DOUBLING_HPP

#include <bough/algorithm/allgather/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/halving_doubling.hpp>
#include <bough/algorithm/reduce/halving_gather.hpp>
#include <bough/algorithm/reduce_scatter/recursive_halving.hpp>

namespace bough::inline BOUGH_ABI {

struct halving_doubling {
    constexpr halving_doubling_allreduce algorithm_for(goal::allreduce) const noexcept { return {}; }
    constexpr halving_gather algorithm_for(goal::reduce) const noexcept { return {}; }
    constexpr recursive_halving algorithm_for(goal::reduce_scatter) const noexcept { return {}; }
    constexpr recursive_doubling_allgather algorithm_for(goal::allgather) const noexcept { return {}; }
    friend constexpr bool operator==(const halving_doubling&, const halving_doubling&) = default;
};

} // namespace bough

#endif
