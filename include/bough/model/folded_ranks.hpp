// SPDX-License-Identifier: BSL-1.0
// folded_ranks: the ranks of one group stand for all ranks, where every group does what the first one
// does. So a walk visits one group and no more. That is the one in the middle: if the ranges of some
// ranks wrap around, theirs do, and a range that does is combined in two steps.
//
// Ranks lie in groups of one size, and each has a place in its group. Every rank does what the rank at
// its place of group 0 does. Its peers have the same places, and the numbers of their groups are
// shifted by that of its own or, if there are a power of two of them, exclusive-ored with it. And
// messages cost as much between ranks moved so.
//
//   4 groups of 2, by shift:  what 5 sends to 3 (groups 2 and 1) is what 7 sends to 5
//
// Then a message to any rank is one to a rank of the group that is visited, from a sender that is moved
// as much. So each rank of that group gets all its messages from its own group, and each at the time at
// which it comes if all ranks are visited: the walk is exact.
#ifndef BOUGH_MODEL_FOLDED_RANKS_HPP
#define BOUGH_MODEL_FOLDED_RANKS_HPP

#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>

#include <cstddef>

namespace bough::inline BOUGH_ABI::model {

// The way of the messages from one rank to another.
struct channel {
    rank_t from, to;
};

class folded_ranks {
public:
    constexpr folded_ranks() = default; // of no ranks
    // Groups of `members` neighbours. Pre: size is a multiple of members.
    constexpr folded_ranks(rank_t size, rank_t members, bool by_xor) : members_(members), by_xor_(by_xor) {
        for (rank_t r = 0; r != size; ++r) add(r, r / members);
        set_ranks();
    }
    // By rank: the number of its group; its place follows from the order of the ranks.
    // Pre: all groups have `members` ranks.
    constexpr folded_ranks(const bough::detail::plain_list<rank_t>& group_of, rank_t members, bool by_xor)
        : members_(members), by_xor_(by_xor) {
        bough::detail::plain_list<rank_t> known(group_of.size() / members, rank_t{0});
        for (std::size_t r = 0; r != group_of.size(); ++r) add(known[group_of[r]]++, group_of[r]);
        set_ranks();
    }

    constexpr rank_t members() const noexcept { return members_; }                            // of a group
    constexpr rank_t member_of_first(rank_t place) const noexcept { return rank_at_[place]; } // of group 0
    constexpr rank_t groups() const noexcept { return static_cast<rank_t>(stand_.size()) / members_; }
    constexpr bool stands_for_others(rank_t rank) const noexcept { return stand_[rank].group == visited(); }
    // The rank that is visited in its place.
    constexpr rank_t stands_for(rank_t rank) const noexcept {
        return rank_at_[std::size_t{visited()} * members_ + stand_[rank].number];
    }
    // The rank that does what `rank` does, `by` groups on.
    constexpr rank_t moved(rank_t rank, rank_t by) const noexcept {
        const spot its = stand_[rank];
        return rank_at_[std::size_t{by_xor_ ? its.group ^ by : ahead(its.group, by)} * members_ + its.number];
    }
    // The same channel, moved so that its receiver is a rank that is visited.
    constexpr channel channel_of(rank_t from, rank_t to) const noexcept {
        const rank_t its = stand_[to].group, then = visited();
        const rank_t by = by_xor_ ? its ^ then : its <= then ? then - its : then + (groups() - its);
        return {moved(from, by), stands_for(to)};
    }
    // How far the group of `peer` is from that of `rank`, and its place: the same for all ranks that do
    // alike.
    constexpr std::size_t seen_from(rank_t rank, rank_t peer) const noexcept {
        const rank_t own = stand_[rank].group, its = stand_[peer].group;
        const rank_t apart = by_xor_ ? its ^ own : its >= own ? its - own : its + (groups() - own);
        return std::size_t{apart} * members_ + stand_[peer].number;
    }

private:
    struct spot {
        rank_t group = 0, number = 0;
    };
    constexpr rank_t visited() const noexcept { return groups() / 2; }
    constexpr rank_t ahead(rank_t group, rank_t by) const noexcept {
        return by < groups() - group ? group + by : by - (groups() - group);
    }
    constexpr void add(rank_t number, rank_t group) { stand_.push_back({group, number % members_}); }
    constexpr void set_ranks() {
        rank_at_.resize(stand_.size());
        for (std::size_t r = 0; r != stand_.size(); ++r)
            rank_at_[std::size_t{stand_[r].group} * members_ + stand_[r].number] = static_cast<rank_t>(r);
    }

    bough::detail::plain_list<spot> stand_;     // by rank
    bough::detail::plain_list<rank_t> rank_at_; // group after group
    rank_t members_ = 1;
    bool by_xor_ = false;
};

namespace detail {

// The ranks that a walk visits: all; or, if it may fold and there is a fold, those of one group.
template <bool MayFold>
class visited_ranks {
public:
    constexpr explicit visited_ranks(const folded_ranks* fold) noexcept : fold_(fold) {} // null: all

    constexpr bool folds() const noexcept { return MayFold && fold_ != nullptr; }
    constexpr bool has(rank_t rank) const noexcept { return !folds() || fold_->stands_for_others(rank); }
    // How many of `size` ranks.
    constexpr rank_t count(rank_t size) const noexcept { return folds() ? fold_->members() : size; }
    // The rank, and the channel to a rank, that are visited in place of these.
    constexpr rank_t stands_for(rank_t rank) const noexcept { return folds() ? fold_->stands_for(rank) : rank; }
    constexpr channel channel_of(rank_t from, rank_t to) const noexcept {
        return folds() ? fold_->channel_of(from, to) : channel{from, to};
    }

private:
    const folded_ranks* fold_;
};

} // namespace detail

} // namespace bough::model

#endif
