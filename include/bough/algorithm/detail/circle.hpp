// SPDX-License-Identifier: BSL-1.0
// Ranks and blocks on a circle: neighbours at a distance, and arcs of blocks that may pass the end
// of the vector.
//
// An arc of `count` blocks that begins at `first` and passes the last block goes on at block 0: it
// is two slices, and a message of two parts.
#ifndef BOUGH_ALGORITHM_DETAIL_CIRCLE_HPP
#define BOUGH_ALGORITHM_DETAIL_CIRCLE_HPP

#include <bough/concepts/step_sink.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>

#include <algorithm>

namespace bough::inline BOUGH_ABI::detail {

struct circle {
    rank_t size; // ranks, and blocks

    // The rank at `distance` <= size behind or before another, in the order of numbers.
    constexpr rank_t ahead(rank_t rank, rank_t distance) const noexcept {
        return rank >= size - distance ? rank - (size - distance) : rank + distance;
    }
    constexpr rank_t behind(rank_t rank, rank_t distance) const noexcept {
        return rank >= distance ? rank - distance : rank + (size - distance);
    }

    // Calls f(slice, more) for the slices of an arc. Pre: 1 <= count <= size.
    template <class F>
    constexpr void for_arc(rank_t first, rank_t count, F&& f) const {
        const rank_t until_end = std::min(count, size - first);
        f(slice{input, first, until_end}, until_end != count);
        if (until_end != count) f(slice{input, 0, count - until_end}, false);
    }
    constexpr void send(rank_t to, buffer from, rank_t first, rank_t count, StepSink auto& out) const {
        for_arc(first, count, [&](const slice& part, bool more) {
            more ? out.send_part(to, part.in(from)) : out.send(to, part.in(from));
        });
    }
    constexpr void receive(rank_t from, buffer into, rank_t first, rank_t count, StepSink auto& out) const {
        for_arc(first, count, [&](const slice& part, bool more) {
            more ? out.receive_part(from, part.in(into)) : out.receive(from, part.in(into));
        });
    }
    constexpr void copy(buffer from, buffer to, rank_t first, rank_t count, StepSink auto& out) const {
        for_arc(first, count, [&](const slice& part, bool) { out.copy(part.in(from), part.in(to)); });
    }
    // Combines what came from `peer` with what `rank` has. The operand of the lower rank stands
    // left.
    constexpr void combine(rank_t peer, buffer come, rank_t rank, buffer have, buffer result, rank_t first,
                           rank_t count, StepSink auto& out) const {
        for_arc(first, count, [&](const slice& part, bool) {
            const buffer lower = peer < rank ? come : have;
            const buffer upper = peer < rank ? have : come;
            out.combine(part.in(lower), part.in(upper), part.in(result));
        });
    }
};

} // namespace bough::detail

#endif
