// SPDX-License-Identifier: BSL-1.0
#include "engine/ranks.hpp"
#include "support/catch.hpp"
#include <bough/session/agreement.hpp>

#include <array>
#include <cstring>
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

    agreement<test::link> begin(std::uint32_t number) { return {mine, {0, 1, 2}, 0, number, 7, round_ns}; }
    void say(test::link& from, const words& w, std::uint32_t number = 1) {
        envelope tag;
        tag.epoch = 1;
        tag.operation = number;
        tag.segment = 0xffff'fffeu;
        std::array<std::byte, bytes> payload{};
        std::memcpy(payload.data(), &w, 16);
        std::memcpy(payload.data() + 16, w.failed.data(), 3);
        REQUIRE(from.post_send(0, tag, payload, 1) == posted::complete);
        move_on();
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

TEST_CASE("agreement: what is left of an earlier one is thrown away") {
    stage s;
    s.say(s.one, {0, 0, 7, {}});
    s.say(s.two, {0, 0, 7, {}});
    REQUIRE(s.made.done());
    s.say(s.one, {0, 1, 7, {}});
    s.say(s.two, {0, 1, 7, {}});
    CHECK(s.mine.inbox().size() == 2);
    agreement<test::link> next = s.begin(2);
    next.step();
    CHECK(s.mine.inbox().empty());
    CHECK_FALSE(next.done());
}

TEST_CASE("agreement: a round is unanimous if all say what this rank knows, and collects what they say") {
    using detail::agreed;
    const agreed known{6, {0, 0, 1}};
    detail::agreement_round round;
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
