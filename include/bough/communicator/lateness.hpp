// SPDX-License-Identifier: BSL-1.0
// lateness: which rank keeps the others waiting, found from how long calls took on each rank.
//
// The ranks of an allreduce end nearly together, so whoever spent the least time in it came last. How
// much less that was than on any other rank is how much later it came. No clocks are compared.
//
// *Errors* of the measurement: ranks do not end at one moment. That makes a gap of less than a message of
// the plan, and a plan that hides a late rank pays only where it is later than that.
#ifndef BOUGH_COMMUNICATOR_LATENESS_HPP
#define BOUGH_COMMUNICATOR_LATENESS_HPP

#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// The rank that comes after all others, and how much later: 2 to the power of `doublings` ns. Powers of
// two, rounded down when the rank is first seen to be late, so that noise makes few choices.
struct lateness {
    rank_t rank = no_rank; // no_rank: none does
    std::uint8_t doublings = 0;

    constexpr std::uint64_t ns() const noexcept { return rank == no_rank ? 0 : std::uint64_t{1} << doublings; }
    friend constexpr bool operator==(const lateness&, const lateness&) = default;
};

// How long a call took on a rank, in us.
using call_time = std::uint32_t;
inline constexpr call_time not_measured = ~call_time{0};
constexpr call_time call_time_of(std::uint64_t ns) noexcept {
    return static_cast<call_time>(std::min<std::uint64_t>(ns / 1000, not_measured - 1));
}

// So many calls are looked at, at most.
inline constexpr std::size_t most_calls_timed = 16;
// Less is not worth a word.
inline constexpr std::uint64_t least_lateness_us = 8;

// What measured times say: a rank, in how many calls it came last, and by how much in the median. No rank:
// none came last in half of the calls.
struct measured_lateness {
    rank_t rank = no_rank;
    std::size_t often = 0, calls = 0;
    std::uint64_t ns = 0;
};

// `times`: of each rank in turn, the same `calls` calls; those that all ranks measured count. If two ranks
// share the calls, it is `rather`. A pure function, on whose arguments all ranks agree. Pre: calls <=
// most_calls_timed; times are as many for each of two ranks or more.
constexpr measured_lateness measure_lateness(std::span<const call_time> times, std::size_t calls, rank_t rather) {
    const std::size_t ranks = times.size() / calls;
    struct gap {
        rank_t last = no_rank;
        call_time us = 0;
    };
    std::array<gap, most_calls_timed> gaps{};
    std::size_t measured = 0;
    for (std::size_t c = 0; c != calls; ++c) {
        call_time least = not_measured, next = not_measured;
        std::size_t last = 0;
        bool all = true;
        for (std::size_t r = 0; r != ranks && all; ++r) {
            const call_time its = times[r * calls + c];
            all = its != not_measured;
            if (its < least)
                next = least, least = its, last = r;
            else
                next = std::min(next, its);
        }
        if (all) gaps[measured++] = {static_cast<rank_t>(last), next - least};
    }
    measured_lateness found{.calls = measured};
    for (std::size_t i = 0; i != measured; ++i) {
        std::array<call_time, most_calls_timed> its{}; // 0 for the calls in which another rank came last
        std::size_t often = 0;
        for (std::size_t c = 0; c != measured; ++c)
            if (gaps[c].last == gaps[i].last) its[often++] = gaps[c].us;
        if (often * 2 < measured || (found.rank != no_rank && gaps[i].last != rather)) continue;
        std::sort(its.begin(), its.begin() + static_cast<std::ptrdiff_t>(measured));
        found.rank = gaps[i].last, found.often = often;
        found.ns = std::uint64_t{its[measured / 2]} * 1000;
    }
    return found;
}

// Which rank is taken for late, from one exchange of times to the next. A rank is late if it came last in
// more than half of the calls, by least_lateness_us in the median. A rank that has been taken for late
// stays late while it comes last in half of the calls, by three quarters of that. Its lateness stays what
// it was while the new one is 0.75 to 2.5 times as much, also if the rank was in time meanwhile. So times
// about a border do not make a new choice each time; another rank, or a larger change, is seen at once.
struct lateness_in_turn {
    lateness now{};
    lateness latest{}; // the same, or what it was when a rank was late

    // A pure function of all that it is told, on which all ranks agree. Pre: as for measure_lateness.
    constexpr void hear(std::span<const call_time> times, std::size_t calls) {
        const measured_lateness found = measure_lateness(times, calls, now.rank);
        const bool is_same = found.rank != no_rank && found.rank == now.rank;
        const std::uint64_t least_ns = least_lateness_us * 1000;
        if (found.rank == no_rank || (!is_same && found.often * 2 <= found.calls) ||
            found.ns < (is_same ? least_ns / 4 * 3 : least_ns)) {
            now = {};
            return;
        }
        now = {found.rank, static_cast<std::uint8_t>(std::bit_width(found.ns) - 1)};
        if (latest.rank == now.rank && found.ns >= latest.ns() / 4 * 3 && found.ns < latest.ns() / 2 * 5) now = latest;
        latest = now;
    }
};

// What the times of one exchange say, if there was none before.
constexpr lateness lateness_of(std::span<const call_time> times, std::size_t calls) {
    lateness_in_turn found;
    found.hear(times, calls);
    return found.now;
}

} // namespace bough::detail

#endif
