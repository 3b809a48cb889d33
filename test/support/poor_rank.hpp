// SPDX-License-Identifier: BSL-1.0
// Ranks that join a group while one of them has no memory. Replaces operator new (counted_new.hpp): for one source of
// each program.
#ifndef BOUGH_TEST_SUPPORT_POOR_RANK_HPP
#define BOUGH_TEST_SUPPORT_POOR_RANK_HPP

#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include "support/joined_ends.hpp"
#include "support/told.hpp"
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough_test {

// How many allocations of its rank succeed after its first exchange, before one fails; negative: all do. Those of the
// exchanges do not count.
template <class W>
struct poor_wire {
    W& wire;
    long few;
    bool begun = false;
    bough::rank_t rank() const { return wire.rank(); }
    bough::rank_t size() const { return wire.size(); }
    bough::status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
        const long left = std::exchange(until_failure, -1);
        const bough::status told = wire.exchange(mine, all, timeout_ns);
        until_failure = std::exchange(begun, true) ? left : few;
        return told;
    }
};

// Joins three ranks, with one more allocation on rank 1 each time, until it has enough: all are told that it has not.
// join(wire, status) -> std::optional<End>.
template <class End, class Join>
void check_poor_rank_is_told(const Join& join) {
    long k = 0;
    for (bool joined = false; !joined; ++k) {
        REQUIRE(k != 1000);
        std::vector<bough::status> why;
        const auto ends = joined_ends<End>(
            3,
            [&](bough::rank_t r, auto& wire, bough::status& result) {
                poor_wire<std::remove_reference_t<decltype(wire)>> poor{wire, r == 1 ? k : -1};
                std::optional<End> made = join(poor, result);
                until_failure = -1;
                return made;
            },
            &why);
        CAPTURE(k);
        joined = ends.size() == 3;
        if (joined) continue;
        CHECK(ends.empty());
        check_told(why, bough::errc::no_resources);
    }
    CHECK(k > 5);
}

} // namespace bough_test

#endif
