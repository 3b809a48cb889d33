// SPDX-License-Identifier: BSL-1.0
// Allreduce over two trees with a root each, up and down at once: when a block goes up an edge, an
// earlier one comes down it.
//
// The lower half of the ranks is a tree below rank p/2 - 1, the upper half one below rank p/2. Every
// subtree is an interval of ranks, and its root is the rank of it that lies next to the middle. The
// two roots exchange what their halves have, block by block, so both have the result at once.
//
// Ranks       any; the root of the dimensions does not matter
// Op          any associative op: brackets keep rank order
// Rounds      at most 2 a (d + 1) + (a + 1) (n - 1) + 1 for n blocks and arity a, where d is the depth of the
//             upper half's tree: about log_a (p/2), or p/2 for a = 1. One block: 2 a less
// Traffic     2 (p - 1) n blocks in all; a rank sends each block to its parent and to each child, so it
//             talks to a + 1 ranks at most
// Combines    p n blocks in all: a n on a rank at most, and n more on a root
// Scratch     a block to land in for each child and block; on a root also for each block of the other root
// Time        alpha_beta_gamma, t = alpha + beta m / n, g = gamma m / n, without slack: at most
//             (a d + 1) (t + g) + a d t + (n - 1) (a + 1) (t + g), and just that for a = 1, p > 2. So 2 beta m
//             for long vectors and a = 1, 3 beta m for a = 2. Slack changes that by some percent, and hides
//             combining where messages land early. If a rank sends on two cables at once, a = 1 takes beta m:
//             on ranks in a row nothing is faster
// Determinism the bracket depends on p and the arity alone; every rank gets the same bits
// Errors      arity: not between 1 and 16
// Source      Traeff, "A Doubly-pipelined, Dual-root Reduction-to-all Algorithm and Implementation", arXiv
//             2109.12626: arity 2
//
// Picture, p = 7, arity 2, "3 > 4 6": the children of rank 3 are 4 and 6
//             2 > 1 0            3 > 4 6   4 > 5            2 - 3 exchange
//   block 0 up      1->2  0->2   5->4  4->3  6->3   2<->3
//   block 0 down    2->1  2->0   3->4  3->6  4->5, each beside a later block that goes up: 2->1 with 1->2
#ifndef BOUGH_ALGORITHM_ALLREDUCE_DUAL_ROOT_HPP
#define BOUGH_ALGORITHM_ALLREDUCE_DUAL_ROOT_HPP

#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

namespace detail {

// A rank's place in its half. Places count from the half's root, 0, away from the middle; a subtree
// is a run of places that begins with its root.
struct dual_root_place {
    rank_t at = 0;           // its own place
    rank_t below = 0;        // how many ranks its subtree has besides itself
    rank_t parent = no_rank; // a place
    rank_t depth = 0;

    // Pre: place < size, arity >= 1.
    constexpr dual_root_place(rank_t place, rank_t size, rank_t arity) noexcept : at(place) {
        if (arity == 1) {
            depth = place;
            below = size - 1 - place;
            if (place != 0) parent = place - 1;
            return;
        }
        rank_t first = 0;
        below = size - 1;
        while (first != place) {
            parent = first;
            ++depth;
            const rank_t children = std::min(arity, below);
            const rank_t share = below / children, longer = below % children; // the first so many have one more
            rank_t offset = place - first - 1;
            const rank_t in_longer = longer * (share + 1);
            const rank_t child = offset < in_longer ? offset / (share + 1) : longer + (offset - in_longer) / share;
            first += 1 + child * share + std::min(child, longer);
            below = share - (child < longer ? 0 : 1);
        }
    }
    constexpr rank_t children(rank_t arity) const noexcept { return std::min(arity, below); }
    // The place of its i-th child, the nearest first. Pre: i < children(arity).
    constexpr rank_t child(rank_t arity, rank_t i) const noexcept {
        const rank_t count = children(arity);
        return at + 1 + i * (below / count) + std::min(i, below % count);
    }
};

} // namespace detail

struct dual_root_allreduce {
    using serves = goals<goal::allreduce>;
    static constexpr rank_t most_arity = 16;
    rank_t arity = 2; // children of a rank, at most
    // Does a root send the next block before it takes the other root's? Then combining hides behind
    // messages that land early. Without it the roots keep step, and so do all ranks.
    bool slack = true;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (at.size == 1) return out.copy({input, 0, at.blocks}, {output, 0, at.blocks});
        const rank_t middle = at.size / 2;
        const bool lower = rank < middle;
        const auto rank_of = [&](rank_t place) { return lower ? middle - 1 - place : middle + place; };
        const detail::dual_root_place here = place_of(at, rank);
        const rank_t children = here.children(arity);
        const bool is_root = here.at == 0;
        const rank_t up = is_root ? (lower ? middle : middle - 1) : rank_of(here.parent);
        // In turn t block t goes up, and block t - lag comes from above, whose own lag is two less: so a
        // rank that sends on several cables at once has both before it needs them.
        const std::uint64_t lag = 2 * std::uint64_t{here.depth} + (slack ? 1 : 0);
        const std::uint64_t turns = at.blocks + lag + (children == 0 ? 0 : 1);
        const buffer sum = children == 0 ? input : output; // over the subtree
        for (std::uint64_t turn = 0; turn != turns; ++turn) {
            const auto reaches = [&](std::uint64_t behind) { return turn >= behind && turn - behind < at.blocks; };
            const auto block = [&](std::uint64_t behind, buffer in) {
                return slice{in, static_cast<block_t>(turn - behind), 1};
            };
            const auto add = [&](const slice& landed, const slice& mine, bool landed_left) {
                if (landed_left)
                    out.combine(landed, mine, mine.in(output));
                else
                    out.combine(mine, landed, mine.in(output));
            };
            for (rank_t i = 0; i != children; ++i) {
                const rank_t child = rank_of(here.child(arity, i));
                if (reaches(lag + 1)) out.send(child, block(lag + 1, output));
                if (!reaches(0)) continue;
                const slice landed = block(0, bough::scratch(i));
                out.receive(child, landed);
                add(landed, block(0, i == 0 ? input : output), lower);
            }
            if (reaches(0)) out.send(up, block(0, sum));
            if (!reaches(lag)) continue;
            const slice landed = block(lag, is_root ? bough::scratch(children) : output);
            out.receive(up, landed);
            if (is_root) add(landed, block(lag, sum), !lower);
        }
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept {
        return arity == 1 ? size : 4 * static_cast<block_t>(std::bit_width(size));
    }
    using text_tells = dual_root_allreduce;
    static constexpr bool steady_in_blocks = true;
    constexpr block_t scratch(const dimensions& at, rank_t rank) const noexcept {
        if (at.size == 1) return 0;
        const detail::dual_root_place here = place_of(at, rank);
        return at.blocks * (here.children(arity) + (here.at == 0 ? 1 : 0));
    }
    constexpr status check(const dimensions&) const noexcept {
        return arity >= 1 && arity <= most_arity ? status{}
                                                 : invalid_argument("arity: a rank has between 1 and 16 children");
    }
    constexpr bool keeps_rank_order(const dimensions&) const noexcept { return true; }
    constexpr bracket_class bracket(const dimensions&) const noexcept {
        return {bracket_family("dual_root_allreduce"), arity};
    }
    constexpr label text() const {
        return label("dual_root_allreduce").field("arity", arity, 2).field("slack", slack, true);
    }
    friend constexpr bool operator==(const dual_root_allreduce&, const dual_root_allreduce&) = default;

private:
    constexpr detail::dual_root_place place_of(const dimensions& at, rank_t rank) const noexcept {
        const rank_t middle = at.size / 2;
        return rank < middle ? detail::dual_root_place(middle - 1 - rank, middle, arity)
                             : detail::dual_root_place(rank - middle, at.size - middle, arity);
    }
};

} // namespace bough

#endif
