// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/transport/slots.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

using namespace bough::detail;

TEST_CASE("slot: a payload of any length that fits lies at its beginning") {
    std::array<std::byte, short_bytes> bytes{};
    for (std::size_t i = 0; i != bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i + 1);
    for (std::size_t length = 0; length <= short_bytes; ++length) {
        slot s;
        std::memset(s.payload, 0xee, short_bytes);
        s.put(std::span(bytes).first(length));
        CAPTURE(length);
        CHECK(std::memcmp(s.payload, bytes.data(), length) == 0);
        for (std::size_t i = length; i != short_bytes; ++i) CHECK(s.payload[i] == std::byte{0xee});
    }
}

TEST_CASE("release_order: slots that are released in order are free at once") {
    release_order order;
    for (std::uint32_t i = 0; i != 1000; ++i) CHECK(order.release(i & 15, 15) == i + 1);
    CHECK(order.freed() == 1000);
}

TEST_CASE(
    "release_order: a slot is free for the sender when all before it are, whatever the order, in rings of any length") {
    for (const std::uint32_t slots : {1u, 2u, 8u, 64u, 128u, 256u}) {
        const std::uint32_t mask = slots - 1;
        release_order order;
        std::uint64_t state = bough_test::seed() + slots;
        std::uint32_t sent = 0, free = 0;     // tickets
        std::vector<bool> held(20'000, true); // by ticket
        while (free < 10'000) {
            while (sent - free != slots) ++sent; // the sender fills every slot that is free
            state = bough_test::mixed(state);
            std::uint32_t ticket = free + static_cast<std::uint32_t>(state % slots);
            if (!held[ticket]) continue;
            held[ticket] = false;
            while (!held[free]) ++free;
            REQUIRE(order.release(ticket & mask, mask) == free);
        }
    }
}
