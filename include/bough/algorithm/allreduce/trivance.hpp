// SPDX-License-Identifier: BSL-1.0
// Trivance: allreduce in log3 p rounds on rings and tori, whose ranks send both ways at once.
//
//   trivance_census{.extents = {9, 9}}       whole vectors, each way; for exact ops
//   trivance_allreduce{.extents = {9, 9}}    a reduce_scatter, then an allgather; for any op that commutes
//
// In round k a rank meets the ranks at distance 3^k on both sides. In a census each gives the other what
// it has: op over 3^k ranks around it, which becomes op over 3^(k+1). In a reduce_scatter a rank keeps
// the blocks whose number is its own modulo 3^(k+1), and gives the others away; an allgather takes the
// same way back. On a torus a part of the vector for each dimension begins with that dimension.
//
// Ranks       the extents are powers of three
// Op          trivance_census: commutative and exact on the element type; inexact_trivance_census and
//             trivance_allreduce: commutative
// Rounds      census q, allreduce 2 q, with q = log3 p; in each a rank sends two messages for each part and
//             gets two. One-ported: 2 c q and 4 c q for c parts
// Traffic     a rank sends 2 q m; allreduce: 2 (1 - 1/p) m
// Combines    census 2 q m on each rank; allreduce (1 - 1/p) m
// Scratch     census: two planes; allreduce: two thirds of one
// Time        with ports for all cables of a torus of D equal extents, if no two messages share a link:
//             q (alpha + beta m / D); allreduce: 2 q alpha + (1 - 1/p) beta m / D. But messages at distance
//             3^k share links: the busiest one of a ring carries (p - 1) m / 2, of the allreduce 2 q m / 3.
//             alpha_beta_gamma: 2 q (c alpha + m beta + m gamma); allreduce: 4 q c alpha + (1 - 1/p) m
//             (2 beta + gamma)
// Determinism census: every rank has a bracket of its own, so all get the same bits only with an exact op.
//             Allreduce: the bracket of a block depends on its number; same bits on every rank
// Pre         allreduce: a block for each rank and part
// Errors      extents whose product is not the number of ranks, of which one is 0, or that are no powers
//             of three
// Source      Juerss, Addanki, Schmid, "Trivance", arXiv 2602.17254
//
// Picture, census, a ring of 9 (x+y: op over the ranks x to y round the ring), rank 0
//   round 0   sends its own to 1 and 8       gets 1, 8          has 8+1
//   round 1   sends 8+1 to 3 and 6           gets 2+4, 5+7      has 5+4, all ranks
// Picture, reduce_scatter, rank 0
//   round 0   sends 1 4 7 to 1, 2 5 8 to 8   keeps 0 3 6
//   round 1   sends 3 to 3, 6 to 6           keeps 0
#ifndef BOUGH_ALGORITHM_ALLREDUCE_TRIVANCE_HPP
#define BOUGH_ALGORITHM_ALLREDUCE_TRIVANCE_HPP

#include <bough/algorithm/detail/scratch_use.hpp>
#include <bough/algorithm/detail/torus.hpp>
#include <bough/algorithm/detail/trivance_rounds.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/grid_extents.hpp>
#include <bough/schedule/plan.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

// Whole vectors. With an op that is not exact on the type the ranks get results that differ by rounding: Exact
// rules that out.
template <bool Exact>
struct basic_trivance_census {
    using serves = goals<goal::allreduce>;
    grid_extents extents{}; // none: one ring

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const detail::trivance_rounds torus(extents, at.size);
        if (at.size == 1) return out.copy({input, 0, at.blocks}, {output, 0, at.blocks});
        for (std::uint32_t i = 0; i != torus.rounds(); ++i) {
            const auto each_part = [&](const auto& f) {
                for (std::uint32_t c = 0; c != torus.parts(); ++c) {
                    const std::uint64_t n = at.blocks;
                    const auto first = static_cast<block_t>(n * c / torus.parts());
                    const auto last = static_cast<block_t>(n * (c + 1) / torus.parts());
                    if (first == last) continue;
                    const auto now = torus.of(c)[i];
                    f(slice{i == 0 ? input : output, first, last - first}, torus.peer(rank, now, true),
                      torus.peer(rank, now, false));
                }
            };
            each_part([&](const slice& have, rank_t before, rank_t behind) {
                out.send(behind, have);
                out.send(before, have);
            });
            each_part([&](const slice& have, rank_t before, rank_t behind) {
                const slice low = have.in(bough::scratch(0)), high = have.in(bough::scratch(1));
                out.receive(before, low);
                out.receive(behind, high);
                out.combine(low, have, have.in(output));
                out.combine(have.in(output), high, have.in(output));
            });
        }
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept {
        return size == 1 || !extents.serve(size) ? 1 : detail::trivance_rounds(extents, size).parts();
    }
    using text_tells = basic_trivance_census;
    constexpr block_t scratch(const dimensions& at, rank_t) const noexcept { return at.size == 1 ? 0 : 2 * at.blocks; }
    constexpr status check(const dimensions& at) const noexcept {
        return detail::trivance_rounds::check(extents, at.size);
    }
    constexpr bool keeps_rank_order(const dimensions& at) const noexcept { return at.size == 1; }
    constexpr bool rank_consistent(const dimensions& at) const noexcept { return at.size == 1; }
    static constexpr bool any_size = false;
    static constexpr bool needs_exact = Exact;
    constexpr label text() const {
        return detail::torus_label(Exact ? "trivance_census" : "inexact_trivance_census", extents);
    }
    friend constexpr bool operator==(const basic_trivance_census&, const basic_trivance_census&) = default;
};

using trivance_census = basic_trivance_census<true>;
using inexact_trivance_census = basic_trivance_census<false>;

struct trivance_allreduce {
    using serves = goals<goal::allreduce>;
    grid_extents extents{}; // none: one ring

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const detail::trivance_rounds torus(extents, at.size);
        if (at.size == 1) return out.copy({input, 0, at.blocks}, {output, 0, at.blocks});
        const std::uint32_t rounds = torus.rounds();
        for (std::uint32_t i = 0; i != rounds; ++i) {
            const buffer have = i == 0 ? input : output;
            for (std::uint32_t c = 0; c != torus.parts(); ++c) {
                const detail::trivance_share now(torus, c, i);
                for (const bool before : {false, true}) {
                    const rank_t to = torus.peer(rank, now.is, before);
                    now.send(to, to, have, out);
                }
            }
            for (std::uint32_t c = 0; c != torus.parts(); ++c) {
                const detail::trivance_share now(torus, c, i);
                for (const bool before : {true, false})
                    now.receive(torus.peer(rank, now.is, before), rank, bough::scratch(before ? 0 : 1), out);
                now.blocks_of(rank, have, [&](const slice& s, bool) {
                    out.combine(s.in(bough::scratch(0)), s, s.in(output));
                    out.combine(s.in(output), s.in(bough::scratch(1)), s.in(output));
                });
            }
        }
        for (std::uint32_t i = rounds; i-- != 0;) {
            for (std::uint32_t c = 0; c != torus.parts(); ++c) {
                const detail::trivance_share now(torus, c, i);
                for (const bool before : {false, true}) {
                    const rank_t to = torus.peer(rank, now.is, before);
                    now.send(to, rank, output, out);
                }
            }
            for (std::uint32_t c = 0; c != torus.parts(); ++c) {
                const detail::trivance_share now(torus, c, i);
                for (const bool before : {true, false}) {
                    const rank_t from = torus.peer(rank, now.is, before);
                    now.receive(from, from, output, out);
                }
            }
        }
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept {
        return size == 1 || !extents.serve(size) ? size : size * detail::trivance_rounds(extents, size).parts();
    }
    using text_tells = trivance_allreduce;
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::written_scratch(*this, at, rank);
    }
    constexpr status check(const dimensions& at) const noexcept {
        if (const status bad = detail::trivance_rounds::check(extents, at.size)) return bad;
        const std::uint32_t parts = detail::trivance_rounds(extents, at.size).parts();
        if (const status bad = detail::check_blocks_of_each(at.size, parts)) return bad;
        if (at.blocks != natural_blocks(at.size) && at.blocks != bough::natural_blocks)
            return invalid_argument("blocks: must be one for each rank and dimension longer than one");
        return {};
    }
    constexpr bool keeps_rank_order(const dimensions& at) const noexcept { return at.size == 1; }
    static constexpr bool any_size = false;
    constexpr label text() const { return detail::torus_label("trivance_allreduce", extents); }
    friend constexpr bool operator==(const trivance_allreduce&, const trivance_allreduce&) = default;
};

} // namespace bough

#endif
