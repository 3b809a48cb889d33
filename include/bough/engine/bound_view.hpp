// SPDX-License-Identifier: BSL-1.0
// bound_view: a bound schedule as the engine reads it, without the memory that holds it.
// Freestanding; bough/engine/bound.hpp makes one.
#ifndef BOUGH_ENGINE_BOUND_VIEW_HPP
#define BOUGH_ENGINE_BOUND_VIEW_HPP

#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/engine/list_view.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

// Stands where there is no step.
inline constexpr std::uint32_t not_a_step = 0xffff'ffffu;

// One step as the engine runs it.
struct bound_step {
    bough::verb verb = bough::verb::copy;
    rank_t peer = no_rank;
    std::uint32_t segment = 0;                  // a message: its number on its channel
    std::uint32_t a = 0, b = 0, out = 0;        // indices into bound_schedule::places
    std::uint32_t after = 0, after_count = 0;   // the steps that wait for this one: bound_schedule::after
    std::uint32_t next_on_channel = not_a_step; // the send that may be posted once this one is
    std::uint32_t partner = not_a_step;         // fused: the combine of a receive; the receive of a combine
    bool partner_is_a = false;                  // fused combine: operand a is the message
    std::uint32_t series = not_a_step;          // the last combine of a series: its operands, bound_view::operands
};

// A place in memory: blocks [first, first + count) of a buffer. Equal slices share one place.
struct bound_place {
    std::uint32_t buffer = 0;
    block_t first = 0, count = 0;
    std::uint32_t parts = 0; // slices one behind the other: so many places that follow are the parts
};

// Blocks [first, last) of a scratch plane are used; none of one that holds places with parts.
struct plane_extent {
    block_t first = 0xffff'ffffu, last = 0;
};

// Where the receives from one peer are, so that a message finds its step: receives[first +
// segment].
struct bound_channel {
    rank_t peer = no_rank;
    std::uint32_t first = 0, count = 0;
};

struct bound_view {
    block_t blocks = 1;
    std::uint64_t plan_id = 0;
    bool may_hold = false; // messages may stay where they landed until their combine is ready
    list_view<const bound_step> steps;
    list_view<const bound_place> places;
    list_view<const std::uint32_t> after;
    list_view<const std::uint32_t> waits;    // per step: how many steps it waits for
    list_view<const std::uint32_t> start;    // steps that wait for nothing, not even for a message
    list_view<const bound_channel> channels; // sorted by peer
    list_view<const std::uint32_t> receives; // steps, by channel and segment
    list_view<const plane_extent> planes;
    // If the plan combines in series: for each series how many operands it has, the same for all, and these,
    // as places.
    list_view<const std::uint32_t> operands;
};

} // namespace bough

#endif
