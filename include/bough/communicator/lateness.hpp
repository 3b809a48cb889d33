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
// two, rounded down, so that noise does not make a new choice each time.
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

// `times`: of each rank in turn, the same `calls` calls. A rank is late if it came last in more than
// half of those that all ranks measured, and its lateness is the median. A pure function, on whose
// arguments all ranks agree. Pre: calls <= most_calls_timed; times are as many for each of two ranks or
// more.
constexpr lateness lateness_of(std::span<const call_time> times, std::size_t calls) {
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
    for (std::size_t i = 0; i != measured; ++i) {
        std::array<call_time, most_calls_timed> its{}; // 0 for the calls in which another rank came last
        std::size_t often = 0;
        for (std::size_t c = 0; c != measured; ++c)
            if (gaps[c].last == gaps[i].last) its[often++] = gaps[c].us;
        if (often * 2 <= measured) continue;
        std::sort(its.begin(), its.begin() + static_cast<std::ptrdiff_t>(measured));
        const std::uint64_t us = its[measured / 2];
        if (us < least_lateness_us) return {};
        return {gaps[i].last, static_cast<std::uint8_t>(std::bit_width(us * 1000) - 1)};
    }
    return {};
}

} // namespace bough::detail

#endif
