// SPDX-License-Identifier: BSL-1.0
// Reduce_scatter over a circulant graph: as few rounds, as little traffic and as little work as
// there can be, for any number of ranks.
//
// circulant_allgather backwards. Rank r counts the blocks from its own on: block r + i is R[i]. In
// a round that halves what there is from s' to s blocks, it sends the partial results R[s], ...,
// R[s' - 1] to rank r + s, where they are R[0], R[1], ..., and combines what rank r - s sent with
// its own R[0], R[1], ... The skips: detail/skips.hpp.
//
// Ranks       any
// Op          commutative
// Rounds      ceil(log_{ports+1} p): optimal; with n ports, each round has up to n messages each way
// Traffic     a rank sends p - 1 blocks: optimal; the largest message goes the furthest
// Combines    p - 1 blocks a rank: optimal
// Scratch     at most p blocks: p / (ports + 1) of them for partial results, the rest to land in
// Time        alpha_beta_gamma: ceil(log2 p) alpha + (p - 1) / p n (beta + gamma)
// Determinism every rank's result is a bracket of its own, the same in every run
// Pre         one block a rank; they may differ in length
// Errors      ports: none
// Source      Traeff 2024, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", arXiv
//             2410.14234
//
// Picture, p = 7 (skips 1 2 4 7), rank 0:
//   round 1   sends 4 5 6 to 4       gets 0 1 2 from 3       has 0 1 2 of ranks 0 3, and 3 of rank 0
//   round 2   sends 2 3 to 2         gets 0 1 from 5         has 0 1 of ranks 0 1 3 5 (block 1: 5 of ranks 5 1)
//   round 3   sends 1 to 1           gets 0 from 6           has 0 of all
#ifndef BOUGH_ALGORITHM_REDUCE_SCATTER_CIRCULANT_HPP
#define BOUGH_ALGORITHM_REDUCE_SCATTER_CIRCULANT_HPP

#include <bough/algorithm/detail/circulant_allgather.hpp>
#include <bough/algorithm/detail/scratch_use.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

#include <algorithm>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

struct circulant_reduce_scatter {
    using serves = goals<goal::reduce_scatter>;
    rank_t ports = 1; // messages that a rank can send, and receive, at a time

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const detail::circle around{at.size};
        const detail::circulant_skips skips(at.size, ports);
        const buffer partial = bough::scratch(0);
        rank_t begun = 0; // R[0], ..., R[begun - 1] are partial results
        for (std::uint32_t k = skips.rounds; k-- != 0;) {
            detail::for_each_port(skips[k], skips[k + 1], [&](rank_t reach, rank_t arc) {
                const rank_t to = around.ahead(rank, reach);
                const rank_t fresh = reach + arc - std::clamp(begun, reach, reach + arc);
                // A part comes from one buffer, since one copy costs less than a message in parts.
                // (If the part wraps around just there, the copy could be saved; but then ranks
                // would not all do alike.)
                if (fresh != 0 && fresh != arc) around.copy(input, partial, around.ahead(to, arc - fresh), fresh, out);
                around.send(to, fresh == arc ? input : partial, to, arc, out);
            });
            detail::for_each_port(skips[k], skips[k + 1], [&](rank_t reach, rank_t arc) {
                const rank_t from = around.behind(rank, reach);
                const buffer landed = bough::scratch(reach / skips[k]);
                const bool last = k == 0 && reach + 1 == skips[1];
                around.receive(from, landed, rank, arc, out);
                around.combine(from, landed, rank, begun == 0 ? input : partial, last ? output : partial, rank, arc,
                               out);
                begun = std::max(begun, arc);
            });
        }
        if (at.size == 1) out.copy({input, 0, 1}, {output, 0, 1});
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    using text_tells = circulant_reduce_scatter;
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::written_scratch(*this, at, rank);
    }
    constexpr status check(const dimensions& at) const noexcept { return detail::check_block_per_rank(at, ports); }
    constexpr bool keeps_rank_order(const dimensions& at) const noexcept { return at.size <= 2; }
    static constexpr bool may_hold = true;
    static constexpr bool accumulates_in_plane_0 = true;
    constexpr bracket_class bracket(const dimensions&) const noexcept { return {bracket_family("circulant"), ports}; }
    static constexpr bool symmetric = true;
    constexpr label text() const { return label("circulant_reduce_scatter").field("ports", ports, 1); }
    constexpr label family_text() const { return label("circulant").field("ports", ports, 1); }
    friend constexpr bool operator==(const circulant_reduce_scatter&, const circulant_reduce_scatter&) = default;
};

} // namespace bough

#endif
