// SPDX-License-Identifier: BSL-1.0
// Long puts: their pieces, and what becomes of them when a peer is lost.
#include "support/catch.hpp"
#include "transport/rdma/scripted_writer.hpp"
#include <bough/transport/rdma/region_puts.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

using namespace bough;
using bough_test::scripted_writer;

namespace {

struct putter : bough_test::lone_core {
    detail::fabric_questions<scripted_writer> questions{core};
    detail::fabric_long_puts<scripted_writer> puts{core, questions};
    std::vector<std::byte> bytes = std::vector<std::byte>(2500);

    explicit putter(rank_t ranks = 3) : lone_core(1000, ranks) {
        net.goes_out = [](const bough_test::network::write&) { return false; };
    }
    posted put(rank_t to, std::uint64_t id, std::span<const std::byte> second = {}) {
        return puts.put(to, core.writes.place_of(to, 100), bytes, second, id);
    }
    // The device has done with the n-th piece.
    void goes_on(std::size_t n, bool well = true) {
        core.writes.written(*net.written[n].op);
        puts.written(*net.written[n].op, well);
    }
};

} // namespace

TEST_CASE("region_puts: one piece after the other, and the event after the last") {
    putter one;
    CHECK(one.put(1, 7) == posted::pending);
    for (std::size_t piece = 0; piece != 3; ++piece) {
        REQUIRE(one.net.written.size() == piece + 1);
        CHECK(one.net.written[piece].at == 100 + 1000 * piece);
        CHECK(one.puts.are_waiting(1) == (piece != 2));
        CHECK(one.core.events.empty());
        one.goes_on(piece);
    }
    const event e = one.core.events.take();
    CHECK((e.id == 7 && e.code == errc::ok && e.peer == 1));
    CHECK((one.puts.empty() && one.questions.begun(1) == 3));
}

TEST_CASE("region_puts: one of two spans is complete at once, and ends without an event") {
    putter one;
    CHECK(one.put(1, 7, one.bytes) == posted::complete);
    for (std::size_t piece = 0; piece != 5; ++piece) one.goes_on(piece);
    CHECK((one.puts.empty() && one.core.events.empty()));
}

TEST_CASE("region_puts: peers that take nothing leave a long put to each other peer") {
    putter one{4};
    std::uint64_t id = 0;
    for (const rank_t to : {1u, 2u})
        while (one.put(to, ++id) == posted::pending) {
        }
    CHECK(one.put(3, ++id) == posted::pending);
    CHECK(one.put(3, ++id) == posted::would_block);
}

TEST_CASE("region_puts: a piece that the device refuses is tried again, not for a suspect") {
    putter one;
    one.net.refuses = [](rank_t) { return true; };
    CHECK(one.put(1, 7) == posted::pending);
    CHECK(one.core.writes.is_stalled());
    one.net.refuses = [](rank_t) { return false; };
    one.core.presence.suspect(1);
    one.puts.go_on();
    CHECK(one.net.written.empty());
    CHECK(one.put(2, 8) == posted::pending);
    CHECK(one.net.written.size() == 1);
    one.puts.go_on();
    CHECK(one.net.written.size() == 1); // it is under way
}

TEST_CASE("region_puts: the numbers of what has not left") {
    putter one;
    CHECK((one.put(1, 7) == posted::pending && one.put(1, 8) == posted::pending && one.put(2, 9) == posted::pending));
    CHECK(one.core.writes.accepted() == 3);
    CHECK((one.puts.first_kept_back(1, true, 9) == 1 && one.puts.first_kept_back(2, true, 9) == 3));
    one.goes_on(0);
    one.goes_on(3);                                   // the last piece of the first put is under way
    CHECK(one.puts.first_kept_back(1, true, 9) == 2); // a device that sends alone has that one sent
    CHECK(one.puts.first_kept_back(1, false, 9) == 1);
}

TEST_CASE("region_puts: what goes to a lost rank ends, but the device keeps what it is reading") {
    putter one;
    CHECK((one.put(1, 7) == posted::pending && one.put(2, 8) == posted::pending));
    CHECK(one.core.presence.lose(1));
    one.puts.lose(1);
    CHECK(one.core.events.take().code == errc::peer_dead);
    CHECK((one.core.events.empty() && one.puts.are_flying(1)));
    one.goes_on(0, false);
    CHECK((one.core.events.empty() && !one.puts.are_flying(1) && one.puts.are_flying(2)));
}

TEST_CASE("region_puts: no peer gets all of the supply") {
    putter one;
    std::size_t to_1 = 0, to_2 = 0;
    for (; one.put(1, 7) == posted::pending; ++to_1) {
    }
    for (; one.put(2, 8) == posted::pending; ++to_2) {
    }
    CHECK((to_1 == 32 && to_2 == 32));
}
