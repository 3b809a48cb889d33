// SPDX-License-Identifier: BSL-1.0
// Memory that is exposed to long messages: for longer, at the call; and that nobody waits for ever for a peer that may write
// there, nor gets it back while he may.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include "transport/pair_of_ends.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

using namespace bough;
using bough_test::pair_of_ends;
using bough_test::pattern;

TEMPLATE_TEST_CASE("one_sided: what is exposed for longer is landed in, and nothing is exposed for a call", "",
                   simulated_regions, scattered_regions) {
    pair_of_ends<TestType> two({.blocks = 4, .block_bytes = 64});
    const auto bytes = pattern(3000);
    std::vector<std::byte> own(5000);
    REQUIRE(two.ends[1].expose(own));
    CHECK(two.world.exposed(1) == 1);
    CHECK_FALSE(two.ends[1].expose({}));
    for (const std::size_t from : {0u, 1u, 1999u, 2000u}) {
        std::fill(own.begin(), own.end(), std::byte{0x77});
        CHECK(two.ends[0].post_send(1, {}, bytes, 7) == posted::pending);
        const auto arrived = two.next(1);
        REQUIRE((arrived && arrived->bytes == 3000));
        const std::span<std::byte> into = std::span(own).subspan(from, 3000);
        CHECK(two.ends[1].take(arrived->id, into, 99) == posted::pending);
        CHECK(two.world.exposed(1) == 1);
        const auto taken = two.next(1);
        REQUIRE((taken && taken->id == 99 && taken->code == errc::ok));
        CHECK(std::equal(bytes.begin(), bytes.end(), into.begin()));
        CHECK(std::count(own.begin(), own.end(), std::byte{0x77}) >= 2000); // beside it nothing changes
        CHECK(std::all_of(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(from),
                          [](std::byte b) { return b == std::byte{0x77}; }));
        REQUIRE(two.next(0));
    }
    two.ends[1].conceal(own);
    CHECK(two.world.exposed(1) == 0);
}

TEMPLATE_TEST_CASE("one_sided: a take ends, and its memory is concealed, when its sender dies", "", simulated_regions,
                   scattered_regions) {
    std::size_t torn = 0;
    for (std::uint64_t seed = 1; seed != 60; ++seed) {
        pair_of_ends<TestType> two({.blocks = 4, .block_bytes = 64}, seed);
        const auto bytes = pattern(3000);
        CHECK(two.ends[0].post_send(1, {}, bytes, 7) == posted::pending);
        const auto arrived = two.next(1);
        REQUIRE((arrived && arrived->bytes == 3000));
        std::vector<std::byte> own(3000);
        CHECK(two.ends[1].take(arrived->id, own, 99) == posted::pending);
        CHECK(two.world.exposed(1) == 1);
        for (std::uint64_t k = 0; k != bough_test::mixed(seed) % 300; ++k)
            for (auto& end : two.ends) end.poll({});
        two.world.crash(0);
        bool lost = false, ended = false;
        event e;
        for (int i = 0; i != 20'000 && !(lost && ended); ++i) {
            if (two.ends[1].poll(std::span(&e, 1)) == 0) continue;
            lost |= e.what == event::kind::lost;
            if (e.what != event::kind::complete) continue;
            ended = true;
            CHECK(two.world.exposed(1) == 0);
            CHECK((e.code == errc::ok || e.code == errc::peer_dead));
            CHECK((e.code != errc::ok || own == bytes));
            torn += e.code != errc::ok && own != std::vector<std::byte>(3000);
            std::fill(own.begin(), own.end(), std::byte{0x77});
        }
        CHECK((lost && ended));
        for (int i = 0; i != 500; ++i) two.ends[1].poll({});
        CHECK(std::count(own.begin(), own.end(), std::byte{0x77}) == 3000);
        CHECK(two.world.strays() == 0);
    }
    CHECK(torn > 0); // some died amid it
}

TEMPLATE_TEST_CASE("one_sided: a receiver that goes is no peer that writes nonsense, and its last words are heard", "",
                   simulated_regions, scattered_regions) {
    for (std::uint64_t seed = 1; seed != 200; ++seed) {
        const one_sided_options options{.blocks = 4, .block_bytes = 64};
        const auto bytes = pattern(3000), word = pattern(8);
        std::vector<std::byte> into(3000);
        TestType world(2, {.seed = seed,
                           .region_bytes = one_sided_bytes(2, options),
                           .latency_min_ns = 1000,
                           .latency_max_ns = 5000,
                           .late = 1000});
        using link = one_sided<typename TestType::endpoint>;
        link sender(world.connect(0), options);
        std::optional<link> receiver(std::in_place, world.connect(1), options);
        event e;
        bool sent = false;
        for (int i = 0; i != 5000 && world.exposed(1) == 0; ++i) {
            if (!sent) sent = sender.post_send(1, {}, bytes, 7) == posted::pending;
            if (receiver->poll(std::span(&e, 1)) == 1 && e.what == event::kind::arrived)
                REQUIRE(receiver->take(e.id, into, 9) == posted::pending);
            sender.poll({});
        }
        REQUIRE(world.exposed(1) == 1);
        for (std::uint64_t k = 0; k != seed; ++k) sender.poll({}); // it puts, now or later
        bool said = false;
        for (int i = 0; i != 1000 && !said; ++i) {
            const posted p = receiver->post_send(0, {}, word, 11);
            said = p == posted::complete || p == posted::pending;
            receiver->poll({});
        }
        REQUIRE(said);
        receiver.reset();
        while (world.advance()) {
        }
        int heard = 0;
        errc why = errc::ok, ended = errc::ok;
        for (int i = 0; i != 20'000 && (why == errc::ok || ended == errc::ok); ++i) {
            if (sender.poll(std::span(&e, 1)) == 0) continue;
            if (e.what == event::kind::arrived) ++heard, sender.release(e.id);
            if (e.what == event::kind::lost) why = e.code;
            if (e.what == event::kind::complete) ended = e.code;
        }
        CAPTURE(seed);
        CHECK(heard == 1);
        CHECK(why == errc::peer_dead);
        CHECK(ended == errc::peer_dead);
        CHECK(world.violations() == 0);
    }
}

TEMPLATE_TEST_CASE("one_sided: who sends nonsense while a put to it reads a message is lost, and the message read on",
                   "", simulated_regions, scattered_regions) {
    const one_sided_options options{.blocks = 4, .block_bytes = 64};
    constexpr std::uint64_t way_ns = 100'000;
    TestType world(2, {.seed = 3,
                       .region_bytes = one_sided_bytes(2, options),
                       .latency_min_ns = way_ns,
                       .latency_max_ns = way_ns + 1,
                       .late = 1000});
    using link = one_sided<typename TestType::endpoint>;
    link sender(world.connect(0), options), receiver(world.connect(1), options);
    auto bytes = pattern(3000);
    const auto word = pattern(8);
    std::vector<std::byte> into(3000);
    event e;
    bool sent = false;
    for (int i = 0; i != 50'000 && world.exposed(1) == 0; ++i) {
        if (!sent) sent = sender.post_send(1, {}, bytes, 7) == posted::pending;
        if (receiver.poll(std::span(&e, 1)) == 1 && e.what == event::kind::arrived)
            REQUIRE(receiver.take(e.id, into, 9) == posted::pending);
        sender.poll({});
    }
    REQUIRE(world.exposed(1) == 1);
    const std::uint64_t puts = world.now_ns() + way_ns + 10'000;
    while (world.now_ns() < puts) sender.poll({});
    const detail::one_sided_said nonsense = detail::said(detail::make_word(0, 99)); // a credit for what was not sent
    std::memcpy(world.region(0).data() + detail::one_sided_layout(2, options).lane(1, 0), &nonsense, sizeof nonsense);
    for (std::uint64_t k = 0; k != 6; ++k) (void)sender.post_send(1, {}, word, 20 + k); // it looks for credits
    bool lost = false, ended = false;
    for (int i = 0; i != 50'000 && !(lost && ended); ++i) {
        if (sender.poll(std::span(&e, 1)) == 0) continue;
        if (e.what == event::kind::lost) lost = e.code == errc::protocol_error;
        if (e.what != event::kind::complete || e.id != 7) continue;
        ended = true;
        std::fill(bytes.begin(), bytes.end(), std::byte{0x77}); // they are the caller's again
    }
    CHECK((lost && ended));
    while (world.advance()) {
    }
    CHECK(world.violations() == 0);
}

TEMPLATE_TEST_CASE("one_sided: a take that is given up ends though its sender says nothing", "", simulated_regions,
                   scattered_regions) {
    enum class where { own, lent, exposed };
    for (const where place : {where::own, where::lent, where::exposed}) {
        const auto bytes = pattern(3000);
        std::vector<std::byte> own(3000);
        pair_of_ends<TestType> two({.blocks = 4, .block_bytes = 64}, 5);
        CHECK(two.ends[0].post_send(1, {}, bytes, 7) == posted::pending);
        const auto arrived = two.next(1);
        REQUIRE((arrived && arrived->bytes == 3000));
        if (place == where::exposed) REQUIRE(two.ends[1].expose(own));
        const std::span<std::byte> into = place == where::lent ? two.ends[1].allocate(3000) : std::span<std::byte>(own);
        CHECK(two.ends[1].take(arrived->id, into, 99) == posted::pending);
        CHECK(two.ends[1].cancel(99) == errc::ok);
        event e;
        bool ended = false; // rank 0 does not poll
        const std::uint64_t last = two.world.now_ns() + 10'000'000'000;
        while (!ended && two.world.now_ns() < last) {
            ended = two.ends[1].poll(std::span(&e, 1)) == 1 && e.what == event::kind::complete;
            if (!ended) two.ends[1].wait(1000, two.world.now_ns() + 1'000'000);
        }
        REQUIRE((ended && e.id == 99 && e.code == errc::cancelled));
        CHECK(two.world.exposed(1) == (place == where::exposed ? 1u : 0u));
        if (place == where::exposed) two.ends[1].conceal(own);
        std::fill(into.begin(), into.end(), std::byte{0x77});
        if (place == where::lent) {
            two.ends[1].deallocate(into); // is nobody else's, as long as rank 0 may write there
            const std::span<std::byte> other = two.ends[1].allocate(3000);
            REQUIRE(other.size() == 3000);
            CHECK((other.data() + other.size() <= into.data() || into.data() + into.size() <= other.data()));
            two.ends[1].deallocate(other);
        }
        // Rank 0 comes back, finds that it is not wanted, and goes on.
        const auto sent = two.next(0);
        REQUIRE((sent && sent->what == event::kind::complete && sent->id == 7 && sent->code == errc::ok));
        CHECK_FALSE(two.next(1));
        if (place == where::lent)
            CHECK(two.ends[1].allocate(60'000).size() == 60'000); // all is there again
        else
            CHECK(std::count(own.begin(), own.end(), std::byte{0x77}) == 3000);
        CHECK(two.ends[0].post_send(1, {}, std::span(bytes).first(8), 8) != posted::failed);
        CHECK(two.next(1)->bytes == 8);
        CHECK(two.world.strays() == 0);
    }
}

namespace {

// Its puts into exposed memory never end but with the loss of their target, right before that is told.
struct unheard : in_process_regions::endpoint {
    explicit unheard(in_process_regions::endpoint&& base) : in_process_regions::endpoint(std::move(base)) {}
    posted put_exposed(rank_t, const exposure&, std::span<const std::byte>, std::uint64_t id) {
        open = id;
        return posted::pending;
    }
    std::size_t poll(std::span<event> events) {
        if (events.size() < 2) return 0;
        const std::size_t found = in_process_regions::endpoint::poll(events.subspan(1));
        if (found == 0) return 0;
        events[0] = {.what = event::kind::complete, .code = errc::peer_dead, .peer = 1, .id = std::exchange(open, 0)};
        return found + 1;
    }
    std::uint64_t open = 0;
};

} // namespace

TEST_CASE("one_sided: what is under way to a rank that goes ends before it is lost, and it is lost as itself") {
    const one_sided_options options{.blocks = 4, .block_bytes = 64};
    const auto bytes = pattern(3000), word = pattern(8);
    std::vector<std::byte> into(3000);
    in_process_regions world(2, {.region_bytes = one_sided_bytes(2, options)});
    one_sided<unheard> sender(unheard(world.connect(0)), options);
    std::optional<one_sided<in_process_regions::endpoint>> receiver(std::in_place, world.connect(1), options);
    REQUIRE(sender.post_send(1, {}, bytes, 7) == posted::pending);
    event e;
    for (int i = 0; i != 1000 && sender.writes().open == 0; ++i) {
        if (receiver->poll(std::span(&e, 1)) == 1) REQUIRE(receiver->take(e.id, into, 9) == posted::pending);
        sender.poll({});
    }
    REQUIRE(sender.writes().open != 0);
    REQUIRE(receiver->post_send(0, {}, word, 11) == posted::complete);
    receiver.reset();
    std::vector<event> seen;
    for (int i = 0; i != 1000; ++i)
        if (sender.poll(std::span(&e, 1)) == 1) seen.push_back(e);
    REQUIRE(seen.size() == 3);
    CHECK((seen[0].what == event::kind::arrived && seen[0].bytes == 8));
    CHECK((seen[1].what == event::kind::lost && seen[1].code == errc::peer_dead));
    CHECK((seen[2].what == event::kind::complete && seen[2].id == 7 && seen[2].code == errc::peer_dead));
}

TEST_CASE("in_process_regions: a forked child leaves what its parent exposed alone") {
    in_process_regions world(2);
    std::optional<in_process_regions::endpoint> a(world.connect(0)), b(world.connect(1));
    std::vector<std::byte> memory(100);
    const exposure at = b->expose(memory);
    ++detail::fork_count; // as if this were a child
    CHECK(a->put_exposed(1, at, memory, 1) == posted::failed);
    CHECK_FALSE(b->expose(memory));
    b->conceal(at);
    --detail::fork_count;
    CHECK(a->put_exposed(1, at, memory, 1) == posted::complete);
    b.reset();
    CHECK(a->put_exposed(1, at, memory, 1) == posted::failed);
}
