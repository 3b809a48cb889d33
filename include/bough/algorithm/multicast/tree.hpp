// SPDX-License-Identifier: BSL-1.0
// Multicast over any tree: a broadcast among the root and some members; the other ranks have nothing to do.
//
// The participants take the places of the tree in this order: first the root, then the members as
// they are listed. So the list is a tool: ranks that are near each other belong side by side. The
// root may be listed too; it stands first anyway.
//
// Ranks       any; any subset of them. Below, k is the number of participants
// Rounds      one block over a binomial tree: ceil(log2 k)
// Traffic     k - 1 messages a block
// Scratch     none
// Determinism nothing is combined
// Pre         every rank gives the same list, in the same order; a table has k ranks and root 0
// Errors      check(): a member that is not a rank, or is listed twice (status::peer says which);
//             what the shape says
// Source      as tree_broadcast
//
// Picture, p = 7, root 2, members {6, 0, 5}, binomial:
//   round 1  2->0           round 2  2->6  0->5
#ifndef BOUGH_ALGORITHM_MULTICAST_TREE_HPP
#define BOUGH_ALGORITHM_MULTICAST_TREE_HPP

#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/tree_source.hpp>
#include <bough/schedule/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

// The root and the members, numbered by their places.
class participants {
public:
    constexpr participants(std::span<const rank_t> members, rank_t root) : members_(members), root_(root) {
        const auto listed = std::find(members.begin(), members.end(), root);
        root_at_ = static_cast<std::size_t>(listed - members.begin());
    }
    constexpr rank_t size() const noexcept {
        return static_cast<rank_t>(members_.size() + (root_at_ == members_.size() ? 1 : 0));
    }
    // Pre: place < size().
    constexpr rank_t rank(rank_t place) const noexcept {
        if (place == 0) return root_;
        return members_[place - 1 < root_at_ ? place - 1 : place];
    }
    // The place of a rank; no_rank if it is no participant.
    constexpr rank_t place(rank_t rank) const noexcept {
        if (rank == root_) return 0;
        const auto at = static_cast<std::size_t>(std::find(members_.begin(), members_.end(), rank) - members_.begin());
        return at == members_.size() ? no_rank : static_cast<rank_t>(at + (at < root_at_ ? 1 : 0));
    }
    constexpr dimensions among(const dimensions& at) const noexcept {
        return {.size = size(), .root = 0, .blocks = at.blocks};
    }

private:
    std::span<const rank_t> members_;
    rank_t root_;
    std::size_t root_at_; // the root's index in members_; the number of members if it is not listed
};

constexpr goal::multicast sorted_members(const std::vector<rank_t>& members) {
    goal::multicast made{members};
    std::sort(made.members.begin(), made.members.end());
    return made;
}
constexpr status check_members(const goal::multicast& sorted, rank_t size) {
    for (std::size_t i = 0; i != sorted.members.size(); ++i) {
        const bool twice = i != 0 && sorted.members[i] == sorted.members[i - 1];
        if (!twice && sorted.members[i] < size) continue;
        status bad =
            invalid_argument(twice ? "members: a rank is listed twice" : "members: one is not a rank of the group");
        bad.peer = sorted.members[i];
        return bad;
    }
    return {};
}
constexpr std::uint64_t hash_members(std::span<const rank_t> members) noexcept {
    std::uint64_t h = members.size();
    for (const rank_t m : members) h = (h ^ m) * 0x9e37'79b9'7f4a'7c15u, h ^= h >> 29;
    return h;
}

// The broadcast's steps, from place to place, as steps from rank to rank.
constexpr void broadcast_among(std::span<const rank_t> members, const auto& broadcast, const dimensions& at,
                               rank_t rank, StepSink auto& out) {
    const participants who(members, at.root);
    const rank_t place = who.place(rank);
    if (place == no_rank) return;
    step_sink named{[&](step s) {
        if (s.communicates()) s.peer = who.rank(s.peer);
        push_step(out, s);
    }};
    broadcast.emit(who.among(at), place, named);
}

} // namespace detail

template <TreeSource S>
struct tree_multicast {
    using serves = goals<goal::multicast>;
    S shape{};
    std::vector<rank_t> members{};

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        detail::broadcast_among(members, tree_broadcast<S>{shape}, at, rank, out);
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions& at) const {
        if (const status bad = detail::check_members(goal(), at.size)) return bad;
        return check_tree(shape, detail::participants(members, at.root).among(at));
    }
    constexpr goal::multicast goal() const { return detail::sorted_members(members); }
    // A hash of the whole list, which the schedules of two ranks do not show.
    constexpr std::uint64_t hash() const noexcept { return detail::hash_members(members); }
    friend constexpr bool operator==(const tree_multicast&, const tree_multicast&) = default;
};
template <class S>
tree_multicast(S, std::vector<rank_t>) -> tree_multicast<S>;

// Over a tree source: plan_multicast(fnomial{.degree = 4}, {1, 5, 6}, {.size = 16}).
template <TreeSource S>
constexpr plan<goal::multicast, tree_multicast<S>> plan_multicast(const S& source, std::vector<rank_t> members,
                                                                  dimensions at) {
    return {tree_multicast<S>{source, std::move(members)}, at};
}

} // namespace bough

#endif
