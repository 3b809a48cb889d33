// SPDX-License-Identifier: BSL-1.0
// Questions about writes, and their answers, on both sides.
#include "support/catch.hpp"
#include "transport/rdma/scripted_writer.hpp"
#include <bough/transport/rdma/region_questions.hpp>

#include <cstdint>

using namespace bough;
using bough_test::scripted_writer;
using ticket = detail::fabric_ticket;

namespace {

struct asker : bough_test::lone_core {
    detail::fabric_questions<scripted_writer> questions{core};

    void answer(std::uint64_t word) {
        lands(1, ticket::answer, word);
        questions.answered(1);
    }
};

} // namespace

TEST_CASE("region_questions: nothing to wait for is flushed at once; otherwise one question is asked at a time") {
    asker one;
    CHECK(one.questions.flush(1, 7, 0) == posted::complete);
    one.questions.has_begun(1);
    CHECK(one.questions.flush(1, 7, 0) == posted::pending);
    REQUIRE(one.net.written.size() == 1);
    const std::uint64_t question = one.net.written[0].word;
    CHECK((one.net.written[0].kind == ticket::question && question == (1u << 1)));
    CHECK(one.questions.kind_to(1) == ticket::data_too); // what follows is not asked about
    CHECK(one.questions.kind_to(2) == ticket::data);
    one.questions.has_begun(1);
    CHECK(one.questions.flush(1, 8, 0) == posted::pending);
    CHECK(one.net.written.size() == 1);
    one.answer(question + 2); // to no question of this rank
    CHECK(one.core.events.empty());
    one.answer(question);
    CHECK(one.core.events.take().id == 7);
    CHECK(one.core.events.empty());
    REQUIRE(one.net.written.size() == 2);
    CHECK(one.net.written[1].word == (1u << 1 | 1));
    one.answer(one.net.written[1].word);
    CHECK(one.core.events.take().id == 8);
    CHECK(one.questions.flush(1, 9, 0) == posted::complete);
}

TEST_CASE("region_questions: an answer waits until as many writes of that kind have landed") {
    asker one;
    one.lands(1, ticket::question, 2u << 1);
    one.questions.asked(1);
    one.questions.has_landed(1, ticket::data_too);
    one.questions.has_landed(1, ticket::data);
    CHECK(one.net.written.empty());
    one.questions.has_landed(1, ticket::data);
    REQUIRE(one.net.written.size() == 1);
    CHECK((one.net.written[0].kind == ticket::answer && one.net.written[0].word == 2u << 1));
    CHECK(one.questions.landed(1) == 3);
    one.questions.has_landed(1, ticket::data);
    CHECK(one.net.written.size() == 1); // it is answered once
}

TEST_CASE("region_questions: what the device refuses is asked and answered later") {
    asker one;
    one.net.refuses = [](rank_t) { return true; };
    one.questions.has_begun(1);
    CHECK(one.questions.flush(1, 7, 0) == posted::pending);
    one.lands(1, ticket::question, 0u << 1 | 1);
    one.questions.asked(1);
    CHECK(one.net.written.empty());
    one.net.refuses = [](rank_t) { return false; };
    one.questions.go_on(2);
    CHECK(one.net.written.empty());
    one.questions.go_on(1);
    REQUIRE(one.net.written.size() == 2);
    CHECK((one.net.written[0].kind == ticket::question && one.net.written[1].kind == ticket::answer));
}

TEST_CASE("region_questions: a flush behind a long put waits for it, and fails with it") {
    asker one;
    one.questions.has_begun(1);
    CHECK(one.questions.flush(1, 7, 5) == posted::pending);
    CHECK(one.questions.flush(1, 8, 9) == posted::pending);
    CHECK(one.net.written.empty());
    one.questions.has_begun(1); // the last piece
    one.questions.is_under_way(1, [](const detail::fabric_flushes::open& f) { return f.before > 5; });
    REQUIRE(one.net.written.size() == 1);
    CHECK(one.net.written[0].word == 2u << 1);
    one.questions.has_failed(1, 8);
    const event e = one.core.events.take();
    CHECK((e.id == 8 && e.code == errc::peer_dead));
    CHECK(one.core.events.empty());
    one.questions.lose(2);
    CHECK(one.core.events.empty());
    one.questions.lose(1);
    CHECK(one.core.events.take().id == 7);
}
