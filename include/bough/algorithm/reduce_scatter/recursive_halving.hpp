// SPDX-License-Identifier: BSL-1.0
// Reduce-scatter by recursive halving: in each round a rank gives half of what it has to a partner,
// and combines the rest.
//
//   recursive_halving{}                                   distances 1, 2, 4, ...: in rank order,
//                                                         messages in many parts
//   recursive_halving{.distance = distances::halving}     distances p/2, ..., 2, 1: messages in one
//                                                         part, commutative ops
//
// Ranks       any: with p' = 2^k <= p < 2^(k+1) and r = p - p', the first 2r ranks fold in pairs
//             first, each combining half
// Op          distances::doubling any associative op; distances::halving a commutative one (for
//             more than 3 ranks)
// Rounds      log2 p' for p = p', else log2 p' + 3 (in step; one more if ranks that do not fold run
//             ahead)
// Traffic     a rank sends (1 - 1/p') m; a rank that folds m/2 and a block more, or m in all if it
//             leaves
// Combines    (1 - 1/p') m a rank; a rank that folds m/2 more
// Packing     doubling: the blocks that a rank gives away are every second one it has, so the
//             message of round k (from 0) has p' / 2^(k+1) parts: p' - 1 in all, which a transport
//             without gather lists copies; at most one pass over (1 - 1/p') m at each end. Inside
//             an allreduce the order of blocks does not matter: see halving_doubling, which needs
//             none of this. halving: one part always
// Scratch     three quarters of the vector for p = p', else less than a whole one. A rank that
//             stays in a fold needs up to 5/3 of it (p = 3), one that leaves up to 2/3; in both
//             orders of distances
// Time        alpha_beta_gamma, p = p': log2 p alpha + (1 - 1/p) (m beta + m gamma) + the packing;
//             else in addition (1 + 2 f_alpha) alpha + (1 + f_beta) / 2 m beta + m gamma / 2 + a
//             block
// Determinism doubling: the bracket of recursive_doubling; halving: one bracket for all blocks
// Pre         as many blocks as ranks; they may differ in length
// Errors      another number of blocks
// Source      Rabenseifner 2004, section 2.5 (doubling; its footnote: halving, after Thakur and Gropp 2003)
//
// Picture, p = 7, doubling (r = 3, p' = 4; 0, 2, 4 and 6 stay; block b is rank b's)
//   fold      0<->1  2<->3  4<->5 halves, then 1->0 3->2 5->4
//   round 1   0->2: 2 3 6    2->0: 0 1 4 5    4->6: 2 3 6    6->4: 0 1 4 5
//   round 2   0->4: 4 5      4->0: 0 1        2->6: 6        6->2: 2 3
//   unfold    0->1: 1        2->3: 3          4->5: 5
#ifndef BOUGH_ALGORITHM_REDUCE_SCATTER_RECURSIVE_HALVING_HPP
#define BOUGH_ALGORITHM_REDUCE_SCATTER_RECURSIVE_HALVING_HPP

#include <bough/algorithm/detail/block_per_rank.hpp>
#include <bough/algorithm/detail/paired_fold.hpp>
#include <bough/algorithm/detail/scratch_use.hpp>
#include <bough/algorithm/levels.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

#include <bit>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

// In which order a rank meets its partners.
enum class distances : std::uint8_t { doubling, halving };

namespace detail {

// The blocks that a member keeps in the round where `left` members still share a vector: f(slice,
// more), in order.
template <class F>
constexpr void for_each_kept(const paired_fold& fold, distances distance, rank_t member, rank_t left, F&& f) {
    const auto first_of = [&](rank_t m) { return m < fold.extra ? 2 * m : m + fold.extra; };
    if (distance == distances::halving) {
        const rank_t first = member & ~(left / 2 - 1);
        f(slice{input, first_of(first), first_of(first + left / 2) - first_of(first)}, false);
        return;
    }
    const rank_t stride = fold.group / left * 2;
    for (rank_t m = member % stride; m < fold.group; m += stride)
        f(slice{input, first_of(m), first_of(m + 1) - first_of(m)}, m + stride < fold.group);
}

} // namespace detail

struct recursive_halving {
    using serves = goals<goal::reduce_scatter>;
    static constexpr bool may_hold = true;
    distances distance = distances::doubling;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const detail::paired_fold fold(at.size);
        const slice half[2] = {{input, 0, at.size / 2}, {input, at.size / 2, at.size - at.size / 2}};
        buffer have = input;
        std::uint32_t plane = 0; // the next to land in
        if (fold.folds(rank)) {
            const bool leaves = fold.leaves(rank);
            const rank_t other = leaves ? rank - 1 : rank + 1;
            const slice mine = half[leaves ? 1 : 0].in(bough::scratch(0));
            const slice theirs = half[leaves ? 0 : 1];
            out.send(other, theirs);
            out.receive(other, mine);
            if (leaves) {
                out.combine(mine, mine.in(input), mine);
                out.send(other, mine);
                out.receive(other, {output, rank, 1});
                return;
            }
            out.combine(mine.in(input), mine, mine);
            out.receive(other, theirs.in(bough::scratch(0)));
            have = bough::scratch(0);
            plane = 1;
        }
        const rank_t member = fold.folded(rank);
        for (rank_t left = fold.group; left > 1; left /= 2) {
            const rank_t apart = distance == distances::doubling ? fold.group / left : left / 2;
            const rank_t other = member ^ apart;
            const rank_t peer = fold.unfolded(other);
            const buffer landed = bough::scratch(plane);
            detail::for_each_kept(fold, distance, other, left, [&](const slice& s, bool more) {
                more ? out.send_part(peer, s.in(have)) : out.send(peer, s.in(have));
            });
            detail::for_each_kept(fold, distance, member, left, [&](const slice& s, bool more) {
                more ? out.receive_part(peer, s.in(landed)) : out.receive(peer, s.in(landed));
            });
            const auto combine = [&](const slice& s, buffer result) {
                if (s.count == 0) return;
                out.combine(s.in(peer < rank ? landed : have), s.in(peer < rank ? have : landed), s.in(result));
            };
            detail::for_each_kept(fold, distance, member, left, [&](const slice& s, bool) {
                if (left != 2) return combine(s, landed);
                // This rank's own block with that of the rank that has left.
                combine({input, s.first, 1}, output);
                combine({input, s.first + 1, s.count - 1}, landed);
            });
            have = landed;
            plane = 1 - plane;
        }
        if (fold.folds(rank)) out.send(rank + 1, {have, rank + 1, 1});
        if (at.size == 1) out.copy({input, 0, 1}, {output, 0, 1});
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    using text_tells = recursive_halving;
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::written_scratch(*this, at, rank);
    }
    constexpr status check(const dimensions& at) const noexcept { return detail::check_block_per_rank(at); }
    // Without a fold.
    constexpr bool symmetric_at(const dimensions& at) const noexcept { return std::has_single_bit(at.size); }
    constexpr bool keeps_rank_order(const dimensions& at) const noexcept {
        return distance == distances::doubling || at.size <= 3;
    }
    constexpr bracket_class bracket(const dimensions& at) const {
        return distance == distances::doubling ? level_bracket(fold_levels(at.size)) : bracket_class{};
    }
    constexpr label text() const {
        const label name("recursive_halving");
        return distance == distances::doubling ? name : label(name).field(".distance = distances::halving");
    }
    friend constexpr bool operator==(const recursive_halving&, const recursive_halving&) = default;
};

} // namespace bough

#endif
