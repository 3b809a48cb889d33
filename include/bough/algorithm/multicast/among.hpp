// SPDX-License-Identifier: BSL-1.0
// Multicast by any broadcast: the root and the members do the broadcast among themselves; the other
// ranks have nothing to do.
//
//   const auto plan = plan_multicast(multicast_among{circulant_broadcast{}, {6, 0, 5}}, {.size = 7, .root = 2, .blocks = 8});
//
// The participants take the places of the broadcast in this order: first the root, then the members
// as they are listed. So the list is a tool: ranks that are near each other belong side by side.
// The root may be listed too; it stands first anyway. Over a tree, tree_multicast
// (bough/algorithm/multicast/tree.hpp) is the same, and needs no algorithm in its place.
//
// Ranks       any; any subset of them. Below, k is the number of participants
// Rounds, traffic, scratch   those of the broadcast over k ranks from root 0
// Determinism nothing is combined
// Pre         every rank gives the same list, in the same order
// Errors      check(): a member that is not a rank, or is listed twice (status::peer says which);
//             what the broadcast says
// Source      that of the broadcast
//
// Picture, p = 7, root 2, members {6, 0, 5}, circulant_broadcast in one block:
//   round 1  2->6           round 2  2->0  6->5
#ifndef BOUGH_ALGORITHM_MULTICAST_AMONG_HPP
#define BOUGH_ALGORITHM_MULTICAST_AMONG_HPP

#include <bough/algorithm/multicast/tree.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

template <Algorithm B>
struct multicast_among {
    using serves = goals<goal::multicast>;
    B broadcast{};
    std::vector<rank_t> members{};

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        detail::broadcast_among(members, broadcast, at, rank, out);
    }
    // There is no number of blocks that suits every number of members: a plan that names none gets
    // one block.
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        const detail::participants who(members, at.root);
        const rank_t place = who.place(rank);
        return place == no_rank ? 0 : broadcast.scratch(who.among(at), place);
    }
    constexpr status check(const dimensions& at) const {
        if (const status bad = detail::check_members(goal(), at.size)) return bad;
        return broadcast.check(detail::participants(members, at.root).among(at));
    }
    constexpr goal::multicast goal() const { return detail::sorted_members(members); }
    // A hash of the whole list, which the schedules of two ranks do not show.
    constexpr std::uint64_t hash() const noexcept { return detail::hash_members(members); }
    constexpr label text() const { return label("multicast_among{").append(label_of(broadcast).c_str()).append("}"); }
    // It is constexpr if the broadcast's is.
    friend bool operator==(const multicast_among&, const multicast_among&) = default;
};
template <class B>
multicast_among(B, std::vector<rank_t>) -> multicast_among<B>;

} // namespace bough

#endif
