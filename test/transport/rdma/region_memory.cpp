// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "transport/rdma/scripted_writer.hpp"
#include <bough/transport/rdma/region_memory.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

using namespace bough;
using memory = detail::fabric_region_memory;
using ticket = detail::fabric_ticket;

TEST_CASE("region_memory: a region of whole lines behind a line for each rank") {
    memory mine(3, 100);
    REQUIRE(mine.allocate());
    CHECK(mine.region().size() == 128);
    CHECK(mine.place_in_region(5) == 3 * 64 + 5);
    // All words of all ranks have places of their own, in front of the region.
    std::array<bool, 3 * 64 / 8> taken{};
    for (rank_t r = 0; r != 3; ++r)
        for (const auto word : {ticket::hello, ticket::question, ticket::answer, ticket::bye, ticket::bye_heard}) {
            const auto at = static_cast<std::size_t>(memory::place_of_word(r, word));
            REQUIRE((at % 8 == 0 && at / 8 < taken.size()));
            CHECK_FALSE(std::exchange(taken[at / 8], true));
            CHECK(mine.word(r, word) == 0);
        }
}

TEST_CASE("region_memory: what does not lie inside the region is refused, whatever overflows") {
    memory mine(3, 128);
    constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
    constexpr std::size_t longest = std::numeric_limits<std::size_t>::max();
    CHECK((mine.contains(0, 128, 0) && mine.contains(0, 64, 64) && mine.contains(128, 0, 0)));
    CHECK_FALSE((mine.contains(1, 128, 0) || mine.contains(0, 65, 64) || mine.contains(129, 0, 0)));
    CHECK_FALSE((mine.contains(huge, 1, 0) || mine.contains(1, longest, 0) || mine.contains(1, 1, longest)));
}

TEST_CASE("region_memory: regions must be equal on all ranks") {
    std::array<detail::fabric_region_card, 3> cards{};
    for (auto& c : cards) c.bytes = 64;
    CHECK_FALSE(detail::agree_on_regions(cards, 0));
    cards[2].bytes = 128;
    for (const rank_t me : {0u, 1u}) {
        const status bad = detail::agree_on_regions(cards, me);
        CHECK((bad.code == errc::invalid_argument && bad.peer == 2));
    }
}

TEST_CASE("region_memory: it ends after the device, through which others write, and its registration before") {
    // Members end in the reverse of their order in memory.
    const bough_test::lone_core end;
    const void* const lines = &end.core.memory;
    const void* const device = &end.core.device;
    const void* const registered = &end.core.registered;
    CHECK(std::less<>{}(lines, device));
    CHECK(std::less<>{}(device, registered));
}
