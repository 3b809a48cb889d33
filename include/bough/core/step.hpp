// SPDX-License-Identifier: BSL-1.0
// Steps: the four things that a rank can do in a schedule.
//
//   send     to `peer`, what `a` holds
//   receive  from `peer`, into `out`
//   combine  out = op(a, b): `a` is the lower operand, the one from the lower ranks
//   copy     out = a
//
// A message may be gathered from several slices, and scattered to several: a send (or receive) with
// `more` set is one part of a message that goes on in the next step of its rank, which sends
// (receives) too, with the same peer. The parts of one message are consecutive steps; sender and
// receiver cut it alike.
#ifndef BOUGH_CORE_STEP_HPP
#define BOUGH_CORE_STEP_HPP

#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

// What a step does.
enum class verb : std::uint8_t { send, receive, combine, copy };

// A structural value: comparable, printable, usable as a template argument.
struct step {
    bough::verb verb = bough::verb::copy;
    bool more = false;     // of a send or a receive: the message goes on in the next step
    rank_t peer = no_rank; // of a send or a receive
    slice a{};             // what is sent or copied; the lower operand of a combine
    slice b{};             // the upper operand of a combine
    slice out{};           // what is written: by a receive, a combine, a copy

    friend constexpr bool operator==(const step&, const step&) = default;

    constexpr bool communicates() const noexcept { return verb == verb::send || verb == verb::receive; }
    constexpr bool reads_a() const noexcept { return verb != verb::receive; }
    constexpr bool reads_b() const noexcept { return verb == verb::combine; }
    constexpr bool writes() const noexcept { return verb != verb::send; }
    // Blocks that the step moves or combines.
    constexpr block_t blocks() const noexcept { return verb == verb::send ? a.count : out.count; }
};

// Makes a step; see above. `more`: the next part of the same message follows.
constexpr step send_step(rank_t to, slice from, bool more = false) noexcept {
    return {verb::send, more, to, from, {}, {}};
}
constexpr step receive_step(rank_t from, slice into, bool more = false) noexcept {
    return {verb::receive, more, from, {}, {}, into};
}
constexpr step combine_step(slice lower, slice upper, slice out) noexcept {
    return {verb::combine, false, no_rank, lower, upper, out};
}
constexpr step copy_step(slice from, slice to) noexcept { return {verb::copy, false, no_rank, from, {}, to}; }

} // namespace bough

#endif
