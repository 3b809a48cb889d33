// SPDX-License-Identifier: BSL-1.0
//   BOUGH_TEST_ALL=1   100,000 agreements over a network that falls apart instead of 2,000
// Compiled alone, optimised: it runs thousands of agreements.
#include "engine/ranks.hpp"
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include "support/sample.hpp"
#include <bough/core/random.hpp>
#include <bough/session/agreement.hpp>
#include <bough/transport/simulated.hpp>

#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <vector>

using namespace bough;

namespace {

constexpr std::uint64_t round_ns = 1'000'000;

// Rank 0 agrees; ranks 1 and 2 are played by hand.
struct stage {
    struct words {
        std::uint32_t round, decided;
        std::uint64_t word;
        std::array<unsigned char, 3> failed;
    };
    static constexpr std::size_t bytes = 19;

    testing::loop_group group{3, {.slots = 32}};
    session<test::link> mine{group.connect(0)};
    test::link one{group.connect(1)}, two{group.connect(2)};
    agreement<test::link> made = begin(1);

    agreement<test::link> begin(std::uint32_t number, const std::vector<rank_t>& voters = {}) {
        return {mine, {0, 1, 2}, 0, number, 7, round_ns, voters};
    }
    void say(test::link& from, const words& w, std::uint32_t number = 1) {
        post(from, w, number);
        move_on();
    }
    void post(test::link& from, const words& w, std::uint32_t number = 1) {
        envelope tag;
        tag.epoch = 1;
        tag.operation = number;
        tag.segment = 0xffff'fffeu;
        std::array<std::byte, bytes> payload{};
        std::memcpy(payload.data(), &w, 16);
        std::memcpy(payload.data() + 16, w.failed.data(), 3);
        REQUIRE(from.post_send(0, tag, payload, 1) == posted::complete);
    }
    void move_on() {
        for (int i = 0; i != 600; ++i) {
            mine.progress();
            made.step();
        }
    }
    // The last thing that rank 0 has told this rank.
    static words last_word(test::link& to) {
        words last{99, 99, 0, {}};
        std::array<event, 1> events;
        while (to.poll(events) != 0) {
            if (events[0].what != event::kind::arrived) continue;
            std::array<std::byte, bytes> payload{};
            REQUIRE(to.take(events[0].id, payload, 1) != posted::failed);
            std::array<event, 1> taken;
            to.poll(taken);
            std::memcpy(&last, payload.data(), 16);
            std::memcpy(last.failed.data(), payload.data() + 16, 3);
        }
        return last;
    }
};

} // namespace

TEST_CASE("agreement: all say the same") {
    stage s;
    s.say(s.one, {0, 0, 7, {}});
    CHECK_FALSE(s.made.done());
    s.say(s.two, {0, 0, 7, {}});
    REQUIRE(s.made.done());
    CHECK_FALSE(s.made.result());
    CHECK(s.made.word() == 7);
    CHECK(s.made.failed() == std::vector<unsigned char>{0, 0, 0});
    CHECK(stage::last_word(s.one).decided == 1);
}

TEST_CASE("agreement: who does not answer in time is out, is told so, and is not heard any more") {
    stage s;
    s.say(s.one, {0, 0, 7, {}});
    s.group.advance_ns(2 * round_ns);
    s.move_on();
    CHECK(s.mine.is_lost(2));
    const std::uint64_t before = s.mine.stale_messages();
    s.say(s.two, {0, 1, 7, {}}); // it lives, and has decided: too late
    CHECK_FALSE(s.made.done());
    CHECK(s.mine.stale_messages() == before + 1);
    s.say(s.one, {1, 0, 7, {0, 0, 1}});
    REQUIRE(s.made.done());
    CHECK_FALSE(s.made.result());
    CHECK(s.made.failed() == std::vector<unsigned char>{0, 0, 1});
    const auto told = stage::last_word(s.two);
    CHECK(told.decided == 1);
    CHECK(told.failed[2] == 1);
}

TEST_CASE("agreement: a decision of a rank that others know to have failed comes too late") {
    stage s;
    s.say(s.two, {0, 0, 7, {}});
    s.say(s.one, {0, 0, 7, {0, 0, 1}}); // rank 1 has seen rank 2 fail; this rank has not
    CHECK_FALSE(s.made.done());
    s.say(s.two, {0, 1, 7, {}}); // ... after it had decided; rank 1 has not heard that, and may have gone on
    CHECK_FALSE(s.made.done());
    s.say(s.one, {1, 0, 7, {0, 0, 1}});
    REQUIRE(s.made.done());
    CHECK(s.made.failed() == std::vector<unsigned char>{0, 0, 1});
    CHECK(s.mine.is_lost(2)); // in the next epoch, too
}

TEST_CASE("agreement: a rank that was only slow ends with an error") {
    stage s;
    s.say(s.one, {0, 0, 7, {}});
    s.say(s.one, {2, 1, 7, {1, 0, 0}});
    REQUIRE(s.made.done());
    CHECK(s.made.result().code == errc::peer_aborted);
    CHECK(s.made.result().cause == errc::deadline);
}

TEST_CASE("agreement: a rank that begins when the others have ended without it does not go on by itself") {
    for (int before = 0; before != 20; ++before) { // wherever a poll ends among their messages
        stage s;
        for (int i = 0; i != before; ++i) s.post(s.one, {0, 0, 7, {}}, 0); // of an earlier agreement
        s.post(s.one, {0, 0, 7, {}});
        s.post(s.two, {0, 0, 7, {}});
        s.post(s.one, {1, 0, 7, {1, 0, 0}});
        s.post(s.two, {1, 0, 7, {1, 0, 0}});
        s.post(s.one, {2, 1, 7, {1, 0, 0}});
        s.post(s.two, {2, 1, 7, {1, 0, 0}});
        s.move_on();
        CAPTURE(before);
        REQUIRE(s.made.done());
        CHECK(s.made.result().code == errc::peer_aborted);
    }
}

TEST_CASE("agreement: what is left of an earlier one is thrown away") {
    stage s;
    s.say(s.one, {0, 0, 7, {}});
    s.say(s.two, {0, 0, 7, {}});
    REQUIRE(s.made.done());
    s.say(s.one, {0, 1, 7, {}});
    s.say(s.two, {0, 1, 7, {}});
    CHECK(s.mine.messages().inbox().size() == 2);
    agreement<test::link> next = s.begin(2);
    next.step();
    CHECK(s.mine.messages().inbox().empty());
    CHECK_FALSE(next.done());
}

TEST_CASE("agreement: a rank without memory for the whole time of a round ends, and what it has decided stands") {
    const auto ends = [](stage& s, agreement<test::link>& a) {
        s.group.advance_ns(2 * round_ns);
        for (int i = 0; i != 600; ++i) a.step();
        return a.done();
    };
    using bough_test::fail_for_good, bough_test::until_failure;
    const auto begin = [](stage& s) { return agreement<test::link>(s.mine, {0, 1, 2}, 0, 2, 7, round_ns); };
    const long enough = [&] {
        stage s;
        const std::size_t before = bough_test::allocations;
        const auto made = begin(s);
        return static_cast<long>(bough_test::allocations - before);
    }();
    int undecided = 0;
    for (long n = 0; n != enough; ++n) {
        stage s;
        std::optional<agreement<test::link>> second;
        fail_for_good = true;
        until_failure = n;
        try {
            second.emplace(begin(s));
        } catch (const std::bad_alloc&) { // nothing has happened
        }
        const bool has_ended = second && ends(s, *second);
        until_failure = -1;
        fail_for_good = false;
        if (!second) continue;
        CAPTURE(n);
        CHECK(has_ended);
        CHECK(second->result().code == errc::no_resources);
        ++undecided;
    }
    CHECK(undecided > 0);

    stage s;
    s.post(s.one, {0, 0, 7, {}});
    s.post(s.two, {0, 0, 7, {}});
    for (int i = 0; i != 10; ++i) s.mine.progress();
    fail_for_good = true;
    until_failure = 0;
    s.made.step(); // decides, and cannot tell
    const bool was_done = s.made.done(), has_ended = ends(s, s.made);
    until_failure = -1;
    fail_for_good = false;
    CHECK_FALSE(was_done);
    CHECK(has_ended);
    CHECK(s.made.result().code == errc::ok);
    CHECK(s.made.word() == 7);
    CHECK(s.made.failed() == std::vector<unsigned char>{0, 0, 0});
}

TEST_CASE("agreement: a round is unanimous if all say what this rank knows, and collects what they say") {
    using detail::agreed;
    const agreed known{6, {0, 0, 1}};
    detail::agreement_round round(known);
    round.begin(known);
    CHECK((round.is_unanimous(known) && !round.has_heard(1)));
    round.hear(1, known, known);
    CHECK((round.is_unanimous(known) && round.has_heard(1)));
    SECTION("a word differs") {
        round.hear(0, {3, {0, 0, 1}}, known);
        CHECK_FALSE(round.is_unanimous(known));
        CHECK(round.next() == agreed{2, {0, 0, 1}});
    }
    SECTION("a rank knows of more failures, or of fewer") {
        round.hear(0, {6, {1, 0, 0}}, known);
        CHECK_FALSE(round.is_unanimous(known));
        CHECK(round.next() == agreed{6, {1, 0, 1}});
    }
    SECTION("one is lost amid the round") {
        round.lose(0, bough::detail::agreed::dead);
        CHECK_FALSE(round.is_unanimous(known));
        CHECK(round.next() == agreed{6, {1, 0, 1}});
    }
    round.begin(round.next());
    CHECK(round.is_unanimous(round.next()));
}

TEST_CASE("agreement: with voters it ends when more than half of them have told the same decision") {
    struct majority : stage {
        explicit majority(const std::vector<rank_t>& voters) : of_these(begin(2, voters)) {}
        agreement<test::link> of_these;
        void say_of_these(test::link& from, const words& w) {
            say(from, w, 2);
            look();
        }
        void look() {
            for (int i = 0; i != 600; ++i) {
                mine.progress();
                of_these.step();
            }
        }
    };
    SECTION("two of three") {
        majority s({0, 1, 2});
        s.say_of_these(s.one, {0, 0, 7, {}});
        s.say_of_these(s.two, {0, 0, 7, {}});
        CHECK_FALSE(s.of_these.done()); // it has decided, as the first of them
        CHECK(stage::last_word(s.two).decided == 1);
        SECTION("another rank has made the decision, too") {
            s.say_of_these(s.two, {0, 1, 7, {}});
            REQUIRE(s.of_these.done());
            CHECK_FALSE(s.of_these.result());
            CHECK(s.of_these.word() == 7);
        }
        SECTION("what is said in a later round does not matter any more, not even that this rank has failed") {
            s.say_of_these(s.one, {1, 0, 7, {1, 0, 0}});
            CHECK_FALSE(s.of_these.done());
            s.say_of_these(s.two, {0, 1, 7, {}});
            REQUIRE(s.of_these.done());
            CHECK_FALSE(s.of_these.result());
        }
        SECTION("another decision is not one more; that this rank is out ends it") {
            s.say_of_these(s.one, {1, 1, 7, {0, 0, 1}});
            CHECK_FALSE(s.of_these.done());
            s.say_of_these(s.two, {1, 1, 7, {1, 0, 0}});
            REQUIRE(s.of_these.done());
            CHECK(s.of_these.result().code == errc::peer_aborted);
        }
        SECTION("nobody tells it in time: the outcome is not known here") {
            s.group.advance_ns(2 * round_ns);
            s.look();
            REQUIRE(s.of_these.done());
            CHECK(s.of_these.result() == status{.code = errc::no_majority, .mine = 1, .theirs = 3});
            CHECK_FALSE(s.mine.is_lost(1)); // and nobody is taken for dead because of it
        }
    }
    SECTION("a decision that was adopted counts for both") {
        majority s({0, 1, 2});
        s.say_of_these(s.one, {0, 1, 7, {}});
        REQUIRE(s.of_these.done());
        CHECK_FALSE(s.of_these.result());
    }
    SECTION("half of the voters are no majority: as rank 2 has no vote, rank 1 must agree") {
        majority s({0, 1});
        s.say_of_these(s.two, {0, 1, 7, {}});
        CHECK_FALSE(s.of_these.done());
        s.say_of_these(s.one, {0, 1, 7, {}});
        REQUIRE(s.of_these.done());
        CHECK_FALSE(s.of_these.result());
    }
    SECTION("the others do not answer: this rank decides alone, and ends at once") {
        majority s({0, 1, 2});
        for (int i = 0; i != 3 && !s.of_these.done(); ++i) {
            s.group.advance_ns(2 * round_ns);
            s.look();
        }
        REQUIRE(s.of_these.done());
        CHECK(s.of_these.result() == status{.code = errc::no_majority, .mine = 1, .theirs = 3});
    }
}

namespace {

// Ranks that agree while links between them are cut for a time and ranks crash, at random.
struct parted {
    using end = simulated::endpoint;
    struct outcome {
        int well = 0, differ = 0; // ranks that ended well, and how many of these with another decision than the first
        bool has_majority = true; // the ranks that ended well hold more than half for alive
        bool over = false;
    };

    static outcome play(std::uint64_t seed, bool needs_majority, bool breaks) {
        detail::split_mix random(seed);
        const auto p = static_cast<rank_t>(2 + random.below(6));
        simulated world(p, {.seed = seed});
        std::vector<rank_t> all(p);
        for (rank_t r = 0; r != p; ++r) all[r] = r;
        const auto some_time = [&] { return random.below(4 * round_ns); };
        if (breaks) {
            const std::uint64_t side = random(); // who is on this side
            const bool parts = random.below(2) == 0;
            for (rank_t a = 0; a != p; ++a)
                for (rank_t b = 0; b != a; ++b)
                    if (parts ? (side >> a & 1) != (side >> b & 1) : random.below(4) == 0)
                        world.inject({.what = simulated_fault::kind::cut,
                                      .at = random.below(3 * p * p),
                                      .rank = a,
                                      .peer = b,
                                      .value = parts ? 100 * round_ns : some_time()});
            if (random.below(3) == 0)
                world.inject({.what = simulated_fault::kind::crash,
                              .at = random.below(4 * p * p),
                              .rank = static_cast<rank_t>(random.below(p))});
        }
        std::vector<std::unique_ptr<session<end>>> sessions;
        std::vector<std::optional<agreement<end>>> made(p);
        for (rank_t r = 0; r != p; ++r) sessions.push_back(std::make_unique<session<end>>(world.connect(r)));
        for (rank_t r = 0; r != p; ++r)
            made[r].emplace(*sessions[r], all, 0, 1, random(), round_ns, needs_majority ? all : std::vector<rank_t>{});
        outcome o;
        for (int still = 0; !o.over && still != 10'000;) {
            bool moved = false;
            o.over = true;
            for (rank_t i = 0, first = static_cast<rank_t>(random.below(p)); i != p; ++i) {
                const rank_t r = (first + i) % p;
                if (!world.is_alive(r) || made[r]->done()) continue;
                moved |= sessions[r]->progress();
                made[r]->step();
                o.over = false;
            }
            for (rank_t r = 0; r != p; ++r) // who has ended still sends what it has to tell
                if (world.is_alive(r) && made[r]->done()) moved |= sessions[r]->progress();
            if (o.over || moved) continue;
            ++still;
            for (rank_t r = 0; r != p; ++r)
                if (world.is_alive(r) && !made[r]->done()) world.wake_at(made[r]->deadline_ns());
            (void)world.advance(); // to a deadline, or to a message if one comes before
            for (rank_t r = 0; r != p; ++r)
                for (int i = 0; i != 256 && world.is_alive(r); ++i) made[r]->step();
        }
        const agreement<end>* one = nullptr;
        for (rank_t r = 0; r != p && o.over; ++r) {
            if (!world.is_alive(r) || !made[r]->done() || made[r]->result()) continue;
            if (one == nullptr) one = &*made[r];
            o.differ += made[r]->failed() != one->failed() || made[r]->word() != one->word();
            ++o.well;
            std::size_t kept = 0;
            for (const unsigned char f : made[r]->failed()) kept += f == 0;
            o.has_majority &= 2 * kept > p;
        }
        return o;
    }
};

} // namespace

TEST_CASE("agreement: with a majority no two ranks end well with different decisions, however the network parts") {
    int differ_without = 0, well = 0, none = 0;
    for (std::uint64_t seed = 1; seed != 100'001; ++seed) {
        if (!bough_test::sampled(seed, 50)) continue;
        const parted::outcome o = parted::play(seed, true, true);
        CAPTURE(seed);
        REQUIRE(o.over);
        REQUIRE(o.differ == 0);
        REQUIRE(o.has_majority);
        (o.well != 0 ? well : none) += 1;
        if (seed % 10 == 0) differ_without += parted::play(seed, false, true).differ != 0;
    }
    CHECK(well > none / 4); // both happen
    CHECK(none > well / 16);
    CHECK(differ_without > 20); // what the rule prevents does happen without it
}

TEST_CASE("agreement: with a majority all end well if nothing breaks") {
    for (std::uint64_t seed = 1; seed != 2'001; ++seed) {
        if (!bough_test::sampled(seed, 10)) continue;
        detail::split_mix random(seed);
        const auto p = static_cast<int>(2 + random.below(6));
        const parted::outcome o = parted::play(seed, true, false);
        CAPTURE(seed);
        REQUIRE((o.over && o.differ == 0 && o.well == p));
    }
}
