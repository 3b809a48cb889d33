// SPDX-License-Identifier: BSL-1.0
// Which receives may combine in place: which messages a combine may read where they landed. The
// prover, the binder and the NIC assembler share this one rule, so the proof covers what runs.
//
// A receive into scratch and a combine belong together if
//   - the combine reads all that the receive wrote, and nothing else, as one of its operands,
//   - no other step reads any of it,
//   - no step overwrites a part of it before the combine reads it, and
//   - the combine does not write there.
// Then nothing but the combine sees whether the message was ever copied to scratch.
#ifndef BOUGH_SCHEDULE_IN_PLACE_HPP
#define BOUGH_SCHEDULE_IN_PLACE_HPP

#include <bough/core/plain_list.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/dependence.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// The steps of one rank that wait for step i: after[first[i]] to after[first[i + 1] - 1], in
// program order. Each number is `base` more than that of its step, since the prover numbers the
// steps of all ranks through.
struct dependents_view {
    std::span<const std::uint32_t> first, after;
    std::uint32_t base = 0;
};

// Dependences, the other way round.
struct dependents {
    detail::plain_list<std::uint32_t> first, after;
    constexpr dependents_view view() const noexcept { return {first, after}; }
};
template <int = 0>
constexpr dependents dependents_of(const dependences& order) {
    const std::size_t steps = order.first.size() - 1;
    dependents made;
    made.first.assign(steps + 1, 0);
    for (const std::uint32_t before : order.before) ++made.first[before + 1];
    for (std::size_t i = 0; i != steps; ++i) made.first[i + 1] += made.first[i];
    made.after.assign(order.before.size(), 0);
    detail::plain_list<std::uint32_t> fill = made.first;
    for (std::uint32_t i = 0; i != steps; ++i)
        for (const std::uint32_t before : order.of(i)) made.after[fill[before]++] = i;
    return made;
}

// The combine that may read what step i received where it landed, or no_step. Step i may be a part
// of a message.
constexpr std::uint32_t sole_combine(std::span<const step> steps, const dependents_view& waiting, std::uint32_t i) {
    const slice& landed = steps[i].out;
    if (!is_scratch(landed.buffer)) return no_step;
    std::uint32_t found = no_step;
    for (std::uint32_t e = waiting.first[i]; e != waiting.first[i + 1]; ++e) {
        const std::uint32_t later = waiting.after[e] - waiting.base;
        const step& s = steps[later];
        if ((s.reads_a() && overlap(s.a, landed)) || (s.reads_b() && overlap(s.b, landed))) {
            if (found != no_step || s.verb != verb::combine || (s.a == landed) == (s.b == landed) ||
                overlap(s.out, landed))
                return no_step;
            found = later;
        } else if (found == no_step) {
            return no_step; // it overwrites a part, which a combine would read after it
        }
    }
    return found;
}

// Calls f(receive, combine) for each receive of a whole message that may combine in place. A
// combine of two messages reads the one whose receive stands first where it landed.
template <class F>
constexpr void for_each_in_place(std::span<const step> steps, const dependents_view& waiting, F&& f) {
    detail::plain_list<unsigned char> taken(steps.size(), 0);
    for (std::uint32_t i = 0; i != steps.size(); ++i) {
        if (steps[i].verb != verb::receive || steps[i].more || (i != 0 && steps[i - 1].more)) continue;
        const std::uint32_t combine = sole_combine(steps, waiting, i);
        if (combine == no_step || taken[combine] != 0) continue;
        taken[combine] = 1;
        f(i, combine);
    }
}

} // namespace bough::detail

#endif
