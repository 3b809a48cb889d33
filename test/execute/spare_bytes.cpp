// SPDX-License-Identifier: BSL-1.0
// Spare memory of control messages: what is reserved is there, and what is no more reserved is let go.
#include "support/catch.hpp"
#include <bough/execute/outbox.hpp>

#include <cstddef>
#include <utility>
#include <vector>

using bough::spare_bytes;

namespace {

using buffers = std::vector<std::vector<std::byte>>;

// All that it has.
buffers drained(spare_bytes& spare) {
    buffers all;
    for (std::vector<std::byte> x = spare.of_size(0); x.capacity() != 0; x = spare.of_size(0))
        all.push_back(std::move(x));
    return all;
}
std::size_t count_of(const buffers& all, std::size_t bytes) {
    std::size_t n = 0;
    for (const auto& x : all) n += x.capacity() >= bytes;
    return n;
}

} // namespace

TEST_CASE("spare_bytes: what is unreserved goes, and leaves others what they have reserved", "[execute]") {
    for (const bool long_ones_go : {true, false}) {
        spare_bytes spare;
        spare.reserve(4, 100);
        spare.reserve(2, 1000);
        spare.reserve(1, 10);
        CHECK(spare.room() == 7);
        long_ones_go ? spare.unreserve(2, 1000) : spare.unreserve(4, 100);
        const buffers left = drained(spare);
        CHECK(left.size() == (long_ones_go ? 5 : 3));
        CHECK(count_of(left, 100) == (long_ones_go ? 4 : 2));
        CHECK(count_of(left, 1000) == (long_ones_go ? 0 : 2));
    }
}
TEST_CASE("spare_bytes: what is in use when its reservation ends comes back into the room that is left", "[execute]") {
    spare_bytes spare;
    spare.reserve(2, 100);
    spare.reserve(3, 50);
    buffers used = drained(spare);
    REQUIRE(used.size() == 5);
    spare.unreserve(3, 50);
    for (auto& x : used) spare.give(std::move(x));
    CHECK(drained(spare).size() == 2);
    spare.give(std::vector<std::byte>(7));
    spare.unreserve(2, 100);
    spare.give(std::vector<std::byte>(7));
    CHECK(drained(spare).empty());
}
TEST_CASE("spare_bytes: as many go as were reserved, also where others came back in their place", "[execute]") {
    spare_bytes spare;
    spare.reserve(2, 100);
    spare.reserve(2, 6000);
    for (std::size_t n = drained(spare).size(); n != 0; --n) spare.give(std::vector<std::byte>(10));
    spare.unreserve(2, 6000); // too short for this, all of them
    CHECK(spare.room() == 2);
    CHECK(drained(spare).size() == 2);
}
