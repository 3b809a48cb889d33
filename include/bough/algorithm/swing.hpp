// SPDX-License-Identifier: BSL-1.0
// Swing: reduce_scatter, allgather and allreduce for tori. Partners are near, and lie now on the one
// side, now on the other; an allreduce uses all ports of a host at once.
//
//   plan_allreduce(swing{.extents = {8, 8}}, {.size = 64})                all ports: 4 collectives at once
//   plan_allreduce(swing{.extents = {8, 8}, .ports = 1}, {.size = 64})    one port
//   plan_allgather(swing{}, {.size = 16})                                 a ring of 16
//
// In a ring, rank x meets x + rho(s) in step s if x is even, else x - rho(s), with rho(s) = (1 -
// (-2)^(s+1)) / 3 = 1, -1, 3, -5, 11, ... Steps go round the dimensions. In a
// reduce_scatter a rank sends its partner the blocks that the partner will answer for; an allgather
// takes the same way back. In an allreduce with
// several ports, collective c begins in dimension c / 2, mirrored if c is odd, on an equal share of
// the vector. How blocks of extents that are no power of two find their way, and what is done in odd
// rings: detail/swing_rounds.hpp.
//
// Ranks       any: their number is the product of the extents
// Op          commutative
// Rounds      sum of ceil(log2 extent); allreduce: twice that; each with a message for each port
// Traffic     a rank sends (p - 1) / p of the vector; allreduce: twice that. On square tori of
//             powers of two the busiest link carries 0.54 to 0.57 of the vector (2 dimensions), 0.34
//             (3 dimensions); no allreduce can do with less than 1 / dimensions of it
// Combines    p - 1 of p parts of the vector
// Scratch     what the first two rounds land: less than a vector; reduce_scatter: partial results too
// Time        alpha_beta_gamma, one port: q alpha + (p - 1) / p n (beta + gamma), and q alpha + (p - 1) / p
//             n beta back
// Determinism each block has a bracket of its own, the same in every run; an allreduce gives every
//             rank the same bits
// Pre         blocks: one for each rank, in an allreduce one for each rank and port
// Errors      extents whose product is not the number of ranks, or of which one is 0; more ports than the
//             torus has
// Source      De Sensi et al., "Swing: Short-cutting Rings for Higher Bandwidth Allreduce", NSDI
//             2024, arXiv 2401.09356
//
// Picture, allreduce, one port, ring of 8, the reduce_scatter of rank 0 (blocks):
//   round 1   sends 1 2 5 6 to 1     gets 0 3 4 7 from 1
//   round 2   sends 4 7 to 7         gets 0 3 from 7
//   round 3   sends 3 to 3           gets 0 from 3
#ifndef BOUGH_ALGORITHM_SWING_HPP
#define BOUGH_ALGORITHM_SWING_HPP

#include <bough/algorithm/detail/scratch_use.hpp>
#include <bough/algorithm/detail/swing_rounds.hpp>
#include <bough/algorithm/detail/torus.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/grid_extents.hpp>
#include <bough/schedule/plan.hpp>

namespace bough::inline BOUGH_ABI {

// The reduce_scatter alone. It uses one port.
struct swing_reduce_scatter {
    using serves = goals<goal::reduce_scatter>;
    grid_extents extents{}; // none: one ring

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        detail::swing_rounds(extents.of(at.size)).reduce_scatter(at.size, rank, 1, bough::scratch(0), 1, out);
        if (at.size == 1) out.copy({input, 0, 1}, {output, 0, 1});
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    using text_tells = swing_reduce_scatter;
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::written_scratch(*this, at, rank);
    }
    constexpr status check(const dimensions& at) const noexcept { return detail::check_torus_half(extents, at); }
    constexpr bool keeps_rank_order(const dimensions& at) const noexcept { return at.size <= 2; }
    static constexpr bool may_hold = true;
    static constexpr bool any_size = false;
    constexpr label text() const { return detail::torus_label("swing_reduce_scatter", extents); }
    friend constexpr bool operator==(const swing_reduce_scatter&, const swing_reduce_scatter&) = default;
};

// The allgather alone. It uses one port.
struct swing_allgather {
    using serves = goals<goal::allgather>;
    grid_extents extents{}; // none: one ring

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        out.copy({input, rank, 1}, {output, rank, 1});
        detail::swing_rounds(extents.of(at.size)).allgather(at.size, rank, 1, out);
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    using text_tells = swing_allgather;
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions& at) const noexcept { return detail::check_torus_half(extents, at); }
    static constexpr bool any_size = false;
    constexpr label text() const { return detail::torus_label("swing_allgather", extents); }
    friend constexpr bool operator==(const swing_allgather&, const swing_allgather&) = default;
};

// The allreduce alone: a reduce_scatter and an allgather on each port.
struct swing_allreduce {
    using serves = goals<goal::allreduce>;
    grid_extents extents{}; // none: one ring
    rank_t ports = 0;       // how many collectives run at once; 0: as many as there are directions

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const detail::swing_rounds rounds(extents.of(at.size));
        const rank_t collectives = at.blocks / at.size;
        rounds.reduce_scatter(at.size, rank, collectives, output, 0, out);
        rounds.allgather(at.size, rank, collectives, out);
        if (at.size == 1) out.copy({input, 0, 1}, {output, 0, 1});
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept {
        return detail::blocks_of_torus(extents, ports, size);
    }
    using text_tells = swing_allreduce;
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::written_scratch(*this, at, rank);
    }
    constexpr status check(const dimensions& at) const noexcept {
        return detail::check_torus_ports(extents, ports, at);
    }
    constexpr bool keeps_rank_order(const dimensions& at) const noexcept { return at.size <= 2; }
    static constexpr bool may_hold = true;
    static constexpr bool any_size = false;
    constexpr label text() const { return detail::torus_label("swing", extents).field("ports", ports, 0); }
    friend constexpr bool operator==(const swing_allreduce&, const swing_allreduce&) = default;
};

// The family.
struct swing {
    grid_extents extents{}; // none: one ring
    // Of an allreduce; 0: as many as there are directions. Other collectives use one.
    rank_t ports = 0;

    constexpr swing_reduce_scatter algorithm_for(goal::reduce_scatter) const noexcept { return {extents}; }
    constexpr swing_allgather algorithm_for(goal::allgather) const noexcept { return {extents}; }
    constexpr swing_allreduce algorithm_for(goal::allreduce) const noexcept { return {extents, ports}; }
    constexpr label text() const { return detail::torus_label("swing", extents).field("ports", ports, 0); }
    friend constexpr bool operator==(const swing&, const swing&) = default;
};

} // namespace bough

#endif
