// SPDX-License-Identifier: BSL-1.0
// Reduce over two binary trees at once: no rank has children in both, and each tree carries half of
// the blocks.
//
// Ranks       any, any root
// Op          commutative: the trees do not keep rank order
// Rounds      with ports that serve messages in the order of the steps: at most n + 2 floor(log2(p
//             - 1)) for n blocks, one more if n is odd
// Traffic     (p - 1) n blocks in all; a rank sends each block once and receives about as many; it
//             talks to four ranks at most, whatever p is
// Combines    (p - 1) n blocks in all; a rank combines what it receives
// Scratch     on an inner rank of one tree, for each block of it: one to accumulate in, and one to
//             land in for each child; at the root one to land in for each block; on other ranks
//             none
// Time        alpha_beta_gamma: (n + 2 log2 p) (alpha + (m / n) (beta + gamma)) for m bytes, about
// Determinism the bracket depends on p, root and n alone; the two halves of the vector have different ones
// Errors      none of its own
// Source      as double_tree_broadcast
//
// Picture, p = 7, root 0 (x < y: y sends to x):
//   blocks of the first half   0 < 1   1 < 2 3   2 < 4 5   3 < 6
//   blocks of the second half  0 < 6   6 < 4 5   5 < 2 3   4 < 1
#ifndef BOUGH_ALGORITHM_REDUCE_DOUBLE_TREE_HPP
#define BOUGH_ALGORITHM_REDUCE_DOUBLE_TREE_HPP

#include <bough/algorithm/detail/two_trees.hpp>
#include <bough/schedule/plan.hpp>

namespace bough::inline BOUGH_ABI {

namespace detail {

// The steps by which `rank` combines what its children send with its own, into `acc`, and sends it
// on. Child c lands in plane first_plane + c. The operand of the lower rank stands left.
constexpr void reduce_over_two(const two_trees& trees, rank_t rank, buffer acc, std::uint32_t first_plane,
                               StepSink auto& out) {
    trees.for_each_up([&](const two_trees::family& mine, block_t b) {
        slice have{input, b, 1};
        for (rank_t c = mine.children; c-- != 0;) { // a broadcast backwards
            const slice landed = have.in(scratch(first_plane + c));
            out.receive(mine.child[c], landed);
            if (mine.child[c] < rank)
                out.combine(landed, have, have.in(acc));
            else
                out.combine(have, landed, have.in(acc));
            have = have.in(acc);
        }
        if (mine.parent != no_rank) out.send(mine.parent, have);
    });
}
// How many blocks the children of a rank land in.
constexpr block_t two_trees_landing(const two_trees& trees) noexcept {
    return trees[0].children * trees[0].blocks() + trees[1].children * trees[1].blocks();
}

} // namespace detail

struct double_tree_reduce {
    using serves = goals<goal::reduce>;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (at.size == 1) {
            out.copy({input, 0, at.blocks}, {output, 0, at.blocks});
        } else {
            const bool is_root = rank == at.root;
            detail::reduce_over_two(detail::two_trees(at, rank), rank, is_root ? output : bough::scratch(0),
                                    is_root ? 0 : 1, out);
        }
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return detail::two_tree_natural_blocks(size); }
    using text_tells = double_tree_reduce;
    static constexpr bool steady_in_blocks = true;
    static constexpr bool steady_in_ranks = true;
    constexpr block_t scratch(const dimensions& at, rank_t rank) const noexcept {
        if (at.size == 1) return 0;
        const detail::two_trees trees(at, rank);
        block_t accumulate = 0;
        for (std::uint32_t i = 0; i != 2; ++i)
            if (trees[i].children != 0 && !trees.is_root()) accumulate += trees[i].blocks();
        return accumulate + detail::two_trees_landing(trees);
    }
    constexpr status check(const dimensions&) const noexcept { return {}; }
    static constexpr bool may_hold = true; // no block waits for another one
    friend constexpr bool operator==(const double_tree_reduce&, const double_tree_reduce&) = default;
};

} // namespace bough

#endif
