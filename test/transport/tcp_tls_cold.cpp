// SPDX-License-Identifier: BSL-1.0
// A take reads a link that no poll looks at. What TLS has decrypted behind it lies in no socket, and is found all the same.
#include "support/catch.hpp"
#include "transport/certificates.hpp"
#include "transport/tcp_ranks.hpp"
#include <bough/transport/tcp/tls.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

using namespace bough;
using namespace bough::detail;
using namespace test_tcp;

namespace {

// The first part of a long message is read into memory of its own. Then its receiver sleeps, so that its link is cold,
// and all the rest comes, with a short message behind it.
struct cold_pair {
    explicit cold_pair(const tcp_options& options, std::size_t bytes)
        : ends(ends_of<tcp_tls>(2, options)), sent(bytes, std::byte{0xaa}), into(bytes) {
        bool is_sent = ends[0].post_send(1, {}, sent, 1) == posted::complete;
        std::array<event, 4> events;
        bool has_come = false;
        for (int i = 0; i != 100; ++i)
            if (ends[1].poll(events) != 0) has_come = true, handle = events[0].id;
        REQUIRE(has_come);
        for (int i = 0; i != 3; ++i) {
            ends[1].wait(~0u, steady_now_ns() + 2'000'000);
            (void)ends[1].poll(events);
        }
        ends[1].wait(~0u, steady_now_ns() + 2'000'000);
        for (int i = 0; i != 1'000 && (!is_sent || ends[0].unsent()); ++i) is_sent |= ends[0].poll(events) != 0;
        const std::byte one{1};
        while (ends[0].post_send(1, {.operation = 2}, std::span(&one, 1), 2) != posted::complete)
            (void)ends[0].poll(events);
        while (ends[0].unsent()) (void)ends[0].poll(events);
        REQUIRE(is_sent);
    }

    std::vector<tcp_tls> ends;
    std::vector<std::byte> sent, into;
    std::uint64_t handle = 0;
};

} // namespace

TEST_CASE("tcp_tls: what lies behind a take of a cold link is found, though its socket is empty") {
    tcp_options options;
    options.tls = authority().issue();
    const bool by_descriptor = GENERATE(false, true);
    constexpr auto part = static_cast<std::size_t>(part_bytes);
    for (const std::size_t bytes : {part + 100, 2 * part + 16, 2 * part + 40'016}) {
        cold_pair c(options, bytes);
        tcp_tls& link = c.ends[1];
        bool is_taken = link.take(c.handle, c.into, 9) == posted::complete, has_come = false;
        const auto begin = clock_type::now();
        for (bool is_first = true; (!is_taken || !has_come) && ms_since(begin) < 2'000; is_first = false) {
            std::array<event, 4> events;
            const std::size_t found = is_first ? 0 : link.poll(events);
            for (const event& e : std::span(events).first(found))
                (e.what == event::kind::complete ? is_taken : has_come) = true;
            if (found != 0) continue;
            if (by_descriptor && link.arm()) break;
            if (!by_descriptor) link.wait(~0u, steady_now_ns() + 100'000'000);
            if (by_descriptor) link.disarm();
        }
        CAPTURE(by_descriptor, bytes);
        CHECK((is_taken && has_come));
        CHECK((c.into == c.sent));
    }
}
