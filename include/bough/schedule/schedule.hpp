// SPDX-License-Identifier: BSL-1.0
// A schedule: one rank's steps, as a value; and the sinks that make or count one.
#ifndef BOUGH_SCHEDULE_SCHEDULE_HPP
#define BOUGH_SCHEDULE_SCHEDULE_HPP

#include <bough/concepts/step_sink.hpp>
#include <bough/core/step.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI {

// Steps in program order, on the heap. freeze<[] { return plan.schedule_of(r).steps; }>() makes a
// constant of fixed size of them.
struct schedule {
    std::vector<step> steps;

    constexpr std::size_t size() const noexcept { return steps.size(); }
    constexpr const step& operator[](std::size_t i) const noexcept { return steps[i]; }
    constexpr auto begin() const noexcept { return steps.begin(); }
    constexpr auto end() const noexcept { return steps.end(); }
    friend constexpr bool operator==(const schedule&, const schedule&) = default;

    // The members of a StepSink.
    constexpr void send(rank_t to, slice from) { steps.push_back(send_step(to, from)); }
    constexpr void receive(rank_t from, slice into) { steps.push_back(receive_step(from, into)); }
    constexpr void send_part(rank_t to, slice from) { steps.push_back(send_step(to, from, true)); }
    constexpr void receive_part(rank_t from, slice into) { steps.push_back(receive_step(from, into, true)); }
    constexpr void combine(slice lower, slice upper, slice out) { steps.push_back(combine_step(lower, upper, out)); }
    constexpr void copy(slice from, slice to) { steps.push_back(copy_step(from, to)); }
};

// How much a schedule does: a sink that only counts.
struct step_counts {
    std::size_t sends = 0;    // messages
    std::size_t receives = 0; // messages
    std::size_t parts = 0;    // parts of messages, beyond one for each message
    std::size_t combines = 0;
    std::size_t copies = 0;
    std::uint64_t blocks_sent = 0;
    std::uint64_t blocks_received = 0;
    std::uint64_t blocks_combined = 0;
    std::uint64_t blocks_copied = 0;

    constexpr std::size_t steps() const noexcept { return sends + receives + parts + combines + copies; }
    friend constexpr bool operator==(const step_counts&, const step_counts&) = default;

    // The members of a StepSink.
    constexpr void send(rank_t, slice from) { ++sends, blocks_sent += from.count; }
    constexpr void receive(rank_t, slice into) { ++receives, blocks_received += into.count; }
    constexpr void send_part(rank_t, slice from) { ++parts, blocks_sent += from.count; }
    constexpr void receive_part(rank_t, slice into) { ++parts, blocks_received += into.count; }
    constexpr void combine(slice, slice, slice out) { ++combines, blocks_combined += out.count; }
    constexpr void copy(slice, slice to) { ++copies, blocks_copied += to.count; }
};

static_assert(StepSink<schedule> && StepSink<step_counts>);

} // namespace bough

#endif
