// SPDX-License-Identifier: BSL-1.0
// Allreduce as reduce over one tree, then broadcast over another, from the same root.
//
// If ranks differ in speed, the best tree up is not the best tree down: what a rank needs to take
// in and combine a message differs from what it needs to send one. So each tree is built from its
// own costs; for the way up see bough/tree/reduction.hpp.
//   up_down_allreduce{fnf_tree(backwards.costs(), root), fnf_tree(costs, root)}
//
// Ranks       any
// Op          as tree_reduce over `up`: any associative op if that tree keeps rank order
//             (interval_table), otherwise a commutative one
// Rounds      those of tree_reduce over `up`, and of tree_broadcast over `down`
// Traffic     2 (p - 1) messages a block
// Combines    p - 1 blocks in all
// Scratch     one plane per child in `up`
// Time        reduction_time of `up` and broadcast_time of `down`
// Determinism as tree_reduce; every rank gets the root's bits
// Pre         the root of both trees is the plan's root
// Errors      what check_tree says of either
// Source      reduce and broadcast composed; trees as Banikazemi, Moorthy, Panda, ICPP 1998
//
// Picture, p = 7, up chain, down flat:   6 -> 5 -> 4 -> 3 -> 2 -> 1 -> 0, then 0 -> 1, 0 -> 2, .. 0 -> 6
#ifndef BOUGH_ALGORITHM_ALLREDUCE_UP_DOWN_HPP
#define BOUGH_ALGORITHM_ALLREDUCE_UP_DOWN_HPP

#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/core/label.hpp>

#include <type_traits>

namespace bough::inline BOUGH_ABI {

template <TreeSource Up, TreeSource Down>
struct up_down_allreduce {
    using serves = goals<goal::allreduce, goal::barrier>;
    Up up{};
    Down down{};

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        detail::reduce_upwards(bind_tree(up, at), at, rank, output, 0, 0, out);
        detail::broadcast_downwards(bind_tree(down, at), at, rank, out);
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    using text_tells = std::conditional_t<text_tells_v<Up> && text_tells_v<Down>, up_down_allreduce, void>;
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return at.blocks * bind_tree(up, at).child_count(rank);
    }
    constexpr status check(const dimensions& at) const {
        if (const status bad = check_tree(up, at)) return bad;
        return check_tree(down, at);
    }
    constexpr bool keeps_rank_order(const dimensions& at) const { return tree_keeps_rank_order(up, at); }
    static constexpr bool may_hold = true;
    constexpr label text() const { return label("up_down_allreduce").field(label_of(up)).field(label_of(down)); }
    friend constexpr bool operator==(const up_down_allreduce&, const up_down_allreduce&) = default;
};
template <class U, class D>
up_down_allreduce(U, D) -> up_down_allreduce<U, D>;

} // namespace bough

#endif
