// SPDX-License-Identifier: BSL-1.0
// One level of a composed collective: a flat algorithm whose ranks, buffers and blocks are renamed.
#ifndef BOUGH_ALGORITHM_DETAIL_LEVEL_HPP
#define BOUGH_ALGORITHM_DETAIL_LEVEL_HPP

#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/detail/remap.hpp>
#include <bough/algorithm/groups.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

namespace detail {

// A level as an algorithm for a goal: a tree shape stands for the tree algorithm.
template <class Goal, class C>
constexpr auto level_algorithm(const C& choice) {
    if constexpr (!TreeSource<C>)
        return bough::algorithm_for<Goal>(choice);
    else if constexpr (std::same_as<Goal, goal::reduce>)
        return tree_reduce<C>{choice};
    else if constexpr (std::same_as<Goal, goal::allreduce>)
        return tree_allreduce<C>{choice};
    else
        return tree_broadcast<C>{choice};
}
template <class C, class Goal>
concept LevelFor = (TreeSource<C> && (std::same_as<Goal, goal::reduce> || std::same_as<Goal, goal::allreduce> ||
                                      std::same_as<Goal, goal::broadcast>)) ||
                   FamilyFor<C, Goal> || (Algorithm<C> && serves_v<C, Goal>);

// An algorithm that says that it serves the goal, or a family with one.
template <class C, class Goal>
concept Serving = FamilyFor<C, Goal> ||(Algorithm<C>&& requires { typename C::serves; } && serves_v<C, Goal>);

// A composed algorithm needs an exact op if one of its levels does.
template <Algorithm A>
inline constexpr bool claims_exact_v = requires {
    requires A::needs_exact;
};

// Where a rank stands in its group, and how its vector is cut.
template <Grouping G>
struct level_view {
    const G& groups;
    // The number of ranks; this rank's group, its place there, and how many members the group has;
    // the number of groups.
    rank_t size, group, place, members, count;

    constexpr level_view(const G& g, rank_t n, rank_t rank)
        : groups(g), size(n), group(g.group_of(n, rank)), place(g.place_of(n, rank)), members(g.members(n, group)),
          count(g.groups(n)) {}

    constexpr rank_t in_group(rank_t k) const { return groups.member(size, group, k); }
    constexpr rank_t in_lane(rank_t k) const { return groups.member(size, k, place); }
};

// Emits a level: its ranks are renamed by `rank_of`, its slices by `cut`.
template <class A>
constexpr void emit_level(const A& algorithm, dimensions at, rank_t rank, StepSink auto& out, renamed_buffers buffers,
                          auto rank_of, auto cut) {
    if (at.blocks == natural_blocks) at.blocks = algorithm.natural_blocks(at.size);
    remapped renamed(out, buffers, rank_of, cut);
    algorithm.emit(at, rank, renamed);
}

// A number that tells a plan of two levels from others, made of those of its groups and of its levels
// (identity_of); 0: one of these has no number.
template <class Groups, class... Number>
constexpr std::uint64_t identity_of_levels(const char* kind, const Groups& groups, Number... levels) {
    if constexpr (requires { groups.identity(); }) {
        if (((levels == 0) || ... || false)) return 0;
        std::uint64_t hash = bracket_family(kind);
        for (const std::uint64_t part : {groups.identity(), levels...}) {
            hash = (hash ^ part) * 0x9e37'79b9'7f4a'7c15u;
            hash ^= hash >> 32;
        }
        return hash | 1;
    } else {
        return 0;
    }
}

inline constexpr auto as_it_is = [](slice s, pieces& p) { p.add(s.buffer, s.first, s.count); };

} // namespace detail

} // namespace bough

#endif
