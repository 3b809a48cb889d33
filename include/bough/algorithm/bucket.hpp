// SPDX-License-Identifier: BSL-1.0
// Bucket: reduce_scatter, allgather and allreduce for tori, by rings along one dimension after the
// other, in all directions at once. Every message goes to a neighbour.
//
//   plan_allreduce(bucket{.extents = {8, 8}}, {.size = 64})               all ports: 4 at once
//   plan_allreduce(bucket{.extents = {8, 8}, .ports = 1}, {.size = 64})   one port
//   plan_allgather(bucket{.extents = {8, 8}}, {.size = 64})               a rank's block in 4 parts
//
// A reduce_scatter goes round the rings of one dimension, then, with what a rank answers for, round
// those of the next. An allgather takes the same way back. With several ports, collectives on equal
// shares of the vector begin in dimensions and directions of their own and go on round the
// dimensions, so each stage uses every link once: detail/bucket_lanes.hpp.
//
// Ranks       any: their number is the product of the extents
// Op          commutative
// Rounds      sum of (extent - 1); allreduce: twice that; each with a message for each port. If the
//             extents differ, several ports need more: each stage has the rounds of its longest rings
// Traffic     a rank sends (p - 1) / p of the vector, to neighbours only; allreduce: twice that. With all
//             ports on D equal extents from 3 on, the busiest link carries (p - 1) / (p D) of the
//             vector in an allreduce, the least that is possible; half of that in the other two
// Combines    (p - 1) / p of the vector
// Scratch     for landing, 1 - 1 / e of each collective's share, e: the extent of the dimension in which
//             it begins; reduce_scatter: partial results too
// Time        alpha_beta_gamma, one port: q alpha + (p - 1) / p n (beta + gamma), and q alpha +
//             (p - 1) / p n beta back, with q = sum of (extent - 1)
// Determinism each block has a bracket of its own, the same in every run; an allreduce gives every
//             rank the same bits
// Pre         blocks: one for each rank and port
// Errors      extents whose product is not the number of ranks, or of which one is 0; more ports than the
//             torus has
// Source      Chan, Heimlich, Purkayastha, van de Geijn 2007, "Collective communication: theory,
//             practice, and experience" (bucket on meshes); Jain, Sabharwal 2010,
//             "Optimal bucket algorithms for large MPI collectives on torus interconnects", ICS
//             (all ports at once)
//
// Picture, reduce_scatter, extents {2, 3}, one port, what rank 0 does (its coordinates: 0 and 0;
// blocks):
//   round 1   dimension 1   sends 4 5 to 2   gets 2 3 from 4
//   round 2                 sends 2 3 to 2   gets 0 1 from 4
//   round 3   dimension 0   sends 1 to 1     gets 0 from 1
#ifndef BOUGH_ALGORITHM_BUCKET_HPP
#define BOUGH_ALGORITHM_BUCKET_HPP

#include <bough/algorithm/detail/bucket_lanes.hpp>
#include <bough/algorithm/detail/scratch_use.hpp>
#include <bough/algorithm/detail/torus.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/grid_extents.hpp>
#include <bough/schedule/plan.hpp>

namespace bough::inline BOUGH_ABI {

// The reduce_scatter alone.
struct bucket_reduce_scatter {
    using serves = goals<goal::reduce_scatter>;
    grid_extents extents{}; // none: one ring
    rank_t ports = 0;       // how many collectives run at once; 0: as many as there are directions

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (at.size == 1) return out.copy({input, 0, 1}, {output, 0, 1});
        const detail::bucket_lanes lanes(extents, at.size, rank, at.blocks / at.size, detail::bucket_layout::by_owner);
        lanes.reduce_scatter(bough::scratch(0), bough::scratch(1), out);
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept {
        return detail::blocks_of_torus(extents, ports, size);
    }
    using text_tells = bucket_reduce_scatter;
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
    constexpr label text() const {
        return detail::torus_label("bucket_reduce_scatter", extents).field("ports", ports, 0);
    }
    friend constexpr bool operator==(const bucket_reduce_scatter&, const bucket_reduce_scatter&) = default;
};

// The allgather alone.
struct bucket_allgather {
    using serves = goals<goal::allgather>;
    grid_extents extents{}; // none: one ring
    rank_t ports = 0;       // how many collectives run at once; 0: as many as there are directions

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const block_t each = at.blocks / at.size;
        out.copy({input, rank * each, each}, {output, rank * each, each});
        if (at.size == 1) return;
        const detail::bucket_lanes lanes(extents, at.size, rank, at.blocks / at.size, detail::bucket_layout::by_owner);
        lanes.allgather(out);
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept {
        return detail::blocks_of_torus(extents, ports, size);
    }
    using text_tells = bucket_allgather;
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions& at) const noexcept {
        return detail::check_torus_ports(extents, ports, at);
    }
    static constexpr bool any_size = false;
    constexpr label text() const { return detail::torus_label("bucket_allgather", extents).field("ports", ports, 0); }
    friend constexpr bool operator==(const bucket_allgather&, const bucket_allgather&) = default;
};

// The allreduce alone: a reduce_scatter and an allgather in each direction.
struct bucket_allreduce {
    using serves = goals<goal::allreduce>;
    grid_extents extents{}; // none: one ring
    rank_t ports = 0;       // how many collectives run at once; 0: as many as there are directions

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (at.size == 1) return out.copy({input, 0, 1}, {output, 0, 1});
        const detail::bucket_lanes lanes(extents, at.size, rank, at.blocks / at.size, detail::bucket_layout::by_lane);
        lanes.reduce_scatter(output, bough::scratch(0), out);
        lanes.allgather(out);
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept {
        return detail::blocks_of_torus(extents, ports, size);
    }
    using text_tells = bucket_allreduce;
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
    constexpr label text() const { return detail::torus_label("bucket", extents).field("ports", ports, 0); }
    friend constexpr bool operator==(const bucket_allreduce&, const bucket_allreduce&) = default;
};

// The family.
struct bucket {
    grid_extents extents{}; // none: one ring
    rank_t ports = 0;       // how many collectives run at once; 0: as many as there are directions

    constexpr bucket_reduce_scatter algorithm_for(goal::reduce_scatter) const noexcept { return {extents, ports}; }
    constexpr bucket_allgather algorithm_for(goal::allgather) const noexcept { return {extents, ports}; }
    constexpr bucket_allreduce algorithm_for(goal::allreduce) const noexcept { return {extents, ports}; }
    constexpr label text() const { return detail::torus_label("bucket", extents).field("ports", ports, 0); }
    friend constexpr bool operator==(const bucket&, const bucket&) = default;
};

} // namespace bough

#endif
