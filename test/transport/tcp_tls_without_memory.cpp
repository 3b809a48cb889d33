// SPDX-License-Identifier: BSL-1.0
// Ranks over TLS whose memory runs out in their polls, or while they send: the connection goes on.
#include "support/catch.hpp"
#include "transport/certificates.hpp"
#include "transport/poor_polls.hpp"
#include "transport/tcp_ranks.hpp"
#include <bough/transport/tcp/tls.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

using namespace bough;
using namespace test_tcp;

TEST_CASE("tcp_tls: polls without memory lose nothing") {
    tcp_options options;
    options.tls = authority().issue();
    bough_test::check_polls([&] { return ends_of<tcp_tls>(3, options); });
}

TEST_CASE("tcp_tls: a message that TLS has no memory for leaves later") {
    tcp_options options;
    options.tls = authority().issue();
    for (const bool for_good : {true, false})
        for (long few = 0; few != 8; ++few) {
            CAPTURE(for_good, few);
            auto ends = ends_of<tcp_tls>(2, options);
            const std::vector<std::byte> bytes(50'000, std::byte{7});
            std::vector<std::byte> into(bytes.size());
            std::array<event, 4> events;
            std::uint32_t sent = 0, came = 0, ended = 0, pending = 0;
            const auto post = [&] {
                const posted how =
                    ends[0].post_send(1, {.operation = sent}, std::span(bytes).first(sent * 2'500), sent);
                sent += how == posted::complete || how == posted::pending;
                pending += how == posted::pending;
            };
            const auto count_ends = [&](std::size_t found) {
                for (const event& e : std::span(events).first(found)) {
                    REQUIRE((e.what == event::kind::complete && e.code == errc::ok));
                    ++ended;
                }
            };
            const auto begin = clock_type::now();
            for (bool is_short = true; (sent != 20 || came != 20 || ended != pending) && ms_since(begin) < 30'000;
                 is_short = !is_short) {
                std::size_t found = 0;
                if (sent != 20 && is_short) bough_test::short_of_memory({few, for_good}, post);
                if (sent != 20 && !is_short) post();
                if (is_short)
                    bough_test::short_of_memory({few, for_good}, [&] { found = ends[0].poll(events); });
                else
                    found = ends[0].poll(events);
                count_ends(found);
                found = ends[1].poll(events);
                for (const event& e : std::span(events).first(found)) {
                    if (e.what == event::kind::complete) continue;
                    REQUIRE((e.what == event::kind::arrived && e.envelope.operation == came));
                    (void)ends[1].take(e.id, std::span(into).first(came++ * 2'500), 1);
                }
            }
            CHECK((sent == 20 && came == 20 && ended == pending));
        }
}
