// SPDX-License-Identifier: BSL-1.0
// What one message does: where it lies, when its block is free, how a long one comes; and what a peer that writes nonsense
// gets for it.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include "transport/pair_of_ends.hpp"
#include <bough/core/deadline.hpp>
#include <bough/remote/in_process.hpp>
#include <bough/remote/simulated.hpp>
#include <bough/transport/one_sided.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

using namespace bough;
using bough_test::pair_of_ends;
using bough_test::pattern;

TEST_CASE("one_sided: the payloads of a region's blocks take at most 4 MiB, unless they are chosen") {
    for (const std::uint32_t blocks : {1u, 16u, 64u})
        for (const rank_t ranks : {2u, 16u, 17u, 100u, 1024u, 2048u}) {
            const detail::one_sided_layout layout(ranks, {.blocks = blocks});
            CAPTURE(blocks, ranks, layout.block_bytes);
            CHECK(layout.block_bytes >= 64);
            if (ranks <= 16) {
                CHECK(layout.block_bytes == 16384);
            } else if (ranks <= 1024) {
                const std::uint64_t all = std::uint64_t{layout.block_bytes} * blocks * (ranks - 1);
                CHECK(all <= 4u << 20);
                CHECK((layout.block_bytes == 16384 || all > 15u << 18)); // and not much less
            } else {
                CHECK(layout.block_bytes == detail::one_sided_layout(1024, {.blocks = blocks}).block_bytes);
            }
        }
}

TEST_CASE("one_sided: what a flush of long ago has made sure of stays so") {
    detail::one_sided_lane<std::uint32_t, false> l;
    const std::uint64_t early = l.later_fence();
    for (const std::uint64_t many : {1ull << 31, 1ull << 32, 1ull << 40}) {
        l.fence_begun = l.fence_over = many + 5;
        CHECK((l.fenced(0) && l.fenced(early)));
        CHECK_FALSE(l.fenced(l.later_fence()));
        l.ask(early);
        CHECK_FALSE(l.fence_due);
    }
    l.ask(l.later_fence());
    CHECK(l.fence_due);
}

TEST_CASE("one_sided: a short message is one cache line") {
    pair_of_ends<in_process_regions> two({.blocks = 2, .block_bytes = 256});
    const auto bytes = pattern(24);
    CHECK(two.ends[0].post_send(1, {.segment = 5}, bytes, 1) == posted::complete);
    const auto e = two.next(1);
    REQUIRE(e);
    CHECK(reinterpret_cast<std::uintptr_t>(e->data) % 64 == 0); // payload, envelope and word: 24 + 32 + 8
    CHECK(e->bytes == 24);
    CHECK(e->envelope.segment == 5);
    CHECK(std::equal(bytes.begin(), bytes.end(), e->data));
    CHECK(two.ends[1].claim(e->id));
    // The second block, then none; room again after a release.
    CHECK(two.ends[0].post_send(1, {}, bytes, 2) == posted::complete);
    CHECK(two.ends[0].post_send(1, {}, bytes, 3) == posted::would_block);
    two.ends[1].release(e->id);
    CHECK(two.ends[0].post_send(1, {}, bytes, 3) == posted::complete);
}

TEMPLATE_TEST_CASE("one_sided: a long message lands where it is wanted", "", simulated_regions, scattered_regions) {
    for (std::uint64_t seed = 1; seed != 20; ++seed) {
        const std::uint64_t expose_bytes = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 1 : 3001;
        pair_of_ends<TestType> two({.blocks = 4, .block_bytes = 64, .piece_bytes = 128, .expose_bytes = expose_bytes},
                                   seed);
        const auto bytes = pattern(3000);
        for (const bool in_region : {true, false, true, false}) {
            CHECK(two.ends[0].post_send(1, {.segment = 1}, bytes, 7) == posted::pending);
            CHECK(two.ends[0].post_send(1, {.segment = 2}, std::span(bytes).first(9), 8) != posted::failed);
            const auto first = two.next(1);
            REQUIRE((first && first->envelope.segment == 1 && first->bytes == 3000));
            CHECK(first->data == nullptr);
            CHECK_FALSE(two.ends[1].claim(first->id));
            const auto second = two.next(1);
            REQUIRE((second && second->envelope.segment == 2));
            two.ends[1].release(second->id);
            std::vector<std::byte> own(in_region ? 0 : 3000);
            const auto into = in_region ? two.ends[1].allocate(3000) : std::span<std::byte>(own);
            REQUIRE(into.size() == 3000);
            CHECK(two.ends[1].take(first->id, into, 99) == posted::pending);
            CHECK(two.world.exposed(1) == (!in_region && expose_bytes == 1 ? 1u : 0u));
            const auto taken = two.next(1);
            CHECK(two.world.exposed(1) == 0);
            REQUIRE((taken && taken->what == event::kind::complete && taken->id == 99 && taken->code == errc::ok));
            CHECK(std::equal(bytes.begin(), bytes.end(), into.begin()));
            if (in_region) two.ends[1].deallocate(into);
            for (int ended = 0; ended < 1;) { // the short one may have been pending, too
                const auto sent = two.next(0);
                REQUIRE((sent && sent->what == event::kind::complete && sent->code == errc::ok));
                ended += sent->id == 7;
            }
            while (two.next(0)) {
            }
        }
        CHECK(two.world.violations() == 0);
        CHECK(two.world.strays() == 0);
    }
}

TEMPLATE_TEST_CASE("one_sided: a take that is given up is touched no more", "", simulated_regions, scattered_regions) {
    for (std::uint64_t seed = 1; seed != 60; ++seed) {
        const std::uint64_t expose_bytes = seed % 2;
        pair_of_ends<TestType> two({.blocks = 2, .block_bytes = 64, .piece_bytes = 64, .expose_bytes = expose_bytes},
                                   seed);
        const auto bytes = pattern(3000);
        for (int turn = 0; turn != 4; ++turn) {
            CHECK(two.ends[0].post_send(1, {}, bytes, 7) == posted::pending);
            const auto e = two.next(1);
            REQUIRE((e && e->bytes == 3000));
            std::vector<std::byte> own(3000);
            const auto lent = two.ends[1].allocate(3000);
            const auto into = turn % 2 == 0 ? lent : std::span<std::byte>(own);
            CHECK(two.ends[1].take(e->id, into, 99) == posted::pending);
            for (std::uint64_t k = 0; k != bough_test::mixed(seed * 4 + static_cast<std::uint64_t>(turn)) % 200; ++k)
                for (auto& end : two.ends) end.poll({});
            CHECK(two.ends[1].cancel(99) == errc::ok);
            const auto ended = two.next(1);
            REQUIRE((ended && ended->what == event::kind::complete && ended->id == 99));
            CHECK(two.world.exposed(1) == 0);
            CHECK((ended->code == errc::ok || ended->code == errc::cancelled));
            const bool whole = std::equal(bytes.begin(), bytes.end(), into.begin());
            CHECK((ended->code != errc::ok || whole));
            std::fill(into.begin(), into.end(), std::byte{0x77});
            const auto sent = two.next(0); // its sender has its bytes back
            REQUIRE((sent && sent->what == event::kind::complete && sent->id == 7));
            CHECK_FALSE(two.next(1));
            CHECK(std::count(into.begin(), into.end(), std::byte{0x77}) == 3000);
            two.ends[1].deallocate(lent);
        }
        CHECK(two.world.violations() == 0);
        CHECK(two.world.strays() == 0);
    }
}

namespace {

constexpr std::byte zeros[200]{}; // outlive all puts

// Rank 1 is a user of remote writes that keeps no rule: it writes what it likes into rank 0's region.
struct hostile {
    static constexpr one_sided_options options{.blocks = 4, .block_bytes = 64, .piece_bytes = 64};
    using layout_type = detail::one_sided_layout;
    simulated_regions world{2, {.region_bytes = one_sided_bytes(2, options) + 4096}};
    one_sided<simulated_regions::endpoint> victim{world.connect(0), options};
    simulated_regions::endpoint other = world.connect(1);
    layout_type layout{2, options};
    std::span<std::byte> region = world.region(0);
    std::uint64_t lane = layout.lane(1, 0);

    hostile() { word(layout_type::greeting_of(1), layout.greeting(credited_blocks::version << 8 | 4u << 1 | 1u)); }
    void word(std::uint64_t at, std::uint64_t value) { std::memcpy(region.data() + at, &value, 8); }
    // Message number n, from 1 on, whether its block is free or not.
    void message(std::uint32_t n, std::uint32_t length) {
        word(lane + layout.block_end((n - 1) % options.blocks) - 8, detail::make_word(n, length));
    }
    // Announces a long one.
    void message(std::uint32_t n, const detail::one_sided_announcement& about) {
        const std::uint64_t end =
            lane + layout.block_end((n - 1) % options.blocks) - sizeof(detail::one_sided_tail<true>);
        std::memcpy(region.data() + end - sizeof about, &about, sizeof about);
        message(n, 0xffff'ffffu);
    }
    // How the next event ends: protocol_error if the peer was found out.
    errc polled() {
        event e;
        for (int i = 0; i != 1000; ++i)
            if (victim.poll(std::span(&e, 1)) == 1 && e.what == event::kind::lost) return e.code;
        return errc::ok;
    }
};

} // namespace

TEST_CASE("one_sided: a peer that writes nonsense is lost, and does no harm") {
    hostile h;
    const std::uint64_t first = h.lane + h.layout.block_end(0) - 8;
    SECTION("a proper word is no nonsense") {
        h.word(first, detail::make_word(1, 24));
        CHECK(h.polled() == errc::ok);
    }
    SECTION("a length beyond the block") {
        h.word(first, detail::make_word(1, 65));
        CHECK(h.polled() == errc::protocol_error);
    }
    SECTION("a block that was not given back") {
        std::uint32_t arrived = 0;
        event e{};
        for (std::uint32_t n = 1; n != 100 && e.what != event::kind::lost; ++n) {
            h.message(n, 8);
            for (int i = 0; i != 20 && h.victim.poll(std::span(&e, 1)) == 1; ++i)
                arrived += e.what == event::kind::arrived;
        }
        CHECK(arrived == 4);
        CHECK((e.what == event::kind::lost && e.code == errc::protocol_error));
    }
    SECTION("a block whose long message is being taken") {
        h.message(1, {.bytes = 1000, .ticket = 7});
        event e;
        REQUIRE(h.victim.poll(std::span(&e, 1)) == 1);
        std::vector<std::byte> into(1000);
        REQUIRE(h.victim.take(e.id, into, 42) == posted::pending);
        for (std::uint32_t n = 2; n != 6; ++n) h.message(n, 8);
        CHECK(h.polled() == errc::protocol_error);
        REQUIRE(h.victim.poll(std::span(&e, 1)) == 1);
        CHECK((e.what == event::kind::complete && e.id == 42 && e.code == errc::peer_dead));
    }
    SECTION("another greeting") {
        h.word(hostile::layout_type::greeting_of(1), 12345);
        CHECK(h.polled() == errc::protocol_error);
    }
    SECTION("a credit for what was never sent") {
        const std::span<const std::byte> x(zeros, 8);
        for (int i = 0; i != 4; ++i) CHECK(h.victim.post_send(1, {}, x, 1) != posted::would_block);
        h.word(h.lane, detail::make_word(0, 5));
        CHECK(h.victim.post_send(1, {}, x, 1) == posted::would_block);
        CHECK(h.polled() == errc::protocol_error);
    }
    SECTION("a want without a digest, of no kind, or where nothing may be put") {
        const std::span<const std::byte> x(zeros, 100);
        CHECK(h.victim.post_send(1, {}, x, 1) == posted::pending);
        const std::uint64_t at = h.lane + detail::one_sided_layout::want_at(0);
        const auto want = [&](exposure to, std::uint32_t kind, bool with_digest) {
            const std::uint64_t said = detail::make_word(1, kind); // tickets begin with 1
            h.word(at, to.place);
            h.word(at + 8, to.key);
            h.word(at + 16, with_digest ? detail::digest_of(to, said) : 0);
            h.word(at + 24, said);
        };
        SECTION("digest") { want({}, detail::want_kind::pieces, false); }
        SECTION("kind") { want({}, 77, true); }
        SECTION("lanes") { want({64, 0}, detail::want_kind::direct, true); }
        SECTION("beyond") { want({h.region.size() - 99, 0}, detail::want_kind::direct, true); }
        SECTION("of no key") { want({64, 77}, detail::want_kind::direct, true); }
        SECTION("beyond what is exposed") {
            std::vector<std::byte> less(99);
            want(h.other.expose(less), detail::want_kind::direct, true);
        }
        CHECK(h.polled() == errc::protocol_error);
    }
    SECTION("a piece of nothing, or of more than was announced") {
        h.message(1, {.bytes = 100, .ticket = 2});
        event e;
        for (int i = 0; i != 100 && h.victim.poll(std::span(&e, 1)) == 0; ++i) {
        }
        REQUIRE(e.bytes == 100);
        std::vector<std::byte> into(100);
        CHECK(h.victim.take(e.id, into, 1) == posted::pending);
        const std::uint64_t piece = h.lane + h.layout.piece_end(0) - 8;
        envelope tag{.operation = 2, .segment = 0};
        std::uint32_t length = 64;
        SECTION("of another ticket") { tag.operation = 3; }
        SECTION("of a block that is not there") { tag.segment = 99; }
        SECTION("too long") { length = 65; }
        SECTION("of no bytes") { length = 0; }
        std::memcpy(h.region.data() + piece - sizeof tag, &tag, sizeof tag);
        h.word(piece, detail::make_word(1, length));
        CHECK(h.polled() == (length == 64 && tag.operation == 2 && tag.segment == 0 ? errc::ok : errc::protocol_error));
    }
}

TEST_CASE("one_sided: random bytes in a lane") {
    for (std::uint64_t seed = bough_test::seed(); seed != bough_test::seed() + (bough_test::all() ? 20'000u : 500u);
         ++seed) {
        hostile h;
        std::uint64_t x = seed;
        constexpr std::size_t guard = 64; // on either side of what is taken
        std::vector<std::vector<std::byte>> taken;
        for (int i = 0; i != 200; ++i) {
            x = bough_test::mixed(x);
            const std::uint64_t at = h.lane + (x >> 8) % (h.layout.lane_bytes() / 8) * 8;
            const std::uint64_t small = bough_test::mixed(x) % 4 == 0 ? 0xffff'ffff : bough_test::mixed(x) % 120;
            h.word(at, detail::make_word(static_cast<std::uint32_t>(x % 6), static_cast<std::uint32_t>(small)));
            if (x % 16 == 0) h.victim.post_send(1, {}, std::span(zeros).first(bough_test::one_of(200, x / 16)), x);
            event e;
            if (h.victim.poll(std::span(&e, 1)) == 0) continue;
            if (e.what == event::kind::lost) break;
            if (e.what != event::kind::arrived) continue;
            if (e.data == nullptr && e.bytes != 0 && e.bytes < 100'000) {
                auto& memory = taken.emplace_back(static_cast<std::size_t>(e.bytes) + 2 * guard);
                const auto into = std::span(memory).subspan(guard, static_cast<std::size_t>(e.bytes));
                if (h.victim.take(e.id, into, 1000u + static_cast<unsigned>(i)) != posted::failed) continue;
            }
            h.victim.release(e.id);
        }
        // What was read elsewhere the sanitizers see. Nothing is written but where it may be: neither in this region behind the
        // lanes, nor in the peer's beside my greeting and my lane, nor beside what was taken.
        const auto zero = [](std::span<const std::byte> bytes) {
            return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
        };
        const std::span<const std::byte> theirs = h.world.region(1);
        const auto mine = static_cast<std::size_t>(h.layout.lane(0, 1)),
                   length = static_cast<std::size_t>(h.layout.lane_bytes());
        CAPTURE(seed);
        CHECK(zero(h.region.subspan(static_cast<std::size_t>(h.layout.bytes()))));
        CHECK(zero(theirs.subspan(sizeof(detail::one_sided_said), mine - sizeof(detail::one_sided_said))));
        CHECK(zero(theirs.subspan(mine + length)));
        for (const auto& memory : taken)
            CHECK((zero(std::span(memory).first(guard)) && zero(std::span(memory).last(guard))));
    }
}

TEST_CASE("one_sided: options that differ are found out by the first greeting") {
    const one_sided_options mine{.blocks = 4, .block_bytes = 64}, theirs{.blocks = 8, .block_bytes = 64};
    in_process_regions world(2, {.region_bytes = one_sided_bytes(2, theirs)});
    one_sided a(world.connect(0), mine), b(world.connect(1), theirs);
    const std::array<std::byte, 8> x{};
    CHECK(a.post_send(1, {}, x, 1) == posted::complete);
    event e;
    REQUIRE(b.poll(std::span(&e, 1)) == 1);
    CHECK((e.what == event::kind::lost && e.code == errc::protocol_error && e.peer == 0));
    CHECK(b.post_send(0, {}, x, 1) == posted::failed);
    // The other end finds the same, though no message of b has come to it.
    REQUIRE(a.poll(std::span(&e, 1)) == 1);
    CHECK((e.what == event::kind::lost && e.code == errc::protocol_error && e.peer == 1));
    CHECK(a.post_send(1, {}, x, 1) == posted::failed);
}

namespace {

// Counts what whoever is about to sleep is answered.
struct light_sleeper : in_process_regions::endpoint {
    explicit light_sleeper(in_process_regions::endpoint&& base) : in_process_regions::endpoint(std::move(base)) {}
    std::uint32_t asked = 0, news = 0;
    template <class Landed>
    void wait(std::uint32_t, std::uint64_t, Landed&& landed) {
        ++asked;
        news += landed() ? 1 : 0;
    }
};

} // namespace

TEST_CASE("one_sided: who waits for a long message to be taken sleeps, whatever credits have come") {
    const one_sided_options options{.blocks = 16, .block_bytes = 64};
    in_process_regions world(2, {.region_bytes = one_sided_bytes(2, options)});
    one_sided a(light_sleeper(world.connect(0)), options), b(light_sleeper(world.connect(1)), options);
    const std::vector<std::byte> bytes(4096);
    for (int i = 0; i != 8; ++i) REQUIRE(a.post_send(1, {}, std::span(bytes).first(8), 0) == posted::complete);
    REQUIRE(a.post_send(1, {}, bytes, 5) == posted::pending);
    std::array<event, 16> events;
    REQUIRE(b.poll(events) == 9);
    for (std::size_t i = 0; i != 8; ++i) b.release(events[i].id); // half of the blocks: a credit is written
    for (std::uint32_t idle = 1; idle <= 100; ++idle) {
        CHECK(a.poll(events) == 0);
        a.wait(idle, forever);
    }
    CHECK(a.writes().asked == 100);
    CHECK(a.writes().news <= 1);
}

TEST_CASE("one_sided: a credit is news for whose post was refused, once") {
    const one_sided_options options{.blocks = 4, .block_bytes = 64};
    in_process_regions world(2, {.region_bytes = one_sided_bytes(2, options)});
    one_sided a(light_sleeper(world.connect(0)), options), b(light_sleeper(world.connect(1)), options);
    const std::array<std::byte, 8> bytes{};
    for (int i = 0; i != 4; ++i) REQUIRE(a.post_send(1, {}, bytes, 0) == posted::complete);
    std::array<event, 4> events;
    REQUIRE(b.poll(events) == 4);
    CHECK(a.post_send(1, {}, bytes, 0) == posted::would_block);
    a.wait(1, forever);
    CHECK(a.writes().news == 0);
    b.release(events[0].id);
    a.wait(2, forever);
    CHECK(a.writes().news == 1);
    a.wait(3, forever);
    CHECK(a.writes().news == 1);
    CHECK(a.post_send(1, {}, bytes, 0) == posted::complete);
    CHECK(a.post_send(1, {}, bytes, 0) == posted::would_block);
}

TEST_CASE("one_sided: notified_blocks takes the messages of one call only, a cycle at a time") {
    const one_sided_options options{.blocks = 4, .block_bytes = 64};
    in_process_regions world(2, {.region_bytes = one_sided_bytes(2, options)});
    one_sided<in_process_regions::endpoint, notified_blocks> a(world.connect(0), options), b(world.connect(1), options);
    const auto send = [&](std::uint16_t plan, rank_t at) {
        envelope tag;
        if (plan != 0) sign(tag, {.plan = plan, .root = at});
        return a.post_send(1, tag, std::span(zeros).first(8), 1);
    };
    CHECK(send(5, 1) == posted::complete);
    CHECK(send(6, 1) == posted::failed);
    CHECK(send(5, 0) == posted::failed);
    CHECK(send(0, 0) == posted::complete); // tells of an end
    for (int i = 0; i != 2; ++i) CHECK(send(5, 1) == posted::complete);
    std::array<event, 4> e;
    REQUIRE(b.poll(e) == 4);
    for (int i = 0; i != 3; ++i) b.release(e[static_cast<std::size_t>(i)].id);
    CHECK(send(5, 1) == posted::would_block); // the cycle is not over
    b.release(e[3].id);
    for (int i = 0; i != 4; ++i) CHECK(send(5, 1) == posted::complete);
}

TEMPLATE_TEST_CASE("one_sided: a crash tears what is under way, and no torn message is seen", "", simulated_regions,
                   scattered_regions) {
    for (std::uint64_t seed = 1; seed != 300; ++seed) {
        pair_of_ends<TestType> two({.blocks = 8, .block_bytes = 512}, seed);
        const auto bytes = pattern(512, static_cast<unsigned>(seed));
        for (std::uint32_t i = 0; i != 8; ++i) two.ends[0].post_send(1, {.segment = i}, bytes, i);
        for (std::uint64_t i = 0; i != seed % 40; ++i) two.ends[1].poll({});
        two.world.crash(0);
        std::uint32_t came = 0, lost = 0;
        event e;
        for (int i = 0; i != 2'000; ++i) {
            if (two.ends[1].poll(std::span(&e, 1)) == 0) continue;
            CHECK(lost == 0);
            lost += e.what == event::kind::lost;
            if (e.what != event::kind::arrived) continue;
            CHECK(e.envelope.segment == came++);
            CHECK(std::equal(bytes.begin(), bytes.end(), e.data));
            two.ends[1].release(e.id);
        }
        CHECK(lost == 1);
    }
}
