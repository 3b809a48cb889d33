// SPDX-License-Identifier: BSL-1.0
// Calls that differ where a message tells only that they do: the ranks ask each other how, and say what they know if there is
// no answer.
#include "engine/ranks.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/session/disputes.hpp>
#include <bough/session/session.hpp>
#include <bough/tree/flat.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

using namespace bough;

namespace {

const auto to_all = [](rank_t size) { return plan_allreduce(recursive_doubling{}, {.size = size}); };
const auto from_1 = plan_broadcast(flat{}, {.size = 2, .root = 1});

constexpr call_signature honest{.count = 1, .op = 0x1'0000'0007, .type = 8, .root = 0, .kind = goal::allreduce::kind};

// Rank 0 is a session, rank 1 is played by the test, message by message.
struct asked {
    testing::loop_group group{2, {.slots = 64}};
    test::rank_state rank{group.connect(0)};
    test::link other{group.connect(1)};
    std::array<std::byte, 8> payload{};

    explicit asked(std::uint64_t timeout_ns = 30'000'000'000) {
        rank.timeout_ns = timeout_ns;
        rank.data.assign(1, 1);
        rank.start(from_1, 1, signature());
    }
    static call_signature signature() {
        call_signature s = honest;
        s.kind = goal::broadcast::kind;
        s.plan = bind_plan(from_1, 0).plan_id;
        return s;
    }
    static envelope tag_of(const call_signature& s, std::uint32_t segment, std::uint32_t operation = 1) {
        envelope tag;
        tag.epoch = 1;
        tag.operation = operation;
        tag.segment = segment;
        sign(tag, s);
        return tag;
    }
    void send(const envelope& tag, std::span<const std::byte> bytes) {
        REQUIRE(other.post_send(0, tag, bytes, 1) == posted::complete);
        move();
    }
    void tell(const call_signature& s, bool known, bool asks, std::uint32_t operation = 1) {
        const detail::told_signature said{s, known, asks};
        send(tag_of(s, detail::signature_segment, operation), said.bytes());
    }
    void move() {
        for (int i = 0; i != 20; ++i) rank.session.progress();
    }
    // Questions and answers that rank 0 has sent.
    std::vector<detail::told_signature> heard() {
        std::deque<std::vector<std::byte>> taken;
        std::array<event, 16> events;
        for (std::size_t n; (n = other.poll(events)) != 0;)
            for (const event& e : std::span(events).first(n)) {
                if (e.what != event::kind::arrived) continue;
                if (e.envelope.segment == detail::signature_segment) {
                    taken.emplace_back(e.bytes);
                    REQUIRE(other.take(e.id, taken.back(), 7) != posted::failed);
                } else {
                    other.release(e.id);
                }
            }
        std::vector<detail::told_signature> all;
        for (const auto& bytes : taken) all.push_back(detail::told_signature::read(bytes));
        return all;
    }
    void pass(std::uint64_t ns) {
        group.advance_ns(ns);
        rank.session.check_deadlines();
        move();
    }
};

call_signature other_op() {
    call_signature s = asked::signature();
    s.op ^= std::uint64_t{1} << 60; // in a bit that a message does not have by itself
    return s;
}

// Sleeps as long as it may, and counts how often it is asked for the time.
class sleeper : public forwarding_transport<test::link> {
public:
    using forwarding_transport<test::link>::forwarding_transport;
    std::uint64_t now_ns() const { return ++looks, inner_.now_ns() + slept_ns_; }
    void wait(std::uint32_t, std::uint64_t until_ns) {
        if (const std::uint64_t now = now_ns(); until_ns > now) slept_ns_ += until_ns - now;
    }
    mutable std::uint64_t looks = 0;

private:
    std::uint64_t slept_ns_ = 0;
};

} // namespace

static_assert([] { // what differs in one bit has another hash
    const auto hash_of = [](const call_signature& s) {
        envelope tag;
        sign(tag, s);
        return tag.digest.hash;
    };
    const auto words = std::bit_cast<std::array<std::uint64_t, 5>>(honest);
    constexpr bool low_first = std::endian::native == std::endian::little; // the last three bytes are nothing's
    for (std::size_t i = 0; i != 5; ++i)
        for (int bit = i == 4 && !low_first ? 24 : 0; bit != (i == 4 && low_first ? 40 : 64); ++bit) {
            auto changed = words;
            changed[i] ^= std::uint64_t{1} << bit;
            if (hash_of(std::bit_cast<call_signature>(changed)) == hash_of(honest)) return false;
        }
    return true;
}());

TEST_CASE("dispute: a call that differs in one bit of 64 is told on every rank, with both values") {
    struct part {
        mismatch what;
        std::uint64_t call_signature::*value;
    };
    for (const part& p : {part{mismatch::op, &call_signature::op},
                          {mismatch::type, &call_signature::type},
                          {mismatch::count, &call_signature::count}})
        for (int bit = 0; bit != 64; ++bit)
            for (const rank_t liar : {0u, 2u}) {
                test::ranks group(4);
                group.fill(1);
                call_signature lie = honest;
                lie.*p.value ^= std::uint64_t{1} << bit;
                for (rank_t r = 0; r != 4; ++r) group[r].start(to_all(4), 1, r == liar ? lie : honest);
                CAPTURE(static_cast<int>(p.what), bit, liar);
                REQUIRE(group.run());
                int seen = 0;
                for (rank_t r = 0; r != 4; ++r) {
                    const status& s = group[r].result();
                    REQUIRE((s.code == errc::call_mismatch || s.cause == errc::call_mismatch));
                    CHECK(s.mismatch == p.what);
                    CHECK((s.mine ^ s.theirs) == std::uint64_t{1} << bit);
                    CHECK((s.mine == honest.*p.value || s.theirs == honest.*p.value));
                    if (s.code != errc::call_mismatch) continue;
                    ++seen;
                    CHECK(s.mine == (r == liar ? lie : honest).*p.value);
                }
                CHECK(seen >= 2); // both sides
            }
}

TEST_CASE("dispute: the answer says what differs") {
    asked a;
    a.send(asked::tag_of(other_op(), 0), a.payload);
    CHECK_FALSE(a.rank.done()); // it asks first
    const auto questions = a.heard();
    REQUIRE(questions.size() == 1);
    CHECK((questions[0].asks != 0 && questions[0].known != 0 && questions[0].signature == asked::signature()));
    SECTION("a message more changes nothing") { a.send(asked::tag_of(other_op(), 1), a.payload); }
    a.tell(other_op(), true, false);
    REQUIRE(a.rank.done());
    const status& s = a.rank.result();
    CHECK((s.code == errc::call_mismatch && s.mismatch == mismatch::op && s.peer == 1 && s.operation == 1));
    CHECK((s.mine == asked::signature().op && s.theirs == other_op().op));
    CHECK(a.rank.data[0] == 1); // nothing was written
}

TEST_CASE("dispute: without an answer it is a mismatch all the same") {
    call_signature theirs = other_op();
    mismatch expected = mismatch::none; // the bits that differ are not in the message
    SECTION("of what the message tells") {
        theirs.type += 1;
        expected = mismatch::type;
    }
    SECTION("of what it does not tell") {}
    for (const int how : {0, 1, 2, 3, 4}) {
        asked a(how == 1 ? 500'000'000 : 30'000'000'000);
        a.send(asked::tag_of(theirs, 0), a.payload);
        CAPTURE(how);
        REQUIRE_FALSE(a.rank.done());
        if (how == 0) { // it does not listen
            a.pass(0);
            a.pass(detail::dispute::patience_ns - 1'000'000);
            CHECK_FALSE(a.rank.done());
            a.pass(1'000'000);
        } else if (how == 1) { // nor before the deadline
            a.pass(0);
            a.pass(500'000'000);
            for (int i = 0; i != 8; ++i) a.pass(150'000'000); // it looks for those that hold it up before it ends
        } else if (how == 2 || how == 4) {                    // it has forgotten
            const detail::told_signature unknown{};
            const call_signature& echoed =
                how == 2 ? theirs : asked::signature(); // as a session answers: what it was asked
            a.send(asked::tag_of(echoed, detail::signature_segment), unknown.bytes());
        } else { // it is gone
            test::link(std::move(a.other));
            a.move();
        }
        REQUIRE(a.rank.done());
        const status& s = a.rank.result();
        CHECK((s.code == errc::call_mismatch && s.peer == 1 && s.operation == 1));
        CHECK(s.mismatch == expected);
        CHECK((s.mine == 0 && s.theirs == 0));
    }
}

TEST_CASE("dispute: a rank that sleeps until the end of its operation wakes for that of a dispute") {
    testing::loop_group group(2);
    test::link other = group.connect(1);
    session<sleeper> mine{sleeper(group.connect(0))};
    prepared work(bind_plan(from_1, 0));
    test::number x = 1;
    session_operation op;
    auto* bytes = reinterpret_cast<std::byte*>(&x);
    envelope tag;
    tag.operation = 1;
    mine.start(op, work, {bytes, bytes, 1, sizeof x, nullptr, nullptr}, tag, asked::signature(), 30'000'000'000);
    const std::array<std::byte, 8> payload{};
    REQUIRE(other.post_send(0, asked::tag_of(other_op(), 0), payload, 1) == posted::complete);
    const std::uint64_t began = mine.now_ns();
    const status& s = mine.wait(op);
    CHECK((s.code == errc::call_mismatch && s.peer == 1));
    CHECK(mine.now_ns() - began < detail::dispute::patience_ns + 1'000'000);
}

TEST_CASE("dispute: one look at the clock tells the end of it, and that of operations") {
    testing::loop_group group(2);
    session<sleeper> mine{sleeper(group.connect(0))};
    prepared work(bind_plan(from_1, 0));
    test::number x = 1;
    session_operation op;
    auto* bytes = reinterpret_cast<std::byte*>(&x);
    const auto looks = [&] {
        const std::uint64_t before = mine.transport().looks;
        mine.check_deadlines();
        return mine.transport().looks - before;
    };
    CHECK(looks() == 0); // nothing is in flight
    envelope tag;
    tag.operation = 1;
    mine.start(op, work, {bytes, bytes, 1, sizeof x, nullptr, nullptr}, tag, asked::signature(), 30'000'000'000);
    CHECK(looks() == 1);
    CHECK(looks() == 1);
    mine.cancel(op);
}

TEST_CASE("dispute: another collective needs no question") {
    asked a;
    call_signature s = other_op();
    s.kind = goal::barrier::kind;
    a.send(asked::tag_of(s, 0), a.payload);
    REQUIRE(a.rank.done());
    CHECK(a.rank.result().mismatch == mismatch::collective);
    CHECK((a.rank.result().mine == goal::broadcast::kind && a.rank.result().theirs == goal::barrier::kind));
    CHECK(a.heard().empty());
}

TEST_CASE("dispute: a message that was damaged is no other call") {
    asked a;
    envelope tag = asked::tag_of(asked::signature(), 0);
    tag.digest.hash ^= 4;
    a.send(tag, a.payload);
    CHECK_FALSE(a.rank.done());
    a.tell(asked::signature(), true, false);
    REQUIRE(a.rank.done());
    CHECK(a.rank.result().code == errc::protocol_error);
    CHECK(a.rank.result().peer == 1);
}

TEST_CASE("dispute: who is asked answers once, and knows by the question") {
    for (const bool running : {false, true}) {
        asked a;
        if (!running) a.send(asked::tag_of(asked::signature(), 0), a.payload);
        REQUIRE(a.rank.done() != running);
        for (int i = 0; i != 30; ++i) a.tell(other_op(), true, true); // a flood
        const auto answers = a.heard();
        REQUIRE(answers.size() == 1);
        CHECK((answers[0].asks == 0 && answers[0].known != 0 && answers[0].signature == asked::signature()));
        const status s = a.rank.session.poison(0);
        CHECK((s.code == errc::call_mismatch && s.mismatch == mismatch::op && s.peer == 1));
        CHECK((s.mine == asked::signature().op && s.theirs == other_op().op));
        CHECK(a.rank.done());
        CHECK(bool(a.rank.result()) == running);
    }
}

TEST_CASE("dispute: who is asked for a call that it does not know says so, and leaves the verdict to who asks") {
    asked a;
    a.tell(other_op(), true, true, 77);
    const auto answers = a.heard();
    REQUIRE(answers.size() == 1);
    CHECK((answers[0].asks == 0 && answers[0].known == 0));
    CHECK_FALSE(a.rank.session.poison(0));
    // Perhaps who asked leaves before it has told anybody.
    a.pass(detail::dispute::patience_ns);
    const status s = a.rank.session.poison(0);
    CHECK((s.code == errc::call_mismatch && s.mismatch == mismatch::none && s.peer == 1 && s.operation == 77));
}

TEST_CASE("dispute: a caller that gives its operation up does not end it") {
    asked a;
    a.send(asked::tag_of(other_op(), 0), a.payload);
    a.rank.session.cancel(a.rank.operation());
    CHECK(a.rank.result().code == errc::cancelled);
    CHECK_FALSE(a.rank.session.poison(0));
    SECTION("the answer does") { a.tell(other_op(), true, false); }
    SECTION("or its lack") { a.pass(detail::dispute::patience_ns); }
    CHECK(a.rank.session.poison(0).code == errc::call_mismatch);
}

TEST_CASE("dispute: its end is that of the communicator, whatever ends it") {
    asked a;
    a.send(asked::tag_of(other_op(), 0), a.payload);
    const abort_notice why{.peer = 1, .code = errc::op_threw};
    envelope tag;
    tag.epoch = 1;
    tag.operation = 1;
    SECTION("the communicator has failed, for another reason") { tag.segment = detail::broken_segment; }
    SECTION("the group has") { tag.segment = detail::abort_segment; }
    a.send(tag, std::as_bytes(std::span(&why, 1)));
    REQUIRE(a.rank.done());
    CHECK(a.rank.result().cause == errc::op_threw);
    const status first = a.rank.session.poison(0);
    a.tell(other_op(), true, false); // comes too late
    a.pass(detail::dispute::patience_ns);
    CHECK(a.rank.session.poison(0) == first);
    a.rank.session.begin_epoch();
    CHECK_FALSE(a.rank.session.poison(0));
}

TEST_CASE("dispute: of a call that is over, it breaks the communicator later") {
    asked a;
    a.send(asked::tag_of(asked::signature(), 0), a.payload);
    REQUIRE(a.rank.done());
    a.send(asked::tag_of(other_op(), 1), a.payload);
    CHECK_FALSE(a.rank.session.poison(0));
    REQUIRE(a.heard().size() == 1);
    SECTION("by the answer") { a.tell(other_op(), true, false); }
    SECTION("without one") { a.pass(detail::dispute::patience_ns); }
    CHECK(a.rank.session.poison(0).code == errc::call_mismatch);
    CHECK_FALSE(a.rank.result());
}

TEST_CASE("dispute: many at once, and the group goes on in a new epoch") {
    test::ranks group(8);
    for (std::uint32_t epoch = 0; epoch != 20; ++epoch) {
        group.fill(1);
        for (rank_t r = 0; r != 8; ++r) {
            call_signature s = honest;
            s.op += r;
            group[r].start(to_all(8), 1, s);
        }
        REQUIRE(group.run());
        for (auto& r : group.all) {
            const status& s = r->result();
            CHECK((s.code == errc::call_mismatch || s.cause == errc::call_mismatch));
            CHECK((s.mismatch == mismatch::op && s.mine != s.theirs));
        }
        group.settle();
        for (auto& r : group.all) r->session.begin_epoch();
    }
    group.fill(1);
    group.start_all(to_all(8), 1, honest);
    REQUIRE(group.run());
    for (auto& r : group.all) CHECK((!r->result() && r->data[0] == 36));
}
