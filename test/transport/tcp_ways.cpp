// SPDX-License-Identifier: BSL-1.0
// Over tcp a short message comes whole; of a long one the header alone, until it is taken.
#include "support/catch.hpp"
#include "transport/tcp_ranks.hpp"
#include <bough/concepts/explain_transport.hpp>
#include <bough/transport/tcp.hpp>

#include <cstddef>
#include <span>
#include <vector>

using namespace bough;

static_assert(SaysWays<tcp> && explain_optional_members<tcp>());

TEST_CASE("way_of: tcp says which way each message goes") {
    for (const bool near : {true, false}) {
        tcp_options options;
        options.near_sockets = near;
        auto ends = test_tcp::ends_of(2, options);
        REQUIRE(ends.size() == 2);
        for (const std::size_t bytes : {1u, 88u, 16'383u, 16'384u, 16'385u, 100'000u}) {
            const std::vector<std::byte> sent(bytes, std::byte{7});
            std::vector<std::byte> into(bytes);
            REQUIRE(ends[0].post_send(1, {}, sent, 1) != posted::failed);
            event e, ignored;
            for (int i = 0; i != 1'000'000 && ends[1].poll(std::span(&e, 1)) == 0; ++i)
                ends[0].poll(std::span(&ignored, 1));
            CAPTURE(near, bytes);
            REQUIRE((e.what == event::kind::arrived && e.bytes == bytes));
            CHECK((e.data != nullptr ? protocol::copied : protocol::staged) == ends[1].way_of(0, bytes, false));
            if (ends[1].take(e.id, into, 2) == posted::pending)
                for (e.id = 0; e.id != 2;) ends[0].poll(std::span(&ignored, 1)), ends[1].poll(std::span(&e, 1));
            CHECK(into == sent);
        }
    }
}
