// SPDX-License-Identifier: BSL-1.0
// Broadcast over two binary trees at once: no rank has children in both, and each tree carries half
// of the blocks.
//
// Ranks       any, any root
// Rounds      with ports that serve messages in the order of the steps: at most n + 2 floor(log2(p
//             - 1)) for n blocks
// Traffic     (p - 1) n blocks in all; a rank receives each block once and sends about as many; it
//             talks to four ranks at most, whatever p is
// Scratch     none
// Time        alpha_beta_gamma: (n + 2 log2 p) (alpha + (m / n) beta) for m bytes, about; m beta
//             for long vectors. circulant_broadcast needs fewer rounds; this one fewer peers
// Determinism nothing is combined
// Errors      none of its own
// Source      Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction
//             and scan", Parallel Computing 35, 2009
//
// Picture, p = 7, root 0 (x > y: x sends to y):
//   blocks of the first half   0 > 1   1 > 3 2   2 > 5 4   3 > 6
//   blocks of the second half  0 > 6   6 > 5 4   5 > 3 2   4 > 1
#ifndef BOUGH_ALGORITHM_BROADCAST_DOUBLE_TREE_HPP
#define BOUGH_ALGORITHM_BROADCAST_DOUBLE_TREE_HPP

#include <bough/algorithm/detail/two_trees.hpp>
#include <bough/schedule/plan.hpp>

namespace bough::inline BOUGH_ABI {

namespace detail {

// The steps by which `rank` receives what it lacks and passes it on. `data` is where the blocks are
// or land.
constexpr void broadcast_over_two(const two_trees& trees, buffer data, StepSink auto& out) {
    trees.for_each_down([&](const two_trees::family& mine, block_t b) {
        const slice block{data, b, 1};
        if (mine.parent != no_rank) out.receive(mine.parent, block);
        for (rank_t c = 0; c != mine.children; ++c) out.send(mine.child[c], block);
    });
}

} // namespace detail

struct double_tree_broadcast {
    using serves = goals<goal::broadcast>;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (at.size == 1) return;
        detail::broadcast_over_two(detail::two_trees(at, rank), rank == at.root ? input : output, out);
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return detail::two_tree_natural_blocks(size); }
    using text_tells = double_tree_broadcast;
    static constexpr bool steady_in_blocks = true;
    static constexpr bool steady_in_ranks = true;
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions&) const noexcept { return {}; }
    friend constexpr bool operator==(const double_tree_broadcast&, const double_tree_broadcast&) = default;
};

} // namespace bough

#endif
