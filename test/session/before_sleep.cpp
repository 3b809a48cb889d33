// SPDX-License-Identifier: BSL-1.0
// Of 64 operations in flight and more, each poll gives some a turn to send what was refused. A rank that is woken for new
// room may poll once, and sleep again: then all must have tried, or the transport, which says once that there is
// room, says no more to the one that waits for it.
#include "session/scripted_rank.hpp"
#include "support/catch.hpp"
#include <bough/session/session.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace bough;
using namespace test::scripted_rank;

namespace {

// Keeps what it has taken until flush().
struct gathering : scripted {
    using scripted::scripted;
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        const posted result = scripted::post_send(to, tag, bytes, id);
        if (result == posted::complete) ++taken[to];
        return result;
    }
    void flush() { gone = taken; }
    bool unsent() const noexcept { return gone != taken; }
    std::uint64_t accepted(rank_t to) const noexcept { return taken[to]; }
    std::uint64_t handed_over(rank_t to) noexcept { return gone[to]; }
    std::array<std::uint64_t, 3> taken{}, gone{};
};
static_assert(GatheringTransport<gathering>);

// So many operations for rank 1, to which there is no room; that in the middle is for rank 2 alone.
void start_all(rank_0& zero, std::uint32_t count, std::uint32_t middle) {
    zero.noted.room[1] = zero.noted.room[2] = 0;
    for (std::uint32_t n = 1; n <= count; ++n) zero.to(n == middle ? 2 : 1, n);
}

// The steps of an operation run on one value.
template <class Session>
void start_steps(Session& mine, operation& o, std::uint32_t number, std::uint64_t& value) {
    envelope tag;
    tag.operation = number;
    const call_signature signature{.plan = o.work.bound().plan_id};
    call its;
    its.input = its.output = reinterpret_cast<std::byte*>(&value);
    its.count = 1;
    its.element_bytes = sizeof value;
    mine.start(o.op, o.work, its, tag, signature, 60'000'000'000);
}

} // namespace

TEST_CASE("before sleep: whoever can send has tried, however many operations are in flight") {
    for (const std::uint32_t count : {10u, 63u, 64u, 65u, 200u})
        for (const bool priorities : {false, true})
            for (int polls = 0; polls != 12; ++polls) { // whose turn is next differs
                CAPTURE(count, priorities, polls);
                rank_0 zero(3);
                if (priorities) zero.mine.use_priorities();
                const std::uint32_t middle = count / 2;
                start_all(zero, count, middle);
                for (int i = 0; i != polls; ++i) zero.mine.progress();
                zero.noted.room[2] = 1;
                (void)zero.mine.progress();
                (void)zero.mine.make_way(); // and now it sleeps
                CHECK(zero.noted.take() == posts{std::to_string(middle) + ">2"});
                CHECK(zero.mine.outstanding() == count - 1);
            }
}

TEST_CASE("before sleep: it says whether it has sent something, and asks no more than once") {
    rank_0 zero(3);
    start_all(zero, 150, 149);
    (void)zero.mine.progress();
    zero.noted.tries = 0;
    CHECK_FALSE(zero.mine.make_way());
    CHECK(zero.noted.tries == 150);
    zero.noted.room[2] = 1;
    CHECK(zero.mine.make_way());
    CHECK_FALSE(zero.mine.make_way());
    zero.noted.tries = 0;
    CHECK_FALSE(zero.mine.make_way(true)); // nobody sleeps
    CHECK(zero.noted.tries == 0);
    zero.noted.room[1] = 1'000;
    CHECK(zero.mine.make_way());
    CHECK(zero.mine.outstanding() == 0);
}

TEST_CASE("before sleep: an operation that ended because its op threw is not slept on") {
    rank_0 zero(3);
    zero.noted.room[1] = zero.noted.room[2] = 0;
    constexpr std::uint32_t count = 150, thrower = 149;
    std::uint64_t values[2] = {1, 2};
    for (std::uint32_t n = 1; n <= count; ++n) {
        if (n != thrower) {
            zero.to(1, n);
            continue;
        }
        const slice in{input, 0, 1};
        operation& o = zero.all.emplace_back(
            bind_steps(std::vector<step>{send_step(2, in), combine_step(in, in, {output, 0, 1})}, 1));
        envelope tag;
        tag.operation = n;
        const call_signature signature{.plan = o.work.bound().plan_id};
        call its;
        its.input = reinterpret_cast<std::byte*>(&values[0]);
        its.output = reinterpret_cast<std::byte*>(&values[1]);
        its.count = 1;
        its.element_bytes = 8;
        its.combine = [](const void*, const std::byte*, const std::byte*, std::byte*, std::uint64_t) { throw 7; };
        zero.mine.start(o.op, o.work, its, tag, signature, 60'000'000'000);
    }
    (void)zero.mine.progress();
    while (zero.mine.make_way()) continue;
    zero.noted.room[2] = 1;
    const bool polls_again = zero.mine.progress();
    CHECK((zero.mine.make_way() || polls_again));
    CHECK(zero.all[thrower - 1].op.done());
    CHECK(zero.mine.outstanding() == 0); // the group has failed
}

TEST_CASE("before sleep: what the last try sent does not stay with a transport that gathers") {
    constexpr std::uint32_t count = 150, there_is_room_for = 149;
    in_process world{3};
    book noted;
    noted.room[1] = noted.room[2] = 0;
    session<gathering> mine{gathering(world.connect(0), noted)};
    std::deque<operation> all;
    std::uint64_t value = 1;
    for (std::uint32_t n = 1; n <= count; ++n) {
        const std::vector<step> steps{send_step(n == there_is_room_for ? 2 : 1, {input, 0, 1})};
        start_steps(mine, all.emplace_back(bind_steps(steps, 1)), n, value);
    }
    (void)mine.progress();
    while (mine.make_way()) continue;
    noted.room[2] = 1;
    CHECK(mine.make_way());
    CHECK_FALSE(mine.transport().unsent());
    CHECK(mine.outstanding() == count - 1);
    CHECK_FALSE(mine.make_way());
}

// Whoever sleeps after it would otherwise wait for the answer to a question that is still here.
TEST_CASE("before sleep: what a peer is to be asked has been asked") {
    for (const std::uint32_t count : {2u, 150u}) {
        CAPTURE(count);
        in_process world{3};
        book noted;
        noted.room[2] = 0;
        session<scripted> mine{scripted(world.connect(0), noted), {.bytes_per_peer = 1'024}}; // one short message
        const rank_t members[] = {0, 1, 2};
        mine.open_communicator(1, members);
        std::deque<operation> all;
        std::uint64_t value = 1;
        const auto start = [&](rank_t to, std::uint32_t number) {
            const std::vector<step> steps{send_step(to, {input, 0, 1}), send_step(to, {input, 0, 1})};
            start_steps(mine, all.emplace_back(bind_steps(steps, 1)), number, value);
        };
        for (std::uint32_t n = 1; n != count; ++n) start(2, n);
        const std::string last = std::to_string(count) + ">1";
        start(1, count);
        CHECK(noted.take() == posts{last, "c1"}); // at once: the program may compute now
        start(1, count + 1);
        noted.room[1] = 0;
        (void)mine.progress();
        CHECK(noted.take().empty());
        noted.room[1] = 1'000;
        envelope answer;
        answer.epoch = 1;
        answer.operation = count;
        answer.segment = detail::early_answer_segment;
        auto other = world.connect(1);
        REQUIRE(other.post_send(0, answer, {}, 1) == posted::complete);
        (void)mine.progress();
        while (mine.make_way()) continue; // and now it sleeps
        CHECK(noted.take() == posts{last, std::to_string(count + 1) + ">1", "c1"});
    }
}
