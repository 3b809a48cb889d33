// SPDX-License-Identifier: BSL-1.0
// Operations in flight of which the newer ones must not stop the older ones, however few slots there are.
#include "support/catch.hpp"
#include "support/two_late.hpp"
#include <bough/transport/in_process.hpp>

#include <utility>

using namespace bough;

TEST_CASE("start: early messages leave their slots to an older operation") {
    for (const std::uint32_t slots : {1u, 2u, 4u, 8u})
        for (const std::uint32_t ahead : {1u, slots, slots + 3}) {
            CAPTURE(slots, ahead);
            std::vector<status> ends(3);
            in_process{3, {.slots = slots}}.run([&](auto t) {
                status& mine = ends[t.rank()];
                mine = bough_test::early_messages_in_the_way(std::move(t), static_cast<int>(ahead), 8);
            });
            for (const status& s : ends) CHECK(s.code == errc::ok);
        }
}

TEST_CASE("start: messages that newer operations hold leave their slots to an older one") {
    for (const std::uint32_t slots : {1u, 2u, 4u, 8u})
        for (const std::uint32_t ahead : {1u, slots, slots + 3}) {
            CAPTURE(slots, ahead);
            std::vector<status> ends(4);
            in_process{4, {.slots = slots}}.run([&](auto t) {
                status& mine = ends[t.rank()];
                mine = bough_test::held_messages_in_the_way(std::move(t), static_cast<int>(ahead), 8);
            });
            for (const status& s : ends) CHECK(s.code == errc::ok);
        }
}
