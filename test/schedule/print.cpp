// SPDX-License-Identifier: BSL-1.0
#include "schedule/made.hpp"
#include "support/catch.hpp"
#include <bough/schedule/print.hpp>

#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

using namespace bough;
using test::in;
using test::out;
using test::plane;

static_assert(fault_name(fault::in_place_hazard) == "in_place_hazard" && verb_name(verb::combine) == "combine");

TEST_CASE("slices and steps") {
    CHECK(to_string(in(0)) == "input[0..1)");
    CHECK(to_string(out(3, 2)) == "output[3..5)");
    CHECK(to_string(plane(2, 3)) == "scratch2[3..4)");
    CHECK(to_string(slice{input, 3, 0}) == "input[3..3)");
    CHECK(to_string(slice{input, 0xffff'ffffu, 2}) == "input[4294967295..4294967297)");
    CHECK(to_string(send_step(3, in(0))) == "send -> 3 input[0..1)");
    CHECK(to_string(send_step(no_rank, in(0))) == "send -> nobody input[0..1)");
    CHECK(to_string(receive_step(1, plane(0))) == "receive <- 1 scratch0[0..1)");
    CHECK(to_string(combine_step(in(0), plane(0), out(0))) == "combine output[0..1) = op(input[0..1), scratch0[0..1))");
    CHECK(to_string(copy_step(in(0), out(0))) == "copy output[0..1) = input[0..1)");
}

TEST_CASE("a schedule: one line per step, in columns") {
    const schedule steps{{receive_step(12, plane(0)), combine_step(in(0), plane(0), out(0)), send_step(3, out(0)),
                          receive_step(12, plane(0)), send_step(3, in(1))}};
    CHECK(to_string(steps) == "0  receive <- 12  scratch0[0..1)\n"
                              "1  combine        output[0..1) = op(input[0..1), scratch0[0..1))  after 0\n"
                              "2  send    -> 3   output[0..1)                                    after 1\n"
                              "3  receive <- 12  scratch0[0..1)                                  after 0, 1\n"
                              "4  send    -> 3   input[1..2)                                     posted after 2\n");
    CHECK(to_string(schedule{}).empty());
    CHECK(to_string(schedule{{copy_step(in(0), out(0))}}) == "0  copy     output[0..1) = input[0..1)\n");

    schedule ten; // the last is step 9
    for (rank_t to = 0; to != 10; ++to) ten.send(to, in(0));
    CHECK(to_string(ten).find("0  send    -> 0  input[0..1)\n1") == 0);
    schedule eleven;
    for (rank_t to = 0; to != 11; ++to) eleven.send(to, in(0));
    CHECK(to_string(eleven).find(" 0  send    -> 0   input[0..1)\n 1") == 0);
    CHECK(to_string(eleven).find("\n10  send    -> 10  input[0..1)\n") != std::string::npos);
}

TEST_CASE("every fault has its own name and its own sentence") {
    std::set<std::string_view> names;
    std::set<std::string> sentences;
    for (int f = 0; f <= static_cast<int>(fault::different_bits); ++f) {
        const verdict v{static_cast<fault>(f), 3, 7, 2, 5, {}};
        CAPTURE(f, to_string(v));
        CHECK(names.insert(fault_name(v.fault)).second);
        CHECK(sentences.insert(to_string(v)).second);
        if (f != 0) {
            CHECK(to_string(v).find("rank 3, ") == 0);
            const bool in_result = v.fault == fault::missing_result || v.fault == fault::wrong_result ||
                                   v.fault == fault::not_in_rank_order || v.fault == fault::different_bits;
            CHECK(to_string(v).find(in_result ? "block 2 of the result" : "step 7") == 8);
        }
    }
    CHECK(fault_name(static_cast<fault>(99)) == "unknown fault");
    CHECK(to_string(verdict{static_cast<fault>(99), 3, 7, 2, 5, {}}) == "unknown fault");
}

TEST_CASE("the sentences of faults") {
    const auto says = [](fault what, rank_t peer) { return to_string(verdict{what, 3, 7, 2, peer, {}}); };
    CHECK(says(fault::none, no_rank) == "no fault: the plan is proved");
    CHECK(says(fault::unmatched_receive, 5) == "rank 3, step 7 (receive from 5): no send for this receive");
    CHECK(says(fault::unmatched_send, 5) == "rank 3, step 7 (send to 5): no receive for this send");
    CHECK(says(fault::bad_peer, 3) == "rank 3, step 7: a message to oneself");
    CHECK(says(fault::bad_peer, 9) == "rank 3, step 7: 9 is not a rank of the group");
    CHECK(says(fault::bad_peer, no_rank) == "rank 3, step 7: nobody is not a rank of the group");
    CHECK(says(fault::deadlock, 5) == "rank 3, step 7 (message with 5): can never start: deadlock");
    CHECK(says(fault::deadlock, no_rank) == "rank 3, step 7: can never start: deadlock");
    CHECK(says(fault::repeated_contribution, 0) ==
          "rank 3, step 7: counts the contribution of rank 0 to block 2 twice");
    CHECK(says(fault::missing_result, no_rank) == "rank 3, block 2 of the result: never written");
    CHECK(says(fault::wrong_result, 0) ==
          "rank 3, block 2 of the result: the contribution of rank 0 is missing or does not belong there");
    CHECK(says(fault::wrong_result, no_rank) == "rank 3, block 2 of the result: holds another block");
}

TEST_CASE("traits: a table") {
    plan_traits t;
    t.rounds = 4;
    t.messages = 1'000'000;
    t.bracket = 0x5e03'febe'1769'313f;
    t.needs_commutative = true;
    const std::string text = to_string(t);
    CHECK(text.find("rounds                               4  one-ported\n") == 0);
    CHECK(text.find("\nmessages                       1000000  of all ranks\n") != std::string::npos);
    CHECK(text.find("\nbracket             0x5e03febe1769313f  equal: same bits\n") != std::string::npos);
    CHECK(text.find("\nneeds_commutative                  yes\n") != std::string::npos);
    CHECK(to_string(plan_traits{}).find("0x0000000000000000") != std::string::npos);
}

TEST_CASE("streams get the same text") {
    std::ostringstream stream;
    stream << verb::send << ' ' << scratch(4) << ' ' << in(0) << ' ' << copy_step(in(0), out(0)) << ' '
           << fault::deadlock << ' ' << verdict{} << '\n'
           << schedule{{copy_step(in(0), out(0))}} << plan_traits{};
    CHECK(stream.str() == "send scratch4 input[0..1) copy output[0..1) = input[0..1) deadlock " + to_string(verdict{}) +
                              "\n0  copy     output[0..1) = input[0..1)\n" + to_string(plan_traits{}));
}
