// SPDX-License-Identifier: BSL-1.0
// How a trace file is laid out: parts, one behind the other. Each has a head, the members of its
// communicator, and then slots of 48 bytes, up to the first that is empty.
//
// A slot is an entry, or belongs to the plan in whose entry it is counted. `what` of an entry is written
// last. So the file of a process that was killed ends with a whole entry.
#ifndef BOUGH_REPORT_TRACE_FORMAT_HPP
#define BOUGH_REPORT_TRACE_FORMAT_HPP

#include <bough/core/config.hpp>
#include <bough/core/formats.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/step.hpp>
#include <bough/report/trace.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace bough::inline BOUGH_ABI::detail {

inline constexpr std::array<char, 8> trace_magic{'b', 'o', 'u', 'g', 'h', 't', 'r', 'c'};
inline constexpr std::uint32_t trace_version = formats::trace;

struct trace_header {
    std::array<char, 8> magic = trace_magic;
    std::uint32_t version = trace_version;
    std::uint32_t header_bytes = 0; // sizeof(trace_header)
    std::uint64_t bytes = 0;        // of this part, a multiple of 64
    std::uint64_t job = 0;          // report_options::job
    std::uint64_t process = 0;      // a number of its own on its machine, in time
    std::uint32_t communicator = 0; // the process's so many-th
    std::uint32_t part = 0;         // of the communicator
    rank_t rank = 0, size = 0;      // of the transport
    std::uint32_t epoch = 0;
    std::uint32_t members = 0; // 0: all ranks of the transport
    std::uint16_t context = 0;
    std::array<std::uint8_t, 6> unused{};
    std::array<char, 40> machine{};          // times of one machine can be compared
    std::uint64_t steady_ns = 0, utc_ns = 0; // one moment by two clocks
    std::uint64_t closed_ns = 0;             // when the communicator was destroyed; 0: not
    std::uint64_t lost = 0;                  // entries for which there was no room

    std::size_t slots_at() const noexcept { return (header_bytes + std::size_t{members} * 4 + 63) / 64 * 64; }
};
static_assert(std::is_trivially_copyable_v<trace_header> && sizeof(trace_header) % 8 == 0);

struct trace_entry {
    static constexpr std::uint8_t plan = 64; // other values of `what`: 1 + operation_event::kind

    std::uint64_t at_ns = 0; // of a clock that all processes of the machine share
    std::uint64_t bytes = 0; // of the message; of a plan: of steps
    std::uint64_t plan_id = 0;
    std::uint64_t count = 0;   // of a start: elements; of a plan: of costs
    std::uint32_t number = 0;  // of the call; of a plan: of blocks
    std::uint32_t step = 0;    // of this rank; of a start: the collective
    rank_t peer = no_rank;     // of the transport; of a start: the root
    std::uint16_t element = 0; // bytes of an element, 65535: or more
    std::uint8_t code = 0;     // of an end: errc
    std::uint8_t what = 0;     // 0: nothing is here
};
static_assert(sizeof(trace_entry) == 48 && std::is_trivially_copyable_v<trace_entry>);

// The second slot of a plan. Its name takes two more, then come its steps and its costs.
struct trace_plan_head {
    double start_ns = 0;
    std::uint8_t has_ports = 0, lands_early = 0;
    std::array<std::uint8_t, 38> unused{};
};
inline constexpr std::size_t trace_name_slots = 2;
static_assert(sizeof(trace_plan_head) == sizeof(trace_entry) && sizeof(step) <= sizeof(trace_entry) &&
              sizeof(traced_cost) <= sizeof(trace_entry) && std::is_trivially_copyable_v<step> &&
              std::is_trivially_copyable_v<traced_cost>);

} // namespace bough::detail

#endif
