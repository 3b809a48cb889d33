// SPDX-License-Identifier: BSL-1.0
// Many multicasts at once, in a given order of messages: block k of the vector is what multicast k sends.
//
//   const auto made = balanced_multicasts(costs, wanted);                        // bough/tree/multicasts.hpp
//   const auto plan = plan_multicasts(wanted, made.order, {.size = 8});
//   verify(plan)
//
// Every rank does its messages of the order in turn. The root of multicast k has block k in its
// input; it arrives in the output of the members.
//
// Ranks       any
// Traffic     one message for each member of each multicast
// Scratch     none
// Determinism nothing is combined
// Pre         a rank passes on only what it has by then, and every member is served once (otherwise
//             verify names the fault)
// Errors      check(): a root, a member or a message names no rank, or a message no multicast
//             (status::peer says which rank); a member is listed twice; not as many blocks as
//             multicasts
// Source      bough; multiple multicast: Banikazemi, Moorthy, Panda, ICPP 1998, section 6.2
//
// Picture, p = 4, from 0 to {1, 2, 3} and from 3 to {0, 1}:
//   round 1  0->2 [0]  3->1 [1]        round 2  2->3 [0]  0->1 [0]  3->0 [1]
#ifndef BOUGH_ALGORITHM_MULTICAST_MANY_HPP
#define BOUGH_ALGORITHM_MULTICAST_MANY_HPP

#include <bough/concepts/plan.hpp>
#include <bough/concepts/step_sink.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/tree/multicasts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

struct ordered_multicasts {
    using serves = goals<goal::multicasts>;
    std::vector<multicast_request> wanted{};
    std::vector<multicast_message> order{};

    constexpr void emit(const dimensions&, rank_t rank, StepSink auto& out) const {
        for (const multicast_message& m : order) {
            if (m.parent == rank)
                out.send(m.child, {wanted[m.multicast].root == rank ? input : output, m.multicast, 1});
            else if (m.child == rank)
                out.receive(m.parent, {output, m.multicast, 1});
        }
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return static_cast<block_t>(wanted.size()); }
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions& at) const {
        const auto refuse = [](const char* sentence, rank_t rank) {
            status bad = invalid_argument(sentence);
            bad.peer = rank;
            return bad;
        };
        if (at.blocks != bough::natural_blocks && at.blocks != wanted.size())
            return invalid_argument("blocks: as many as there are multicasts");
        for (const multicast_request& w : goal().wanted) {
            if (w.root >= at.size) return refuse("wanted: the root of a multicast is not a rank of the group", w.root);
            for (std::size_t i = 0; i != w.members.size(); ++i) {
                if (w.members[i] >= at.size) return refuse("wanted: a member is not a rank of the group", w.members[i]);
                if (i != 0 && w.members[i] == w.members[i - 1])
                    return refuse("wanted: a multicast lists a member twice", w.members[i]);
            }
        }
        for (const multicast_message& m : order) {
            if (m.multicast >= wanted.size())
                return invalid_argument("order: a message of a multicast that is not wanted");
            for (const rank_t r : {m.parent, m.child})
                if (r >= at.size) return refuse("order: a message names a rank that is not in the group", r);
        }
        return {};
    }
    constexpr goal::multicasts goal() const {
        goal::multicasts made{wanted};
        for (multicast_request& w : made.wanted) std::sort(w.members.begin(), w.members.end());
        return made;
    }
    // A hash of the whole order, which the schedules of two ranks do not show.
    constexpr std::uint64_t hash() const noexcept {
        std::uint64_t h = order.size();
        const auto mix = [&](std::uint64_t x) { h = (h ^ x) * 0x9e37'79b9'7f4a'7c15u, h ^= h >> 29; };
        for (const multicast_request& w : wanted) {
            mix(w.root), mix(w.members.size());
            for (const rank_t m : w.members) mix(m);
        }
        for (const multicast_message& m : order) mix(m.multicast), mix(m.parent), mix(m.child);
        return h;
    }
    constexpr label text() const { return label("ordered_multicasts"); }
    friend constexpr bool operator==(const ordered_multicasts&, const ordered_multicasts&) = default;
};

static_assert(Algorithm<ordered_multicasts>);

constexpr plan<goal::multicasts, ordered_multicasts> plan_multicasts(ordered_multicasts what, dimensions at) {
    return {std::move(what), at};
}
constexpr plan<goal::multicasts, ordered_multicasts>
plan_multicasts(std::vector<multicast_request> wanted, std::vector<multicast_message> order, dimensions at) {
    return {ordered_multicasts{std::move(wanted), std::move(order)}, at};
}

} // namespace bough

#endif
