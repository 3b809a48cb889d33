// SPDX-License-Identifier: BSL-1.0
// double_tree: the family of the collectives over two binary trees at once.
//
//   plan_allreduce(double_tree{}, {.size = 13, .blocks = 20})
#ifndef BOUGH_ALGORITHM_DOUBLE_TREE_HPP
#define BOUGH_ALGORITHM_DOUBLE_TREE_HPP

#include <bough/algorithm/allreduce/double_tree.hpp>
#include <bough/algorithm/broadcast/double_tree.hpp>
#include <bough/algorithm/reduce/double_tree.hpp>
#include <bough/schedule/goal.hpp>

namespace bough::inline BOUGH_ABI {

struct double_tree {
    constexpr double_tree_broadcast algorithm_for(goal::broadcast) const noexcept { return {}; }
    constexpr double_tree_reduce algorithm_for(goal::reduce) const noexcept { return {}; }
    constexpr double_tree_allreduce algorithm_for(goal::allreduce) const noexcept { return {}; }
    friend constexpr bool operator==(const double_tree&, const double_tree&) = default;
};

} // namespace bough

#endif
