// SPDX-License-Identifier: BSL-1.0
// Groups: which ranks are near each other (a node, a socket, a rack), for algorithms that work in
// two levels.
//
//   contiguous_groups{.ranks_per_group = 8}     ranks 0 to 7, 8 to 15, ...; the last group may be smaller
//   listed_groups{{0, 1, 0, 1}}                 the group of each rank; groups are numbered from 0,
//                                               none is empty
#ifndef BOUGH_ALGORITHM_GROUPS_HPP
#define BOUGH_ALGORITHM_GROUPS_HPP

#include <bough/core/label.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// How `size` ranks fall into groups. A rank has a place in its group; members of a group are
// ascending ranks.
template <class G>
concept Grouping = std::copyable<G> && std::equality_comparable<G> && requires(const G& g, rank_t n) {
    { g.check(n) } -> std::same_as<status>;
    { g.groups(n) } -> std::same_as<rank_t>;      // of n ranks
    { g.group_of(n, n) } -> std::same_as<rank_t>; // of n ranks, of a rank
    { g.place_of(n, n) } -> std::same_as<rank_t>;
    { g.members(n, n) } -> std::same_as<rank_t>;   // of n ranks, of a group
    { g.member(n, n, n) } -> std::same_as<rank_t>; // of n ranks, of a group, a place
    // Is every group an interval of ranks, in ascending order?
    { g.are_intervals(n) } -> std::same_as<bool>;
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
    constexpr label text() const { return label("contiguous_groups").field("ranks_per_group", ranks_per_group); }
    constexpr std::uint64_t identity() const noexcept { return std::uint64_t{ranks_per_group} << 1 | 1; }
    friend constexpr bool operator==(const contiguous_groups&, const contiguous_groups&) = default;
};

// A list is looked through once, when it is given; then every question takes the same short time.
class listed_groups {
public:
    constexpr listed_groups() = default; // of no ranks
    constexpr explicit listed_groups(std::vector<rank_t> group_of_rank) : group_of_rank_(std::move(group_of_rank)) {
        number();
    }

    constexpr status check(rank_t size) const noexcept {
        if (group_of_rank_.size() != size || size == 0)
            return invalid_argument("groups: the list needs one number per rank");
        if (fault_ == fault::no_zero) return invalid_argument("groups: they are numbered from 0");
        if (fault_ == fault::gap) return invalid_argument("groups: a group has no rank");
        return {};
    }
    // Precondition of all other members: check(size) is ok.
    constexpr rank_t groups(rank_t) const noexcept { return static_cast<rank_t>(first_.size()) - 1; }
    constexpr rank_t group_of(rank_t, rank_t rank) const noexcept { return group_of_rank_[rank]; }
    constexpr rank_t place_of(rank_t, rank_t rank) const noexcept { return place_[rank]; }
    constexpr rank_t members(rank_t, rank_t group) const noexcept { return first_[group + 1] - first_[group]; }
    constexpr rank_t member(rank_t, rank_t group, rank_t place) const noexcept {
        return place < members(0, group) ? by_group_[first_[group] + place] : no_rank;
    }
    constexpr bool are_intervals(rank_t) const noexcept { return intervals_; }

    constexpr const std::vector<rank_t>& group_of_rank() const noexcept { return group_of_rank_; }
    constexpr label text() const {
        std::uint32_t hash = 0x811c'9dc5u;
        for (const rank_t group : group_of_rank_) hash = (hash ^ group) * 0x0100'0193u;
        return label("listed_groups").field("ranks", group_of_rank_.size()).field("hash", hash);
    }
    // A number that tells this list from others; never 0.
    constexpr std::uint64_t identity() const noexcept {
        std::uint64_t hash = 0xcbf2'9ce4'8422'2325u;
        for (const rank_t group : group_of_rank_) hash = (hash ^ group) * 0x0000'0100'0000'01b3u;
        return hash | 1;
    }
    // The rest follows from the list.
    friend constexpr bool operator==(const listed_groups& a, const listed_groups& b) {
        return a.group_of_rank_ == b.group_of_rank_;
    }

private:
    enum class fault : std::uint8_t { none, no_zero, gap };

    constexpr void number() {
        const std::size_t size = group_of_rank_.size();
        if (size == 0) return;
        intervals_ = std::is_sorted(group_of_rank_.begin(), group_of_rank_.end());
        const rank_t highest = *std::max_element(group_of_rank_.begin(), group_of_rank_.end());
        if (*std::min_element(group_of_rank_.begin(), group_of_rank_.end()) != 0)
            fault_ = fault::no_zero;
        else if (highest >= size)
            fault_ = fault::gap;
        if (fault_ != fault::none) return;
        first_.assign(std::size_t{highest} + 2, 0);
        for (const rank_t group : group_of_rank_)
            place_.push_back(first_[group + 1]++); // first_ counts members for now
        if (std::find(first_.begin() + 1, first_.end(), rank_t{0}) != first_.end()) fault_ = fault::gap;
        for (std::size_t group = 1; group != first_.size(); ++group) first_[group] += first_[group - 1];
        by_group_.assign(size, 0);
        for (std::size_t rank = 0; rank != size; ++rank)
            by_group_[first_[group_of_rank_[rank]] + place_[rank]] = static_cast<rank_t>(rank);
    }

    std::vector<rank_t> group_of_rank_;
    std::vector<rank_t> place_;    // by rank: its place in its group
    std::vector<rank_t> by_group_; // the ranks, group after group
    std::vector<rank_t> first_;    // where in by_group_ each group begins, and the end
    fault fault_ = fault::none;
    bool intervals_ = true;
};

static_assert(Grouping<contiguous_groups> && Grouping<listed_groups>);

namespace detail {
// Have all groups as many members? Pre: groups.check(size) is ok.
template <Grouping G>
constexpr bool have_one_size(const G& groups, rank_t size) {
    const rank_t count = groups.groups(size);
    for (rank_t k = 1; k != count; ++k)
        if (groups.members(size, k) != groups.members(size, 0)) return false;
    return true;
}
} // namespace detail

} // namespace bough

#endif
