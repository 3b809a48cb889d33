// SPDX-License-Identifier: BSL-1.0
// Two levels over lanes: see bough/algorithm/composed.hpp.
#ifndef BOUGH_ALGORITHM_LANES_HPP
#define BOUGH_ALGORITHM_LANES_HPP

#include <bough/algorithm/detail/level.hpp>
#include <bough/algorithm/gather/tree.hpp>
#include <bough/algorithm/groups.hpp>
#include <bough/algorithm/scatter/tree.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/tree/binomial.hpp>

#include <concepts>
#include <utility>

namespace bough::inline BOUGH_ABI {

// The algorithm of one goal over lanes.
template <class Goal, class Inner, class Outer, Grouping Groups>
struct lanes {
    using serves = goals<Goal>;
    Inner inner{};
    Outer outer{};
    Groups groups{};

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const detail::level_view<Groups> view(groups, at.size, rank);
        if constexpr (std::same_as<Goal, goal::allreduce>)
            emit_allreduce(at, view, out);
        else if constexpr (std::same_as<Goal, goal::reduce>)
            emit_reduce(at, rank, view, out);
        else if constexpr (std::same_as<Goal, goal::broadcast>)
            emit_broadcast(at, rank, view, out);
        else if constexpr (std::same_as<Goal, goal::reduce_scatter>)
            emit_reduce_scatter(view, out);
        else
            emit_allgather(view, out);
    }
    constexpr block_t natural_blocks(rank_t size) const {
        if (check_groups(size)) return 1;
        const rank_t g = groups.members(size, 0);
        if constexpr (by_rank)
            return size;
        else
            return g * outer_algorithm().natural_blocks(size / g);
    }
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        const detail::level_view<Groups> view(groups, at.size, rank);
        const rank_t g = view.members;
        const dimensions in{.size = g, .root = 0, .blocks = g};
        const dimensions across = outer_dimensions(at);
        const block_t share = at.blocks / g; // blocks of one lane
        block_t most = outer_algorithm().scratch(across, view.group);
        if constexpr (reduces) most += share_of_inner<goal::reduce_scatter>(in, view.place) * share;
        if constexpr (gathers) most += share_of_inner<goal::allgather>(in, view.place) * share;
        // For the gather, and a plane.
        if constexpr (std::same_as<Goal, goal::reduce>) most += at.blocks + at.blocks;
        if constexpr (std::same_as<Goal, goal::broadcast>) most += at.blocks + at.blocks;
        if constexpr (std::same_as<Goal, goal::reduce_scatter>) most += share;
        return most;
    }
    constexpr status check(const dimensions& at) const {
        if (const status bad = check_groups(at.size)) return bad;
        const rank_t g = groups.members(at.size, 0);
        if (at.blocks != bough::natural_blocks && by_rank && at.blocks != at.size)
            return invalid_argument("blocks: must be the number of ranks");
        if (at.blocks != bough::natural_blocks && at.blocks % g != 0)
            return invalid_argument("blocks: must be a multiple of the ranks per group");
        const dimensions in{.size = g, .root = 0, .blocks = g};
        if constexpr (reduces)
            if (const status bad = inner_algorithm<goal::reduce_scatter>().check(in)) return bad;
        if constexpr (gathers)
            if (const status bad = inner_algorithm<goal::allgather>().check(in)) return bad;
        return outer_algorithm().check(outer_dimensions(at));
    }
    constexpr bool keeps_rank_order(const dimensions& at) const {
        if constexpr (!reduces)
            return true;
        else if (check(at))
            return false;
        else
            return groups.are_intervals(at.size) &&
                   bough::keeps_rank_order(
                       inner_algorithm<goal::reduce_scatter>(),
                       {.size = groups.members(at.size, 0), .blocks = groups.members(at.size, 0)}) &&
                   bough::keeps_rank_order(outer_algorithm(), outer_dimensions(at));
    }
    // The lanes say whether ranks of different groups agree; a group's ranks have what the lanes
    // have.
    constexpr bool rank_consistent(const dimensions& at) const {
        return claims_of(outer_algorithm(), outer_dimensions(at)).rank_consistent;
    }
    constexpr bool level_needs_exact() const {
        bool found = bough::needs_exact(outer_algorithm());
        if constexpr (reduces) found = found || bough::needs_exact(inner_algorithm<goal::reduce_scatter>());
        return found;
    }
    // Groups are alike if the ranks of a lane are.
    constexpr rank_t alike_group(const dimensions& at, rank_t rank) const {
        if constexpr (std::same_as<Goal, goal::reduce> || std::same_as<Goal, goal::broadcast>) return no_rank;
        const bool are_alike = claims_of(outer_algorithm(), outer_dimensions(at)).symmetric;
        return are_alike ? groups.group_of(at.size, rank) : no_rank;
    }
    constexpr label text() const {
        return label("lanes").field(label_of(inner)).field(label_of(outer)).field(label_of(groups));
    }
    constexpr std::uint64_t identity() const {
        std::uint64_t first = 1, last = 1;
        if constexpr (reduces) first = identity_of(inner_algorithm<goal::reduce_scatter>());
        if constexpr (gathers) last = identity_of(inner_algorithm<goal::allgather>());
        return detail::identity_of_levels("lanes", groups, first, last, identity_of(outer_algorithm()));
    }
    friend bool operator==(const lanes&, const lanes&) = default; // constexpr if those of the levels are

private:
    static constexpr bool by_rank = std::same_as<Goal, goal::reduce_scatter> || std::same_as<Goal, goal::allgather>;
    static constexpr bool reduces = std::same_as<Goal, goal::allreduce> || std::same_as<Goal, goal::reduce> ||
                                    std::same_as<Goal, goal::reduce_scatter>;
    static constexpr bool gathers = std::same_as<Goal, goal::allreduce> || std::same_as<Goal, goal::broadcast> ||
                                    std::same_as<Goal, goal::allgather>;

    template <class G>
    constexpr auto inner_algorithm() const {
        return bough::algorithm_for<G>(inner);
    }
    constexpr auto outer_algorithm() const { return detail::level_algorithm<Goal>(outer); }
    template <class G>
    constexpr block_t share_of_inner(const dimensions& in, rank_t place) const {
        return inner_algorithm<G>().scratch(in, place);
    }

    constexpr status check_groups(rank_t size) const {
        if (const status bad = groups.check(size)) return bad;
        if (!detail::have_one_size(groups, size))
            return invalid_argument("groups: lanes need groups of one size; compose_leaders does not");
        return {};
    }
    constexpr dimensions outer_dimensions(const dimensions& at) const {
        const rank_t g = groups.members(at.size, 0);
        const rank_t h = at.size / g;
        const block_t blocks = at.blocks == bough::natural_blocks ? bough::natural_blocks : at.blocks / g;
        return {.size = h, .root = groups.group_of(at.size, at.root), .blocks = blocks};
    }

    // Block k of the inner level is `share` blocks of the vector.
    static constexpr auto scaled(block_t share) {
        return [share](slice s, detail::pieces& p) { p.add(s.buffer, s.first * share, s.count * share); };
    }
    static constexpr auto shifted(block_t first) {
        return [first](slice s, detail::pieces& p) { p.add(s.buffer, first + s.first, s.count); };
    }

    constexpr void emit_allreduce(const dimensions& at, const detail::level_view<Groups>& view, auto& out) const {
        const block_t share = at.blocks / view.members;
        const dimensions in{.size = view.members, .root = 0, .blocks = view.members};
        const auto near = [&view](rank_t k) { return view.in_group(k); };
        const bool alone = view.members == 1;
        if (!alone)
            detail::emit_level(inner_algorithm<goal::reduce_scatter>(), in, view.place, out, {}, near, scaled(share));
        detail::emit_level(
            outer_algorithm(), outer_dimensions(at), view.group, out, {.in = alone ? input : output},
            [&view](rank_t k) { return view.in_lane(k); }, shifted(view.place * share));
        if (!alone)
            detail::emit_level(inner_algorithm<goal::allgather>(), in, view.place, out, {.in = output}, near,
                               scaled(share));
    }

    constexpr void emit_reduce(const dimensions& at, rank_t rank, const detail::level_view<Groups>& view,
                               auto& out) const {
        const block_t share = at.blocks / view.members;
        const dimensions in{.size = view.members, .root = 0, .blocks = view.members};
        const auto near = [&view](rank_t k) { return view.in_group(k); };
        const buffer sums = bough::scratch(0);
        detail::emit_level(inner_algorithm<goal::reduce_scatter>(), in, view.place, out,
                           {.out = sums, .first_plane = 1}, near, scaled(share));
        detail::emit_level(
            outer_algorithm(), outer_dimensions(at), view.group, out, {.in = sums, .out = sums, .first_plane = 1},
            [&view](rank_t k) { return view.in_lane(k); }, shifted(view.place * share));
        if (view.group != groups.group_of(at.size, at.root)) return;
        const dimensions to{.size = view.members, .root = groups.place_of(at.size, at.root), .blocks = view.members};
        detail::emit_level(tree_gather<binomial>{}, to, view.place, out,
                           {.in = sums, .out = rank == at.root ? output : sums, .first_plane = 1}, near, scaled(share));
    }

    constexpr void emit_broadcast(const dimensions& at, rank_t rank, const detail::level_view<Groups>& view,
                                  auto& out) const {
        const block_t share = at.blocks / view.members;
        const bool is_root = rank == at.root;
        const auto near = [&view](rank_t k) { return view.in_group(k); };
        // The root has its data in its input; the others get theirs into their output.
        const buffer data = is_root ? input : output;
        if (view.group == groups.group_of(at.size, at.root)) {
            const dimensions from{
                .size = view.members, .root = groups.place_of(at.size, at.root), .blocks = view.members};
            detail::emit_level(tree_scatter<binomial>{}, from, view.place, out,
                               {.in = data, .out = data, .first_plane = 1}, near, scaled(share));
        }
        detail::emit_level(
            outer_algorithm(), outer_dimensions(at), view.group, out, {.in = data, .out = data, .first_plane = 1},
            [&view](rank_t k) { return view.in_lane(k); }, shifted(view.place * share));
        // The root has already what it gathers, so that lands in scratch memory.
        const dimensions in{.size = view.members, .root = 0, .blocks = view.members};
        if (view.members != 1)
            detail::emit_level(inner_algorithm<goal::allgather>(), in, view.place, out,
                               {.in = data, .out = is_root ? bough::scratch(0) : output, .first_plane = 1}, near,
                               scaled(share));
    }

    // Block k of the inner level are the blocks of all ranks at place k.
    static constexpr auto at_places(const detail::level_view<Groups>& view) {
        return [&view](slice s, detail::pieces& p) {
            for (rank_t group = 0; group != view.count; ++group)
                for (block_t k = s.first; k != s.last(); ++k)
                    p.add(s.buffer, view.groups.member(view.size, group, k), 1);
        };
    }
    static constexpr auto of_lane(const detail::level_view<Groups>& view) {
        return [&view](slice s, detail::pieces& p) {
            for (block_t k = s.first; k != s.last(); ++k) p.add(s.buffer, view.in_lane(k), 1);
        };
    }
    constexpr void emit_reduce_scatter(const detail::level_view<Groups>& view, auto& out) const {
        const buffer sums = bough::scratch(0);
        detail::emit_level(
            inner_algorithm<goal::reduce_scatter>(), {.size = view.members, .root = 0, .blocks = view.members},
            view.place, out, {.out = sums, .first_plane = 1}, [&view](rank_t k) { return view.in_group(k); },
            at_places(view));
        detail::emit_level(
            outer_algorithm(), {.size = view.count, .root = 0, .blocks = view.count}, view.group, out,
            {.in = sums, .first_plane = 1}, [&view](rank_t k) { return view.in_lane(k); }, of_lane(view));
    }
    constexpr void emit_allgather(const detail::level_view<Groups>& view, auto& out) const {
        detail::emit_level(
            outer_algorithm(), {.size = view.count, .root = 0, .blocks = view.count}, view.group, out, {},
            [&view](rank_t k) { return view.in_lane(k); }, of_lane(view));
        detail::emit_level(
            inner_algorithm<goal::allgather>(), {.size = view.members, .root = 0, .blocks = view.members}, view.place,
            out, {.in = output}, [&view](rank_t k) { return view.in_group(k); }, at_places(view));
    }

    static constexpr bool claims_exact() {
        bool found = detail::claims_exact_v<decltype(detail::level_algorithm<Goal>(std::declval<const Outer&>()))>;
        if constexpr (reduces)
            found = found || detail::claims_exact_v<decltype(bough::algorithm_for<goal::reduce_scatter>(
                                 std::declval<const Inner&>()))>;
        return found;
    }

public:
    static constexpr bool needs_exact = claims_exact();
};

namespace detail {
// What a goal asks of the level within groups.
template <class C, class Goal>
concept LaneLevelFor =
    ((std::same_as<Goal, goal::allreduce> && Serving<C, goal::reduce_scatter> && Serving<C, goal::allgather>) ||
     ((std::same_as<Goal, goal::reduce> ||
       std::same_as<Goal, goal::reduce_scatter>)&&Serving<C, goal::reduce_scatter>) ||
     ((std::same_as<Goal, goal::broadcast> || std::same_as<Goal, goal::allgather>)&&Serving<C, goal::allgather>));
} // namespace detail

// A family: `inner` within each group, `outer` between the groups in lanes
// (bough/algorithm/composed.hpp).
template <class Inner, class Outer, Grouping Groups>
struct composed {
    Inner inner{};
    Outer outer{};
    Groups groups{};

    template <class Goal>
    requires detail::LevelFor<Outer, Goal> && detail::LaneLevelFor<Inner, Goal>
    constexpr lanes<Goal, Inner, Outer, Groups> algorithm_for(Goal) const { return {inner, outer, groups}; }
    constexpr label text() const {
        return label("compose").field(label_of(inner)).field(label_of(outer)).field(label_of(groups));
    }
    // It is constexpr if those of the levels are.
    friend bool operator==(const composed&, const composed&) = default;
};
// Makes one of its three parts.
template <class Inner, class Outer, Grouping Groups>
constexpr composed<Inner, Outer, Groups> compose(const Inner& inner, const Outer& outer, const Groups& groups) {
    return {inner, outer, groups};
}

} // namespace bough

#endif
