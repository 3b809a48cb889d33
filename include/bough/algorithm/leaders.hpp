// SPDX-License-Identifier: BSL-1.0
// Two levels over leaders: see bough/algorithm/composed.hpp.
#ifndef BOUGH_ALGORITHM_LEADERS_HPP
#define BOUGH_ALGORITHM_LEADERS_HPP

#include <bough/algorithm/detail/level.hpp>
#include <bough/algorithm/groups.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

#include <concepts>
#include <utility>

namespace bough::inline BOUGH_ABI {

// The algorithm of one goal over leaders. In a group, the leader is the first rank; in the root's
// group, it is the root.
template <class Goal, class Inner, class Outer, Grouping Groups>
struct leaders {
    using serves = goals<Goal>;
    Inner inner{};
    Outer outer{};
    Groups groups{};

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const detail::level_view<Groups> view(groups, at.size, rank);
        const rank_t leader = leader_of(at, view.group);
        const dimensions in{.size = view.members, .root = leader, .blocks = at.blocks};
        const auto near = [&view](rank_t k) { return view.in_group(k); };
        const auto across = [&](rank_t k) { return groups.member(at.size, k, leader_of(at, k)); };
        const bool leads = view.place == leader;
        constexpr bool is_reduce = std::same_as<Goal, goal::reduce>;
        // Where the sum of this rank's group is.
        const buffer sums = is_reduce && rank != at.root ? bough::scratch(0) : output;
        if constexpr (reduces)
            detail::emit_level(detail::level_algorithm<goal::reduce>(inner), in, view.place, out,
                               {.out = sums, .first_plane = 1}, near, detail::as_it_is);
        if (leads) {
            const buffer data = !reduces && rank == at.root ? input : sums;
            detail::emit_level(detail::level_algorithm<Goal>(outer), outer_dimensions(at), view.group, out,
                               {.in = data, .out = data, .first_plane = 1}, across, detail::as_it_is);
        }
        if constexpr (!is_reduce) {
            const buffer data = !reduces && rank == at.root ? input : output;
            detail::emit_level(detail::level_algorithm<goal::broadcast>(inner), in, view.place, out,
                               {.in = data, .out = data, .first_plane = 1}, near, detail::as_it_is);
        }
    }
    constexpr block_t natural_blocks(rank_t size) const {
        if (groups.check(size)) return 1;
        return detail::level_algorithm<Goal>(outer).natural_blocks(groups.groups(size));
    }
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        const detail::level_view<Groups> view(groups, at.size, rank);
        const dimensions in{.size = view.members, .root = leader_of(at, view.group), .blocks = at.blocks};
        block_t most = 0;
        if constexpr (reduces) most += detail::level_algorithm<goal::reduce>(inner).scratch(in, view.place);
        if constexpr (std::same_as<Goal, goal::reduce>)
            most += at.blocks;
        else
            most += detail::level_algorithm<goal::broadcast>(inner).scratch(in, view.place);
        if (view.place == in.root)
            most += detail::level_algorithm<Goal>(outer).scratch(outer_dimensions(at), view.group);
        return most;
    }
    constexpr status check(const dimensions& at) const {
        if (const status bad = groups.check(at.size)) return bad;
        const rank_t count = groups.groups(at.size);
        for (rank_t k = 0; k != count; ++k) {
            const dimensions in{.size = groups.members(at.size, k), .root = leader_of(at, k), .blocks = at.blocks};
            if constexpr (reduces)
                if (const status bad = detail::level_algorithm<goal::reduce>(inner).check(in)) return bad;
            if constexpr (!std::same_as<Goal, goal::reduce>)
                if (const status bad = detail::level_algorithm<goal::broadcast>(inner).check(in)) return bad;
        }
        return detail::level_algorithm<Goal>(outer).check(outer_dimensions(at));
    }
    constexpr bool keeps_rank_order(const dimensions& at) const {
        if constexpr (!reduces) {
            return true;
        } else {
            if (check(at) || !groups.are_intervals(at.size)) return false;
            const rank_t count = groups.groups(at.size);
            for (rank_t k = 0; k != count; ++k)
                if (!bough::keeps_rank_order(
                        detail::level_algorithm<goal::reduce>(inner),
                        {.size = groups.members(at.size, k), .root = leader_of(at, k), .blocks = at.blocks}))
                    return false;
            return bough::keeps_rank_order(detail::level_algorithm<Goal>(outer), outer_dimensions(at));
        }
    }
    // The leaders say whether they agree; a group's ranks have what its leader has.
    constexpr bool rank_consistent(const dimensions& at) const {
        return claims_of(detail::level_algorithm<Goal>(outer), outer_dimensions(at)).rank_consistent;
    }
    constexpr bool level_needs_exact() const {
        bool found = bough::needs_exact(detail::level_algorithm<Goal>(outer));
        if constexpr (reduces) found = found || bough::needs_exact(detail::level_algorithm<goal::reduce>(inner));
        return found;
    }
    constexpr label text() const {
        return label("leaders").field(label_of(inner)).field(label_of(outer)).field(label_of(groups));
    }
    constexpr std::uint64_t identity() const {
        std::uint64_t up = 1, down = 1;
        if constexpr (reduces) up = identity_of(detail::level_algorithm<goal::reduce>(inner));
        if constexpr (!std::same_as<Goal, goal::reduce>)
            down = identity_of(detail::level_algorithm<goal::broadcast>(inner));
        return detail::identity_of_levels("leaders", groups, up, down,
                                          identity_of(detail::level_algorithm<Goal>(outer)));
    }
    // It is constexpr if those of the levels are.
    friend bool operator==(const leaders&, const leaders&) = default;

private:
    static constexpr bool reduces = !std::same_as<Goal, goal::broadcast>;

    constexpr dimensions outer_dimensions(const dimensions& at) const {
        return {.size = groups.groups(at.size), .root = groups.group_of(at.size, at.root), .blocks = at.blocks};
    }
    // The place of a group's leader.
    constexpr rank_t leader_of(const dimensions& at, rank_t group) const {
        return group == groups.group_of(at.size, at.root) ? groups.place_of(at.size, at.root) : 0;
    }

    static constexpr bool claims_exact() {
        bool found = detail::claims_exact_v<decltype(detail::level_algorithm<Goal>(std::declval<const Outer&>()))>;
        if constexpr (reduces)
            found =
                found ||
                detail::claims_exact_v<decltype(detail::level_algorithm<goal::reduce>(std::declval<const Inner&>()))>;
        return found;
    }

public:
    static constexpr bool needs_exact = claims_exact();
};

namespace detail {
// What a goal asks of the level within groups.
template <class C, class Goal>
concept LeaderLevelFor = (std::same_as<Goal, goal::allreduce> && LevelFor<C, goal::reduce> &&
                          LevelFor<C, goal::broadcast>) ||
                         ((std::same_as<Goal, goal::reduce> || std::same_as<Goal, goal::broadcast>)&&LevelFor<C, Goal>);
} // namespace detail

// A family: `inner` within each group, `outer` between the leaders of the groups
// (bough/algorithm/composed.hpp).
template <class Inner, class Outer, Grouping Groups>
struct composed_leaders {
    Inner inner{};
    Outer outer{};
    Groups groups{};

    template <class Goal>
    requires detail::LevelFor<Outer, Goal> && detail::LeaderLevelFor<Inner, Goal>
    constexpr leaders<Goal, Inner, Outer, Groups> algorithm_for(Goal) const { return {inner, outer, groups}; }
    constexpr label text() const {
        return label("compose_leaders").field(label_of(inner)).field(label_of(outer)).field(label_of(groups));
    }
    friend bool operator==(const composed_leaders&,
                           const composed_leaders&) = default; // constexpr if those of the levels are
};

// Makes one of its three parts.
template <class Inner, class Outer, Grouping Groups>
constexpr composed_leaders<Inner, Outer, Groups> compose_leaders(const Inner& inner, const Outer& outer,
                                                                 const Groups& groups) {
    return {inner, outer, groups};
}

} // namespace bough

#endif
