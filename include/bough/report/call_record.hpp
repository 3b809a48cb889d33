// SPDX-License-Identifier: BSL-1.0
// What a communicator records of its calls: plain structs without pointers, as they also lie in a
// recording file (bough/report/recording_file.hpp).
//
// Times in it are ticks of the processor's counter, which takes a few nanoseconds to read. Two pairs
// of ticks and UTC, one when the recording began and one of lately, turn them into times.
#ifndef BOUGH_REPORT_CALL_RECORD_HPP
#define BOUGH_REPORT_CALL_RECORD_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/formats.hpp>
#include <bough/core/status.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

// What a communicator has done so far, on this rank.
struct counters {
    std::uint64_t calls = 0;          // that have started
    std::uint64_t messages = 0;       // that this rank has sent for them
    std::uint64_t bytes = 0;          // in those messages
    std::uint64_t waits = 0;          // calls that did not end at once
    std::uint64_t retries = 0;        // messages that the transport, or the peer's room, refused at first
    std::uint64_t early_messages = 0; // that came here before this rank had made their call
    std::uint64_t early_bytes = 0;    // in those
    friend constexpr bool operator==(const counters&, const counters&) = default;
};

// How far a call has come.
enum class call_state : std::uint8_t {
    none,          // nothing is recorded here
    in_flight,     // it has started; it ended at once if recording_identity::ended_at_once says so
    ended_at_once, // it ended well in the call that started it; when is not recorded
    ended,         // it ended well
    failed,        // it ended with an error
};

struct call_record {
    struct how { // written as one word
        call_state state = call_state::none;
        errc code = errc::ok;
        std::uint16_t element_bytes = 0; // 65535: or more
    };
    call_signature signature{};
    std::uint64_t begin = 0, end = 0; // ticks
    std::uint32_t number = 0;         // of the call on its communicator
    how its{};

    std::uint64_t bytes() const noexcept { return signature.count * its.element_bytes; }
};
static_assert(sizeof(call_record) == 64 && std::is_trivially_copyable_v<call_record>);

namespace detail {

// The processor's counter, or the time in nanoseconds where there is none.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    std::uint64_t now = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
#else
    std::timespec now{};
    (void)std::timespec_get(&now, TIME_UTC);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
#endif
}

struct clock_mark {
    std::uint64_t ticks = 0;
    std::uint64_t utc_ns = 0;

    static clock_mark now() noexcept {
        std::timespec utc{};
        (void)std::timespec_get(&utc, TIME_UTC);
        return {detail::ticks(),
                static_cast<std::uint64_t>(utc.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(utc.tv_nsec)};
    }
};

// A status without the pointer.
struct status_record {
    errc code = errc::ok, cause = errc::ok;
    bough::mismatch mismatch = bough::mismatch::none;
    std::uint8_t collective = 0;
    rank_t peer = no_rank;
    std::uint32_t operation = 0;
    std::uint16_t context = 0, missing = 0;
    std::uint64_t mine = 0, theirs = 0;
    friend bool operator==(const status_record&, const status_record&) = default;

    static status_record of(const status& s) noexcept {
        return {s.code, s.cause, s.mismatch, s.collective, s.peer, s.operation, s.context, s.missing, s.mine, s.theirs};
    }
    status as_status() const noexcept {
        return {.code = code,
                .cause = cause,
                .mismatch = mismatch,
                .collective = collective,
                .peer = peer,
                .operation = operation,
                .context = context,
                .missing = missing,
                .mine = mine,
                .theirs = theirs};
    }
};

// A call in flight, and the ranks that it waits for.
struct waiting_record {
    static constexpr std::uint32_t most = 12;
    struct edge {
        rank_t rank = no_rank;             // of the transport
        std::uint32_t step = 0xffff'ffffu; // of this rank's schedule; all ones: not known which
    };
    std::uint32_t number = 0;
    std::uint32_t steps = 0, steps_left = 0;
    std::uint32_t count = 0; // of ranks; the first `most` stand in `edges`
    std::array<edge, most> edges{};
};

// A message whose call has not been made here.
struct early_record {
    rank_t from = no_rank;
    std::uint32_t number = 0;
    std::uint64_t bytes = 0;
    std::uint32_t kind = 0, unused = 0;
};

struct plan_name {
    std::uint64_t plan = 0;
    std::array<char, 56> text{};
};

inline constexpr std::array<char, 8> recording_magic{'b', 'o', 'u', 'g', 'h', 'r', 'e', 'c'};
inline constexpr std::uint32_t recording_version = formats::recording;

// Whose recording it is.
struct recording_identity {
    std::uint64_t job = 0;     // report_options::job
    std::uint64_t born_ns = 0; // when the session of this rank began to record, UTC
    rank_t rank = 0, size = 0; // of the transport
    std::uint32_t epoch = 0;
    std::uint16_t context = 0;
    std::uint8_t is_closed = 0; // the communicator has been destroyed
    std::uint8_t unused = 0;
    std::uint32_t ended_at_once = 0; // this call, and all before it that have not failed, have ended
    std::uint32_t members = 0;       // how many; 0: all ranks of the transport
    std::uint32_t calls = 0;         // room in the ring, a power of two
    std::uint32_t unused_end = 0;    // so that the next member lies at the same place on every processor
};

// As it was when the rank looked last: it waited, or made a report, or something failed.
struct recording_moment {
    std::uint64_t ticks = 0;                // 0: never
    std::uint32_t in_flight = 0, early = 0; // calls, and messages; the first eight stand below
    std::array<waiting_record, 8> waiting{};
    std::array<early_record, 8> early_messages{};
};

// Begins a recording. The members of the communicator follow it, then the ring of call_records.
struct recording_header {
    std::array<char, 8> magic = recording_magic;
    std::uint32_t version = recording_version;
    std::uint32_t header_bytes = 0; // sizeof(recording_header)
    std::uint64_t bytes = 0;        // of the whole recording, a multiple of 64
    recording_identity of{};
    clock_mark first{}, latest{};
    counters counts{};
    status_record poison{}; // what broke the group
    recording_moment moment{};
    std::array<plan_name, 16> plans{};

    std::size_t members_at() const noexcept { return header_bytes; }
    std::size_t calls_at() const noexcept { return (header_bytes + std::size_t{of.members} * 4 + 63) / 64 * 64; }
    std::size_t end() const noexcept { return calls_at() + std::size_t{of.calls} * sizeof(call_record); }
};
static_assert(std::is_trivially_copyable_v<recording_header> && sizeof(recording_header) == 2320);

} // namespace detail
} // namespace bough

#endif
