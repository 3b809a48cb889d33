// SPDX-License-Identifier: BSL-1.0
#include "engine/port.hpp"
#include "support/catch.hpp"
#include <bough/engine/engine.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/op/arithmetic.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

using namespace bough;

namespace {

using number = std::uint64_t;

constexpr slice all(buffer b) { return {b, 0, 1}; }

// lower * 10 + upper: tells the operands and their order.
void decimal(const void*, const std::byte* lower, const std::byte* upper, std::byte* out, std::size_t count) {
    for (std::size_t i = 0; i != count; ++i) {
        number a = 0, b = 0;
        std::memcpy(&a, lower + i * sizeof a, sizeof a);
        std::memcpy(&b, upper + i * sizeof b, sizeof b);
        a = a * 10 + b;
        std::memcpy(out + i * sizeof a, &a, sizeof a);
    }
}

// One element in, one out, through a schedule of one block.
struct fixture {
    explicit fixture(std::vector<step> steps, bool may_hold = false) : work(bound_of(steps, may_hold)) {}
    static bound_schedule bound_of(const std::vector<step>& steps, bool may_hold) {
        bound_schedule b = bind_steps(steps, 1);
        b.may_hold = may_hold;
        return b;
    }
    void start() {
        const call c{reinterpret_cast<std::byte*>(&in), reinterpret_cast<std::byte*>(&out), 1, sizeof(number),
                     &decimal};
        work.prepare(c);
        work.engine().start(c, port);
    }
    // The message of a receive step: it lies at `payload`, or has to be taken if that is null.
    void arrive(std::uint32_t step, const number* payload, std::uint64_t handle, std::uint64_t bytes = sizeof(number)) {
        work.engine().arrived(step, {reinterpret_cast<const std::byte*>(payload), bytes, handle, 1, true});
        work.engine().go_on(port);
    }
    bough::engine& engine() { return work.engine(); }

    prepared work;
    test::port port;
    number in = 5, out = 0;
};

} // namespace

TEST_CASE("engine: steps run as soon as they can, not in the order of the program") {
    fixture f({receive_step(1, all(scratch(0))), send_step(2, all(input)), copy_step(all(input), all(scratch(1))),
               send_step(3, all(scratch(1))), combine_step(all(input), all(scratch(0)), all(output))});
    f.start();
    CHECK(f.port.sent.size() == 2); // neither waits for the receive
    CHECK_FALSE(f.engine().done());
    const number seven = 7;
    f.arrive(0, &seven, 9);
    CHECK(f.engine().done());
    CHECK(f.out == 57);
}

TEST_CASE("engine: the two operands of a combine stand where the schedule says") {
    const number seven = 7;
    SECTION("message above") {
        fixture f({receive_step(1, all(scratch(0))), combine_step(all(input), all(scratch(0)), all(output))});
        f.start();
        f.arrive(0, &seven, 9);
        CHECK(f.out == 57);
        CHECK(f.port.log == "c9 r9 "); // read where it landed
    }
    SECTION("message below") {
        fixture f({receive_step(1, all(scratch(0))), combine_step(all(scratch(0)), all(input), all(output))});
        f.start();
        f.arrive(0, &seven, 9);
        CHECK(f.out == 75);
        CHECK(f.port.log == "c9 r9 ");
    }
    SECTION("the message has to be taken") {
        fixture f({receive_step(1, all(scratch(0))), combine_step(all(scratch(0)), all(input), all(output))});
        f.start();
        f.port.take_results = {posted::pending};
        f.arrive(0, nullptr, 9);
        CHECK_FALSE(f.engine().done());
        std::memcpy(f.port.taken_into, &seven, sizeof seven);
        f.engine().completed(0);
        f.engine().go_on(f.port);
        CHECK(f.engine().done());
        CHECK(f.out == 75);
        CHECK(f.port.log == "t9 ");
    }
}

// The combine of step 3 needs both messages, and is fused with one.
TEST_CASE("engine: a message whose combine has to wait is held, or copied at once") {
    const std::vector<step> steps{receive_step(1, all(scratch(0))), receive_step(2, all(scratch(1))),
                                  combine_step(all(input), all(scratch(0)), all(output)),
                                  combine_step(all(output), all(scratch(1)), all(output))};
    number six = 6, seven = 7;
    SECTION("held, where the plan may") {
        fixture f(steps, true);
        f.start();
        f.arrive(1, &seven, 2);
        CHECK(f.port.log.empty());
        f.arrive(0, &six, 1);
        CHECK(f.port.log == "c1 r1 c2 r2 ");
        CHECK(f.out == 567);
    }
    SECTION("copied, where it may not") {
        fixture f(steps, false);
        f.start();
        f.arrive(1, &seven, 2);
        CHECK(f.port.log == "c2 r2 ");
        seven = 1; // the sender has its bytes back
        f.arrive(0, &six, 1);
        CHECK(f.port.log == "c2 r2 c1 r1 ");
        CHECK(f.out == 567);
    }
}

TEST_CASE("engine: a message that comes before its place is free waits") {
    fixture f({send_step(2, all(output)), receive_step(1, all(output)), send_step(3, all(output))});
    f.port.send_results = {posted::pending};
    f.out = 3;
    f.start();
    const number seven = 7;
    f.arrive(1, &seven, 9);
    CHECK(f.out == 3); // still being sent
    CHECK(f.port.log == "s0 ");
    f.engine().completed(0);
    f.engine().go_on(f.port);
    CHECK(f.out == 7);
    CHECK(f.port.log == "s0 c9 r9 s2 ");
    CHECK(f.engine().done());
}

TEST_CASE("engine: of the messages that are there, the first of the schedule is taken first, with what follows") {
    std::vector<step> steps;
    for (std::uint32_t k = 0; k != 6; ++k) {
        steps.push_back(receive_step(1 + k, all(scratch(k))));
        steps.push_back(send_step(11 + k, all(scratch(k))));
    }
    steps.push_back(copy_step(all(input), all(output)));
    std::vector<std::uint32_t> order{0, 2, 4, 6, 8, 10};
    const number payload = 7;
    do { // all come before the rank looks, in any order
        fixture f(steps);
        f.start();
        for (const std::uint32_t step : order)
            f.engine().arrived(step, {reinterpret_cast<const std::byte*>(&payload), sizeof payload, step, 1, true});
        REQUIRE(f.port.log.empty());
        f.engine().go_on(f.port);
        REQUIRE(f.port.log == "c0 r0 s1 c2 r2 s3 c4 r4 s5 c6 r6 s7 c8 r8 s9 c10 r10 s11 ");
        REQUIRE(f.engine().done());
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("engine: a refused send is tried again, and later ones on its channel wait for it") {
    fixture f({send_step(1, all(input)), send_step(1, all(input)), send_step(2, all(input))});
    f.port.send_results = {posted::would_block};
    f.start();
    CHECK(f.port.log == "s0 s2 ");
    CHECK(f.engine().has_blocked());
    f.port.send_results = {posted::would_block};
    f.engine().retry(f.port);
    CHECK(f.port.log == "s0 s2 s0 ");
    f.port.send_results = {posted::pending, posted::would_block};
    f.engine().retry(f.port); // accepted: the next may be posted, though the first is not complete
    CHECK(f.port.log == "s0 s2 s0 s0 s1 ");
    CHECK(f.engine().has_blocked());
    f.engine().retry(f.port);
    CHECK_FALSE(f.engine().has_blocked());
    CHECK_FALSE(f.engine().done());
    f.engine().completed(0);
    f.engine().go_on(f.port);
    CHECK(f.engine().done());
    CHECK((f.port.sent.back().segment == 1 && f.port.sent.back().to == 1));
}

TEST_CASE("engine: errors name their step, and what is held can be released") {
    const number seven = 7;
    const std::vector<step> steps{receive_step(1, all(scratch(0))), receive_step(2, all(scratch(1))),
                                  combine_step(all(input), all(scratch(0)), all(output)),
                                  combine_step(all(output), all(scratch(1)), all(output))};
    fixture f(steps, true);
    f.start();
    f.arrive(1, &seven, 2); // held
    SECTION("a message of a wrong length") {
        f.arrive(0, &seven, 1, 7);
        CHECK(f.engine().error() == errc::protocol_error);
    }
    SECTION("a message that its sender took back") {
        f.port.claims = false;
        f.arrive(0, &seven, 1);
        CHECK(f.engine().error() == errc::peer_aborted);
    }
    SECTION("a message that cannot be taken") {
        f.port.take_results = {posted::failed};
        f.arrive(0, nullptr, 1);
        CHECK(f.engine().error() == errc::peer_aborted);
    }
    CHECK((f.engine().error_step() == 0 || f.engine().error_step() == 2));
    CHECK_FALSE(f.engine().done());
    CHECK(f.out == 0);
    f.port.log.clear();
    f.engine().release_held(f.port);
    CHECK(f.port.log == "r1 r2 ");
    f.engine().release_held(f.port);
    CHECK(f.port.log == "r1 r2 ");
}

TEST_CASE("engine: a held message is released once, also if that throws") {
    struct poor_port : test::port {
        void release(const held_message& held) {
            port::release(held);
            if (held.handle == 1) throw 1;
        }
    } poor;
    fixture f({receive_step(1, all(scratch(0))), receive_step(2, all(scratch(1))),
               combine_step(all(input), all(scratch(0)), all(output)),
               combine_step(all(output), all(scratch(1)), all(output))},
              true);
    f.start();
    const number seven = 7;
    f.arrive(1, &seven, 1);    // held
    f.arrive(0, &seven, 2, 7); // its length is wrong
    CHECK_THROWS(f.engine().release_held(poor));
    f.engine().release_held(poor);
    CHECK(poor.log == "r2 r1 ");
}

TEST_CASE("engine: a message that is copied and was taken back is still released") {
    fixture f({receive_step(1, all(output))});
    f.start();
    f.port.claims = false;
    const number seven = 7;
    f.arrive(0, &seven, 1);
    CHECK(f.engine().error() == errc::peer_aborted);
    f.engine().release_held(f.port);
    CHECK(f.port.log == "c1 r1 ");
    CHECK(f.out == 0);
}

TEST_CASE("engine: a send to a peer that is lost") {
    fixture f({send_step(4, all(input)), send_step(4, all(input))});
    f.port.send_results = {posted::failed};
    f.start();
    CHECK(f.engine().error() == errc::peer_dead);
    CHECK(f.engine().error_step() == 0);
    CHECK(f.port.sent.size() == 1); // nothing is posted after an error
}

TEST_CASE("engine: a schedule can be run again, also after an error") {
    fixture f({receive_step(1, all(scratch(0))), combine_step(all(input), all(scratch(0)), all(output)),
               send_step(1, all(output))});
    const number seven = 7;
    f.start();
    f.arrive(0, &seven, 1, 3);
    CHECK(f.engine().error() == errc::protocol_error);
    f.engine().release_held(f.port);
    for (number i = 1; i != 4; ++i) {
        f.in = i;
        f.start();
        CHECK_FALSE(f.engine().done());
        f.arrive(0, &seven, i);
        CHECK(f.engine().done());
        CHECK(f.engine().error() == errc::ok);
        CHECK(f.out == i * 10 + 7);
    }
}

TEST_CASE("engine: nothing to do is done at once") {
    fixture f(std::vector<step>{});
    f.start();
    CHECK(f.engine().done());
}

namespace {

// Three elements, of which messages come in pieces.
struct pieces_fixture {
    explicit pieces_fixture(std::vector<step> steps) : work(bind_steps(steps, 1)) {}
    void start() {
        const call c{reinterpret_cast<std::byte*>(in.data()), reinterpret_cast<std::byte*>(out.data()), 3,
                     sizeof(number), &decimal};
        work.prepare(c);
        work.engine().start(c, port);
    }
    void arrive(std::uint32_t step, std::uint64_t handle) {
        work.engine().arrived(step, {nullptr, 3 * sizeof(number), handle, 1, true});
        work.engine().go_on(port);
    }
    void piece(std::uint32_t step, const std::vector<number>& elements) {
        work.engine().piece(step, reinterpret_cast<const std::byte*>(elements.data()),
                            elements.size() * sizeof(number));
    }
    prepared work;
    test::piece_port port;
    std::vector<number> in{1, 2, 3}, out{0, 0, 0};
};

} // namespace

TEST_CASE("engine: a message that comes in pieces is combined piece by piece") {
    SECTION("message above") {
        pieces_fixture f({receive_step(1, all(scratch(0))), combine_step(all(input), all(scratch(0)), all(output)),
                          send_step(1, all(output))});
        for (int run = 0; run != 2; ++run) {
            f.port.log.clear();
            f.start();
            f.arrive(0, 9);
            CHECK(f.port.log == "p9/8 ");
            f.piece(0, {4});
            CHECK((f.out[0] == 14 && f.out[1] == (run == 0 ? 0u : 25u)));
            f.piece(0, {5, 6});
            CHECK_FALSE(f.work.engine().done());
            CHECK(f.port.log == "p9/8 "); // nothing is sent before the end of the message
            f.work.engine().completed(0);
            f.work.engine().go_on(f.port);
            CHECK(f.work.engine().done());
            CHECK(f.port.log == "p9/8 s2 ");
            CHECK(f.out == std::vector<number>{14, 25, 36});
        }
    }
    SECTION("message below, in place") {
        pieces_fixture f({copy_step(all(input), all(output)), receive_step(1, all(scratch(0))),
                          combine_step(all(scratch(0)), all(output), all(output))});
        f.start();
        f.arrive(1, 9);
        f.piece(1, {4, 5});
        f.piece(1, {6});
        f.work.engine().completed(1);
        f.work.engine().go_on(f.port);
        CHECK(f.work.engine().done());
        CHECK(f.out == std::vector<number>{41, 52, 63});
    }
}

TEST_CASE("engine: a message comes whole where its combine must wait, or the port says so") {
    SECTION("the combine waits for another message") {
        pieces_fixture f({receive_step(1, all(scratch(0))), receive_step(2, all(scratch(1))),
                          combine_step(all(scratch(0)), all(scratch(1)), all(output))});
        f.start();
        f.arrive(0, 9);
        CHECK(f.port.log == "t9 ");
    }
    SECTION("it is not combined") {
        pieces_fixture f({receive_step(1, all(output))});
        f.start();
        f.arrive(0, 9);
        CHECK(f.port.log == "t9 ");
        CHECK(f.work.engine().done());
    }
    SECTION("not in pieces") {
        pieces_fixture f({receive_step(1, all(scratch(0))), combine_step(all(input), all(scratch(0)), all(output))});
        f.port.piece_results = {posted::would_block};
        f.start();
        f.arrive(0, 9);
        CHECK(f.port.log == "p9/8 t9 ");
        CHECK(f.work.engine().done());
    }
    SECTION("taken back") {
        pieces_fixture f({receive_step(1, all(scratch(0))), combine_step(all(input), all(scratch(0)), all(output))});
        f.port.piece_results = {posted::failed};
        f.start();
        f.arrive(0, 9);
        CHECK(f.port.log == "p9/8 ");
        CHECK(f.work.engine().error() == errc::peer_aborted);
    }
}

TEST_CASE("engine: a run that ended among pieces leaves nothing to the next") {
    pieces_fixture f({receive_step(1, all(scratch(0))), combine_step(all(input), all(scratch(0)), all(output))});
    f.start();
    f.arrive(0, 9);
    f.piece(0, {4});
    f.work.engine().forget();
    f.start();
    f.port.piece_results = {posted::would_block};
    f.arrive(0, 10);
    CHECK(f.port.log == "p9/8 p10/8 t10 ");
    CHECK(f.work.engine().done());
    f.port.log.clear();
    f.start();
    f.arrive(0, 11);
    f.piece(0, {7, 8, 9});
    f.work.engine().completed(0);
    f.work.engine().go_on(f.port);
    CHECK(f.out == std::vector<number>{17, 28, 39});
}

// Two digits for each operand, of which the first is 9.
void decimals(const void*, const std::byte* const* operands, std::size_t size, std::byte* out, std::size_t count) {
    for (std::size_t i = 0; i != count; ++i) {
        number all = 0;
        for (std::size_t k = 0; k != size; ++k) {
            number one = 0;
            std::memcpy(&one, operands[k] + i * sizeof one, sizeof one);
            all = all * 100 + 90 + one;
        }
        std::memcpy(out + i * sizeof all, &all, sizeof all);
    }
}

TEST_CASE("engine: a series of combines runs as one combine of many, when all its messages are there") {
    const std::vector<step> steps{receive_step(1, all(scratch(0))), receive_step(2, all(scratch(1))),
                                  combine_step(all(scratch(0)), all(input), all(scratch(2))),
                                  combine_step(all(scratch(2)), all(scratch(1)), all(output)),
                                  send_step(1, all(output))};
    bound_schedule bound = bind_steps(steps, 1, true);
    bound.may_hold = true;
    REQUIRE(bound.series_operands() == 3);
    prepared work(std::move(bound));
    test::piece_port port;
    number in = 5, out = 0, six = 6, seven = 7;
    call c{reinterpret_cast<std::byte*>(&in), reinterpret_cast<std::byte*>(&out), 1, sizeof(number), &decimal};
    c.combine_many = &decimals;
    const auto arrive = [&](std::uint32_t step, const number* payload, std::uint64_t handle) {
        work.engine().arrived(step, {reinterpret_cast<const std::byte*>(payload), sizeof(number), handle, 1, true});
        work.engine().go_on(port);
    };
    for (int turn = 0; turn != 2; ++turn) {
        CAPTURE(turn);
        port.log.clear();
        out = 0, six = 6;
        work.prepare(c);
        work.engine().start(c, port);
        arrive(1, &seven, 2);
        CHECK(port.log == "c2 r2 "); // copied at once, though it might be held
        arrive(0, &six, 1);
        six = 1; // its sender has its bytes back
        CHECK(work.engine().done());
        CHECK(out == 969597);
        CHECK(port.log == "c2 r2 c1 r1 s4 "); // the result leaves after the combine
    }
    SECTION("a payload that is still with its sender is taken whole, not in pieces") {
        port.log.clear();
        work.prepare(c);
        work.engine().start(c, port);
        arrive(1, &seven, 2);
        port.take_results = {posted::pending};
        arrive(0, nullptr, 1);
        CHECK_FALSE(work.engine().done());
        const number eight = 8;
        std::memcpy(port.taken_into, &eight, sizeof eight);
        work.engine().completed(0);
        work.engine().go_on(port);
        CHECK(work.engine().done());
        CHECK(out == 989597);
        CHECK(port.log == "c2 r2 t1 s4 ");
    }
    SECTION("the same plan runs an op that combines two at a time") {
        c.combine_many = nullptr;
        port.log.clear();
        work.prepare(c);
        work.engine().start(c, port);
        six = 6;
        arrive(0, &six, 1);
        arrive(1, &seven, 2);
        CHECK(work.engine().done());
        CHECK(out == 657);
    }
}

TEST_CASE("engine: a series on no elements calls no op") {
    const std::vector<step> steps{receive_step(1, all(scratch(0))),
                                  combine_step(all(scratch(0)), all(input), all(output))};
    prepared work(bind_steps(steps, 1, true));
    test::port port;
    call c{nullptr, nullptr, 0, sizeof(number), &decimal};
    c.combine_many = [](const void*, const std::byte* const*, std::size_t, std::byte*, std::size_t) { FAIL("called"); };
    work.prepare(c);
    work.engine().start(c, port);
    work.engine().arrived(0, {nullptr, 0, 1, 1, true});
    work.engine().go_on(port);
    CHECK(work.engine().done());
}
