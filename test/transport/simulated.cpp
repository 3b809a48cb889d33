// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/transport/simulated.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace {

using bough::envelope;
using bough::errc;
using bough::event;
using bough::posted;
using bough::rank_t;
using kind = bough::simulated_fault::kind;

template <class W>
std::optional<event> next(W& world, typename W::endpoint& me) {
    std::array<event, 1> found;
    for (int tries = 0; tries != 20'000; ++tries) { // others may have something waiting for ever
        if (me.poll(found) == 1) return found[0];
        if (!world.advance()) break;
    }
    return {};
}
std::array<std::byte, 1000> long_bytes{};
constexpr std::array<std::byte, 8> short_bytes{};

} // namespace

TEMPLATE_TEST_CASE("simulated: a message takes its time, in order", "", bough::simulated, bough::simulated_taking) {
    TestType world{2, {.seed = 3}};
    auto a = world.connect(0), b = world.connect(1);
    for (std::uint32_t i = 0; i != 8; ++i) CHECK(a.post_send(1, {.segment = i}, short_bytes, i) == posted::complete);
    CHECK(a.post_send(1, {}, short_bytes, 9) == posted::would_block);
    std::array<event, 1> found;
    CHECK(b.poll(found) == 0); // nothing has had time to arrive
    for (std::uint32_t i = 0; i != 8; ++i) {
        const auto e = next(world, b);
        REQUIRE(e);
        CHECK(e->envelope.segment == i);
        CHECK((e->data != nullptr) == bough::InPlaceTransport<typename TestType::endpoint>);
        b.release(e->id);
    }
    CHECK(world.now_ns() >= 1'000);
    CHECK(a.post_send(1, {}, short_bytes, 9) == posted::complete);
    CHECK(a.post_send(0, {}, short_bytes, 9) == posted::failed);
    CHECK(a.post_send(2, {}, short_bytes, 9) == posted::failed);
    CHECK(world.violations() == 0);
}

TEST_CASE("simulated: a long payload stays with its sender until it is read") {
    bough::simulated_taking world{2, {.seed = 5, .take_late = 1000}};
    auto a = world.connect(0), b = world.connect(1);
    CHECK(a.post_send(1, {}, long_bytes, 7) == posted::pending);
    const auto e = next(world, b);
    REQUIRE(e);
    std::array<std::byte, 1000> into{};
    CHECK(b.take(e->id, std::span(into).first(999), 1) == posted::failed); // T7
    CHECK(b.take(e->id, into, 1) == posted::pending);
    CHECK(into[0] == std::byte{0xee}); // not there yet
    const auto taken = next(world, b);
    REQUIRE(taken);
    CHECK(taken->id == 1);
    CHECK(into == long_bytes);
    const auto sent = next(world, a);
    REQUIRE(sent);
    CHECK(sent->id == 7);
    CHECK(sent->code == errc::ok);
    CHECK(world.pending(0) + world.pending(1) == 0);
    CHECK(world.violations() == 0);
}

TEST_CASE("simulated: a cancelled send is not read, and says so once") {
    bough::simulated world{2};
    auto a = world.connect(0), b = world.connect(1);
    CHECK(a.post_send(1, {}, long_bytes, 7) == posted::pending);
    CHECK(a.cancel(7) == errc::ok);
    CHECK(next(world, a)->code == errc::cancelled);
    CHECK_FALSE(next(world, a));
    CHECK(a.cancel(7) == errc::invalid_argument);
    const auto e = next(world, b);
    REQUIRE(e);
    CHECK_FALSE(b.claim(e->id));
    b.release(e->id);
    CHECK(world.violations() == 0);
}

TEST_CASE("simulated: a crash is reported after what arrives, and ends posts to it") {
    for (std::uint64_t seed = 0; seed != 50; ++seed) {
        bough::simulated world{3, {.seed = seed}};
        auto a = world.connect(0), b = world.connect(1);
        for (std::uint32_t i = 0; i != 5; ++i) (void)b.post_send(0, {.segment = i}, short_bytes, i);
        CHECK(a.post_send(1, {}, long_bytes, 7) == posted::pending);
        world.happen({.what = kind::crash, .rank = 1});
        CHECK(b.post_send(0, {}, short_bytes, 9) == posted::failed);
        std::uint32_t arrived = 0, lost = 0, ended = 0;
        while (const auto e = next(world, a)) {
            if (e->what == event::kind::arrived) {
                CHECK(e->envelope.segment == arrived++); // some of the first
                CHECK(lost == 0);
                a.release(e->id);
            } else if (e->what == event::kind::lost) {
                ++lost;
            } else {
                CHECK(e->code == errc::peer_dead);
                ++ended;
            }
        }
        CHECK(lost == 1);
        CHECK(ended == 1);
        CHECK(a.post_send(1, {}, short_bytes, 9) == posted::failed);
        CHECK(world.violations() == 0);
    }
}

TEST_CASE("simulated: faults") {
    bough::simulated world{3, {.latency_max_ns = 1'000}};
    auto a = world.connect(0), b = world.connect(1), c = world.connect(2);
    SECTION("a stopped rank is not reported") {
        world.happen({.what = kind::stop, .rank = 1});
        CHECK_FALSE(world.is_alive(1));
        CHECK(a.post_send(1, {}, short_bytes, 1) == posted::complete);
        CHECK_FALSE(next(world, a));
    }
    SECTION("behind a cut, messages wait") {
        world.happen({.what = kind::cut, .rank = 0, .peer = 1, .value = 1'000'000});
        (void)a.post_send(1, {}, short_bytes, 1);
        (void)c.post_send(1, {}, short_bytes, 1);
        CHECK(next(world, b)->peer == 2);
        CHECK(next(world, b)->peer == 0);
        CHECK(world.now_ns() > 1'000'000);
    }
    SECTION("a severed link is lost at both ends, and only there") {
        world.happen({.what = kind::sever, .rank = 0, .peer = 1});
        CHECK(next(world, a)->peer == 1);
        CHECK(next(world, b)->peer == 0);
        CHECK_FALSE(next(world, c));
        CHECK(c.post_send(0, {}, short_bytes, 1) == posted::complete);
    }
    SECTION("an envelope loses a bit") {
        world.inject({.what = kind::corrupt, .at = 0});
        (void)a.post_send(1, {}, short_bytes, 1);
        CHECK_FALSE(next(world, b)->envelope == envelope{});
        CHECK(world.corrupted() == 1);
    }
    SECTION("who leaves is reported after what it sent") {
        (void)a.post_send(1, {}, short_bytes, 1);
        { auto gone = std::move(a); }
        const auto first = next(world, b);
        CHECK(first->what == event::kind::arrived);
        CHECK(next(world, b)->what == event::kind::lost);
    }
}

TEST_CASE("simulated: the world sees who breaks the rules") {
    bough::simulated world{2};
    auto a = world.connect(0), b = world.connect(1);
    SECTION("changed bytes of a pending send") {
        std::array<std::byte, 1000> mine{};
        (void)a.post_send(1, {}, mine, 1);
        mine[500] = std::byte{1};
        const auto e = next(world, b);
        b.release(e->id);
    }
    SECTION("released twice") {
        (void)a.post_send(1, {}, short_bytes, 1);
        const auto e = next(world, b);
        b.release(e->id);
        b.release(e->id);
    }
    SECTION("an id that is pending already") {
        (void)a.post_send(1, {}, long_bytes, 1);
        (void)a.post_send(1, {}, long_bytes, 1);
    }
    CHECK(world.violations() == 1);
    CHECK(world.first_violation() != std::string());
}
