// SPDX-License-Identifier: BSL-1.0
// Allreduce of two halves: any reduce_scatter, then any allgather of the blocks that it left.
//
// The result of the first half lies where the second expects a rank's own block, so nothing is
// copied between them. The output is there from the start. So if the reduce_scatter says that its
// plane 0 only holds partial results (accumulates_in_plane_0), they are accumulated in the output,
// and the plane is not needed.
//   plan_allreduce(reduce_scatter_allgather{pairwise_reduce_scatter{}, circulant_allgather{}}, {.size = 7})
//   plan_allreduce(reduce_scatter_allgather{ring{}, circulant{}}, {.size = 7})       families will do
//
// Ranks       those of both halves
// Op          that of the reduce_scatter
// Rounds, Traffic: of both halves together; Combines: of the reduce_scatter
// Scratch     that of the reduce_scatter, less the plane of partial results
// Time        alpha_beta_gamma, both halves optimal: 2 ceil(log2 p) alpha + 2 (p - 1) / p n beta +
//             (p - 1) / p n gamma
// Determinism each block is combined on its way to one rank and copied to the others: same bits on
//             every rank
// Errors      those of the halves' check(); blocks must be the number of ranks
// Source      Rabenseifner 2004, section 2; Traeff 2024, "Optimal, Non-pipelined Reduce-scatter and
//             Allreduce Algorithms"
//
// Picture, p = 7, circulant, rank 0: rounds 1 to 3 of circulant_reduce_scatter, then 1 to 3 of
// circulant_allgather
#ifndef BOUGH_ALGORITHM_ALLREDUCE_REDUCE_SCATTER_ALLGATHER_HPP
#define BOUGH_ALGORITHM_ALLREDUCE_REDUCE_SCATTER_ALLGATHER_HPP

#include <bough/algorithm/detail/block_per_rank.hpp>
#include <bough/algorithm/detail/scratch_use.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

// Does a reduce_scatter use plane 0 for partial results only, and write each block of it only after
// it has read that block of the input for the last time? Then the whole output, if there is one,
// can take the place of the plane.
template <Algorithm A>
inline constexpr bool accumulates_in_plane_0_v = requires {
    requires A::accumulates_in_plane_0;
};

// Has an algorithm packed planes in some dimensions? Then it says so: planes of the other half that are
// not packed have other numbers.
template <Algorithm A>
inline constexpr bool has_packed_planes_v = requires {
    requires A::has_packed_planes;
};

namespace detail {

// A sink that gives buffers other names.
template <class Sink, class Rename>
class renaming_sink {
public:
    constexpr renaming_sink(Sink& out, Rename name) : out_(out), name_(name) {}
    constexpr void send(rank_t to, slice from) { out_.send(to, named(from)); }
    constexpr void send_part(rank_t to, slice from) { out_.send_part(to, named(from)); }
    constexpr void receive(rank_t from, slice into) { out_.receive(from, named(into)); }
    constexpr void receive_part(rank_t from, slice into) { out_.receive_part(from, named(into)); }
    constexpr void combine(slice lower, slice upper, slice out) {
        out_.combine(named(lower), named(upper), named(out));
    }
    constexpr void copy(slice from, slice to) {
        if (named(from) != named(to)) out_.copy(named(from), named(to));
    }

private:
    constexpr slice named(const slice& s) const { return s.in(name_(s.buffer)); }
    Sink& out_;
    Rename name_;
};

} // namespace detail

template <ServesGoal<goal::reduce_scatter> ReduceScatter, ServesGoal<goal::allgather> Allgather>
struct reduce_scatter_allgather {
    using serves = goals<goal::allreduce>;
    ReduceScatter reduce_scatter{};
    Allgather allgather{};

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        constexpr std::uint32_t spared = accumulates ? 1 : 0;
        detail::renaming_sink first(out, [](buffer b) {
            if (!is_scratch(b)) return b;
            return scratch_plane(b) < spared ? output : shared(b, scratch_plane(b) - spared);
        });
        first_half().emit(at, rank, first);
        detail::renaming_sink second(out, [](buffer b) {
            if (!is_scratch(b)) return output;
            return shared(b, scratch_plane(b));
        });
        second_half().emit(at, rank, second);
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::written_scratch(*this, at, rank);
    }
    constexpr status check(const dimensions& at) const {
        if (const status bad = detail::check_block_per_rank(at)) return bad;
        if (const status bad = first_half().check(at)) return bad;
        return second_half().check(at);
    }
    constexpr bool keeps_rank_order(const dimensions& at) const { return bough::keeps_rank_order(first_half(), at); }

    // The bits of the result are those of the reduce_scatter.
    constexpr bracket_class bracket(const dimensions& at) const { return claims_of(first_half(), at).bracket; }

private:
    constexpr auto first_half() const { return bough::algorithm_for<goal::reduce_scatter>(reduce_scatter); }
    constexpr auto second_half() const { return bough::algorithm_for<goal::allgather>(allgather); }
    using first_algorithm = decltype(bough::algorithm_for<goal::reduce_scatter>(ReduceScatter{}));
    using second_algorithm = decltype(bough::algorithm_for<goal::allgather>(Allgather{}));
    static_assert(serves_v<first_algorithm, goal::reduce_scatter>, "bough: the first half must be a reduce_scatter");
    static_assert(serves_v<second_algorithm, goal::allgather>, "bough: the second half must be an allgather");
    template <class A>
    static constexpr bool claims_symmetric = requires {
        requires A::symmetric;
    };
    template <class A>
    static constexpr bool claims_any_size = !requires {
        requires !A::any_size;
    };
    template <class A>
    static constexpr bool claims_exact = requires {
        requires A::needs_exact;
    };
    static constexpr bool accumulates = accumulates_in_plane_0_v<first_algorithm>;
    // The halves share planes. A plane is packed in all steps or in none, so if only one half has packed
    // ones, these have the odd numbers.
    static constexpr bool apart = has_packed_planes_v<first_algorithm> != has_packed_planes_v<second_algorithm>;
    static constexpr buffer shared(buffer b, std::uint32_t plane) noexcept {
        return on_plane(b, apart ? 2 * plane + b.packed : plane);
    }

public:
    // No step of the first half waits for the second half, and the second half combines nothing.
    static constexpr bool may_hold = may_hold_v<first_algorithm>;
    static constexpr bool symmetric = claims_symmetric<first_algorithm> && claims_symmetric<second_algorithm>;
    static constexpr bool any_size = claims_any_size<first_algorithm> && claims_any_size<second_algorithm>;
    static constexpr bool needs_exact = claims_exact<first_algorithm> || claims_exact<second_algorithm>;
    constexpr bool level_needs_exact() const {
        return bough::needs_exact(first_half()) || bough::needs_exact(second_half());
    }
    // If both halves are of one family, the label of that family: ring, circulant{.ports = 2}.
    constexpr label text() const {
        if constexpr (requires(const first_algorithm& a, const second_algorithm& b) {
                          a.family_text() == b.family_text();
                      })
            if (first_half().family_text() == second_half().family_text()) return first_half().family_text();
        return label("reduce_scatter_allgather").field(label_of(reduce_scatter)).field(label_of(allgather));
    }
    constexpr std::uint64_t identity() const {
        const std::uint64_t first = identity_of(first_half()), second = identity_of(second_half());
        return first == 0 || second == 0 ? 0 : (first ^ second << 1 ^ second >> 63) | 1u;
    }
    friend constexpr bool operator==(const reduce_scatter_allgather&, const reduce_scatter_allgather&) = default;
};
template <class ReduceScatter, class Allgather>
reduce_scatter_allgather(ReduceScatter, Allgather) -> reduce_scatter_allgather<ReduceScatter, Allgather>;

} // namespace bough

#endif
