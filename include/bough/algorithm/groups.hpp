// SPDX-License-Identifier: BSL-1.0
// Groups: which ranks are near each other (a node, a socket, a rack), for algorithms that work in two levels.
//
//   contiguous_groups{.ranks_per_group = 8}     ranks 0 to 7, 8 to 15, ...; the last group may be smaller
//   listed_groups{{0, 1, 0, 1}}                 the group of each rank; groups are numbered from 0, none is empty
#ifndef BOUGH_ALGORITHM_GROUPS_HPP
#define BOUGH_ALGORITHM_GROUPS_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <vector>

namespace bough {

// How `size` ranks fall into groups. A rank has a place in its group; members of a group are ascending ranks.
template <class G>
concept Grouping = std::copyable<G> && std::equality_comparable<G> && requires(const G& g, rank_t n) {
    { g.check(n) } -> std::same_as<status>;
    { g.groups(n) } -> std::same_as<rank_t>;      // of n ranks
    { g.group_of(n, n) } -> std::same_as<rank_t>; // of n ranks, of a rank
    { g.place_of(n, n) } -> std::same_as<rank_t>;
    { g.members(n, n) } -> std::same_as<rank_t>;   // of n ranks, of a group
    { g.member(n, n, n) } -> std::same_as<rank_t>; // of n ranks, of a group, a place
    { g.are_intervals(n) } -> std::same_as<bool>;  // is every group an interval of ranks, in ascending order?
};

struct contiguous_groups {
    rank_t ranks_per_group = 1;

    constexpr status check(rank_t) const noexcept {
        return ranks_per_group != 0 ? status{} : invalid_argument("groups: a group needs at least one rank");
    }
    constexpr rank_t groups(rank_t size) const noexcept { return (size - 1) / ranks_per_group + 1; }
    constexpr rank_t group_of(rank_t, rank_t rank) const noexcept { return rank / ranks_per_group; }
    constexpr rank_t place_of(rank_t, rank_t rank) const noexcept { return rank % ranks_per_group; }
    constexpr rank_t members(rank_t size, rank_t group) const noexcept {
        return std::min(ranks_per_group, size - group * ranks_per_group);
    }
    constexpr rank_t member(rank_t, rank_t group, rank_t place) const noexcept {
        return group * ranks_per_group + place;
    }
    constexpr bool are_intervals(rank_t) const noexcept { return true; }
    friend constexpr bool operator==(const contiguous_groups&, const contiguous_groups&) = default;
};

// Every question takes a pass over the list, except which group a rank is in.
struct listed_groups {
    std::vector<rank_t> group_of_rank;

    constexpr status check(rank_t size) const {
        if (group_of_rank.size() != size) return invalid_argument("groups: the list needs one number per rank");
        std::vector<rank_t> seen(group_of_rank);
        std::sort(seen.begin(), seen.end());
        if (seen.front() != 0) return invalid_argument("groups: they are numbered from 0");
        for (std::size_t i = 1; i < seen.size(); ++i)
            if (seen[i] > seen[i - 1] + 1) return invalid_argument("groups: a group has no rank");
        return {};
    }
    constexpr rank_t groups(rank_t) const noexcept {
        return *std::max_element(group_of_rank.begin(), group_of_rank.end()) + 1;
    }
    constexpr rank_t group_of(rank_t, rank_t rank) const noexcept { return group_of_rank[rank]; }
    constexpr rank_t place_of(rank_t, rank_t rank) const noexcept { return count(group_of_rank[rank], rank); }
    constexpr rank_t members(rank_t size, rank_t group) const noexcept { return count(group, size); }
    constexpr rank_t member(rank_t size, rank_t group, rank_t place) const noexcept {
        for (rank_t r = 0; r != size; ++r)
            if (group_of_rank[r] == group && place-- == 0) return r;
        return no_rank;
    }
    constexpr bool are_intervals(rank_t) const noexcept {
        return std::is_sorted(group_of_rank.begin(), group_of_rank.end());
    }
    friend constexpr bool operator==(const listed_groups&, const listed_groups&) = default;

private:
    // How many ranks below `end` are in the group.
    constexpr rank_t count(rank_t group, rank_t end) const noexcept {
        rank_t n = 0;
        for (rank_t r = 0; r != end; ++r) n += group_of_rank[r] == group;
        return n;
    }
};

static_assert(Grouping<contiguous_groups> && Grouping<listed_groups>);

} // namespace bough

#endif
