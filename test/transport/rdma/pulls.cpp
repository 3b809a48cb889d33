// SPDX-License-Identifier: BSL-1.0
// The life of a long payload at its receiver, over a device that does what the test says.
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include "transport/rdma/scripted_messenger.hpp"
#include <bough/transport/rdma/pulls.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

using namespace bough;
using bough_test::scripted_messenger;
using detail::fabric_arrival, detail::fabric_buffer, detail::fabric_frame, detail::fabric_place, detail::fabric_result;

namespace {

struct receiver : bough_test::lone_rank {
    detail::fabric_pulls<scripted_messenger> pulls;
    std::vector<std::byte> into = std::vector<std::byte>(2500);
    std::uint32_t heard = 0;

    explicit receiver(bool writes = true) : lone_rank(writes), pulls(core) {
        REQUIRE((core.in.prepare() && core.out.prepare()));
    }

    // Rank 1 announces a payload.
    fabric_buffer& announced() {
        const detail::fabric_announcement about{into.size(), heard, 0};
        hear(1, fabric_frame::announcement, heard++, 0, 9, std::as_bytes(std::span(&about, 1)));
        core.out.expect_answer(); // as a poller does
        return core.in.next();
    }
    // The same, and it is taken. What this rank answers.
    fabric_place take(std::uint64_t id) {
        fabric_buffer& b = announced();
        REQUIRE(pulls.take(b, fabric_arrival(b), into, id) == posted::pending);
        REQUIRE(device.sent.back().head.kind == fabric_frame::go);
        return device.sent.back().place;
    }
    errc told(std::uint64_t id) {
        REQUIRE_FALSE(core.events.empty());
        const event e = core.events.take();
        CHECK((e.what == event::kind::complete && e.id == id && e.peer == 1));
        return e.code;
    }
};

} // namespace

TEST_CASE("pulls: a payload has come when all its pieces were written") {
    receiver one;
    const fabric_place first = one.take(7), second = one.take(8);
    CHECK((first.address == 5000 && first.key == 7 && first.number == 0 && second.number == 1));
    CHECK(first.ticket != second.ticket);
    for (int piece = 0; piece != 3; ++piece) {
        CHECK(one.core.events.empty());
        CHECK(one.pulls.written(second.ticket));
    }
    CHECK(one.told(8) == errc::ok);
    CHECK_FALSE(one.pulls.written(second.ticket)); // nobody waits for that
    CHECK_FALSE(one.pulls.empty());
}

TEST_CASE("pulls: a take for which there is no memory has not happened; its word needs none") {
    for (const bool writes : {true, false})
        for (const bool is_first : {true, false}) {
            receiver one(writes);
            if (!is_first) {
                (void)one.take(7);
                one.pulls.lose(1);
                if (!writes) one.pulls.failed(*one.device.asked.back().op);
                (void)one.told(7);
            }
            REQUIRE(one.pulls.empty());
            while (one.core.out.send(1, fabric_frame::message, {}, {}) == fabric_result::ok) continue;
            fabric_buffer& b = one.announced();
            const std::size_t asked = one.device.asked.size(), said = one.device.sent.size();
            one.device.asked.reserve(100);
            const std::uint32_t used = one.core.credits.used(1);
            posted how = posted::failed;
            bool is_told = false;
            bough_test::until_failure = 0;
            bough_test::fail_for_good = true;
            try {
                how = one.pulls.take(b, fabric_arrival(b), one.into, 8);
            } catch (const std::bad_alloc&) {
                is_told = true;
            }
            bough_test::until_failure = -1;
            bough_test::fail_for_good = false;
            CAPTURE(writes, is_first);
            CHECK(is_told == is_first);
            if (is_told) {
                CHECK(one.device.asked.size() == asked);
                CHECK(one.core.credits.used(1) == used);
                how = one.pulls.take(b, fabric_arrival(b), one.into, 8);
            } else {
                CHECK(one.device.sent.size() == said);
                one.core.out.flush();
            }
            CHECK(how == posted::pending);
            REQUIRE(one.device.sent.size() == said + 1);
            CHECK(one.device.sent.back().head.kind == fabric_frame::go);
        }
}

TEST_CASE("pulls: where pieces travel as tagged messages, one is received after the other") {
    receiver one(false);
    const fabric_place place = one.take(7);
    std::uint64_t moved = 0;
    for (const std::size_t bytes : {1000u, 1000u, 500u}) {
        const auto piece = one.device.asked.back();
        CHECK((piece.bytes == bytes && piece.at == (moved << 32 ^ place.ticket)));
        moved += bytes;
        one.pulls.received(*piece.op, bytes);
    }
    CHECK(one.device.asked.size() == 3);
    CHECK(one.told(7) == errc::ok);
    CHECK(one.pulls.empty());
}

TEST_CASE("pulls: what the sender has taken back ends") {
    receiver one;
    const fabric_place place = one.take(7);
    one.pulls.refused(2, place.ticket); // another rank cannot say so
    CHECK(one.core.events.empty());
    one.pulls.refused(1, place.ticket);
    CHECK(one.told(7) == errc::peer_aborted);
    CHECK_FALSE(one.pulls.written(place.ticket));
}

TEST_CASE("pulls: memory that the device may still write is asked back before the end is told") {
    receiver one(false);
    (void)one.take(7);
    CHECK(one.core.presence.lose(1));
    one.pulls.lose(1);
    CHECK(one.core.events.empty());
    REQUIRE(one.device.withdrawn.size() == 1);
    one.pulls.failed(*one.device.withdrawn[0]);
    CHECK(one.told(7) == errc::peer_dead);
    CHECK(one.pulls.empty());
}

TEST_CASE("pulls: what is given up is late after a while, and over when the device is closed") {
    receiver one;
    (void)one.take(7);
    CHECK_FALSE(one.pulls.cancel(8));
    CHECK_FALSE(one.pulls.are_late(detail::steady_now_ns() + 100, 0));
    CHECK(one.pulls.cancel(7));
    CHECK(one.core.events.empty()); // the sender may be writing
    CHECK_FALSE(one.pulls.are_late(detail::steady_now_ns(), 10'000'000'000));
    CHECK(one.pulls.are_late(detail::steady_now_ns() + 100, 0));
    one.pulls.end_cancelled();
    CHECK(one.told(7) == errc::cancelled);
    CHECK_FALSE(one.pulls.cancel(7));
    one.core.out.close();
    one.pulls.lose(1);
    CHECK(one.core.events.empty()); // it was told once
    CHECK(one.pulls.empty());
}
