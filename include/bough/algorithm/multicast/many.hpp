// SPDX-License-Identifier: BSL-1.0
// Many multicasts at once, in a given order of messages: block k of the vector is what multicast k sends.
//
// The order is that of bough/tree/multicasts.hpp; every rank does its messages of it in turn. The root of multicast k has
// block k in its input; it arrives in the output of the members. No goal describes that, so verify does not prove it: the
// messages of one multicast are those of tree_multicast over its table, which it does.
//
// Ranks       any
// Traffic     one message for each member of each multicast
// Scratch     none
// Determinism nothing is combined
// Pre         a rank passes on only what it has; blocks == the number of multicasts
// Errors      check(): a message names no rank, or no block
#ifndef BOUGH_ALGORITHM_MULTICAST_MANY_HPP
#define BOUGH_ALGORITHM_MULTICAST_MANY_HPP

#include <bough/concepts/plan.hpp>
#include <bough/concepts/step_sink.hpp>
#include <bough/core/label.hpp>
#include <bough/tree/multicasts.hpp>

#include <cstdint>
#include <vector>

namespace bough {

struct ordered_multicasts {
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
        for (const multicast_message& m : order)
            if (m.parent >= at.size || m.child >= at.size || m.multicast >= wanted.size() || m.multicast >= at.blocks)
                return invalid_argument("order: a message names a rank or a multicast that there is not");
        return {};
    }
    constexpr std::uint64_t hash() const noexcept {
        std::uint64_t h = order.size();
        const auto mix = [&](std::uint64_t x) { h = (h ^ x) * 0x9e37'79b9'7f4a'7c15u, h ^= h >> 29; };
        for (const multicast_message& m : order) mix(m.multicast), mix(m.parent), mix(m.child);
        return h;
    }
    constexpr label text() const { return label("ordered_multicasts"); }
    friend constexpr bool operator==(const ordered_multicasts&, const ordered_multicasts&) = default;
};

static_assert(Algorithm<ordered_multicasts>);

} // namespace bough

#endif
