// SPDX-License-Identifier: BSL-1.0
// Every fault, provoked by the smallest schedules that have it: named with the right rank, step, block and peer.
#include "schedule/made.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/verify/verify.hpp>

#include <span>
#include <vector>

using namespace bough;
using test::in;
using test::judge;
using test::out;
using test::plane;

namespace {

constexpr bool says(const verdict& v, fault what, rank_t rank, std::uint32_t step, block_t block = 0,
                    rank_t peer = no_rank) {
    return v == verdict{what, rank, step, block, peer, {}};
}
constexpr dimensions one{.size = 1, .blocks = 1};
constexpr dimensions two{.size = 2, .blocks = 1};

constexpr goal::reduce reduce{};
constexpr goal::allreduce allreduce{};
constexpr goal::broadcast broadcast{};

// A right plan, so that what follows is wrong for one reason only.
static_assert(judge(broadcast, two, {{send_step(1, in(0))}, {receive_step(0, out(0))}}));
static_assert(judge(reduce, two,
                    {{receive_step(1, plane(0)), combine_step(in(0), plane(0), out(0))}, {send_step(0, in(0))}}));
static_assert(judge(reduce, one, {{copy_step(in(0), out(0))}}));
static_assert(judge(reduce, {.size = 1, .blocks = 0}, {{}}));

// bad_peer: oneself, nobody.
static_assert(says(judge(broadcast, two, {{send_step(0, in(0))}, {}}), fault::bad_peer, 0, 0, 0, 0));
static_assert(says(judge(broadcast, two, {{send_step(1, in(0))}, {receive_step(0, out(0)), receive_step(2, out(0))}}),
                   fault::bad_peer, 1, 1, 0, 2));
static_assert(says(judge(broadcast, two, {{send_step(no_rank, in(0))}, {}}), fault::bad_peer, 0, 0, 0, no_rank));

// bad_slice: outside the vector (and where first + count wraps around); operands of different length.
static_assert(says(judge(broadcast, two, {{send_step(1, in(1))}, {}}), fault::bad_slice, 0, 0, 1));
static_assert(says(judge(broadcast, two, {{send_step(1, in(0, 2))}, {}}), fault::bad_slice, 0, 0, 0));
static_assert(says(judge(broadcast, two, {{send_step(1, in(0xffff'ffffu, 2))}, {}}), fault::bad_slice, 0, 0,
                   0xffff'ffffu));
static_assert(says(judge(reduce, {.size = 1, .blocks = 2}, {{copy_step(in(0, 2), out(0)), copy_step(in(1), out(1))}}),
                   fault::bad_slice, 0, 0, 0));
static_assert(says(judge(reduce, {.size = 1, .blocks = 2}, {{combine_step(in(0, 2), in(0), out(0, 2))}}),
                   fault::bad_slice, 0, 0, 0));

// broken_message: a message in parts goes on to another peer, with another step, or not at all.
constexpr dimensions two_blocks{.size = 2, .blocks = 2};
static_assert(judge(broadcast, two_blocks,
                    {{send_step(1, in(0), true), send_step(1, in(1))},
                     {receive_step(0, out(0), true), receive_step(0, out(1))}}));
static_assert(says(judge(broadcast, {.size = 3, .blocks = 2},
                         {{send_step(1, in(1), true), send_step(2, in(0))}, {}, {}}),
                   fault::broken_message, 0, 0, 1));
static_assert(says(judge(broadcast, two_blocks, {{send_step(1, in(0), true), receive_step(1, out(1))}, {}}),
                   fault::broken_message, 0, 0));
static_assert(says(judge(broadcast, two_blocks, {{}, {receive_step(0, out(1), true)}}), fault::broken_message, 1, 0,
                   1));

// overlapping_operands: also across input and output, which are the same memory in place.
static_assert(says(judge(reduce, {.size = 1, .blocks = 3}, {{copy_step(in(0, 2), out(1, 2))}}),
                   fault::overlapping_operands, 0, 0, 1));
static_assert(says(judge(reduce, {.size = 1, .blocks = 3},
                         {{copy_step(in(0, 3), plane(0, 0, 3)),
                           combine_step(in(0, 2), plane(0, 1, 2), plane(0, 0, 2))}}),
                   fault::overlapping_operands, 0, 1, 0));

// write_to_input.
static_assert(says(judge(broadcast, two, {{send_step(1, in(0))}, {receive_step(0, in(0))}}), fault::write_to_input, 1,
                   0));

// unmatched_send, unmatched_receive: also where one too many.
static_assert(says(judge(broadcast, two, {{send_step(1, in(0))}, {}}), fault::unmatched_send, 0, 0, 0, 1));
static_assert(says(judge(broadcast, two, {{send_step(1, in(0)), send_step(1, in(0))}, {receive_step(0, out(0))}}),
                   fault::unmatched_send, 0, 1, 0, 1));
static_assert(says(judge(broadcast, two, {{}, {receive_step(0, out(0))}}), fault::unmatched_receive, 1, 0, 0, 0));
static_assert(says(judge(broadcast, {.size = 3, .blocks = 1},
                         {{send_step(1, in(0)), send_step(2, in(0))},
                          {receive_step(0, out(0)), receive_step(2, out(0))},
                          {receive_step(0, out(0))}}),
                   fault::unmatched_receive, 1, 1, 0, 2));

// length_mismatch.
static_assert(says(judge(broadcast, {.size = 2, .blocks = 2}, {{send_step(1, in(0, 2))}, {receive_step(0, out(1))}}),
                   fault::length_mismatch, 1, 0, 1, 0));

// read_of_nothing: scratch or output before it is written; the input of a rank that has none.
static_assert(says(judge(broadcast, two, {{send_step(1, plane(0))}, {receive_step(0, out(0))}}), fault::read_of_nothing,
                   0, 0));
static_assert(says(judge(reduce, one, {{copy_step(out(0), plane(0)), copy_step(in(0), out(0))}}),
                   fault::read_of_nothing, 0, 0));
static_assert(says(judge(broadcast, two, {{receive_step(1, plane(0))}, {send_step(0, in(0))}}), fault::read_of_nothing,
                   1, 0));

// in_place_hazard: right out of place, wrong in place.
static_assert(says(judge(reduce, two,
                         {{receive_step(1, out(0)), combine_step(in(0), out(0), out(0))}, {send_step(0, in(0))}}),
                   fault::in_place_hazard, 0, 1));
static_assert(says(judge(allreduce, two,
                         {{receive_step(1, plane(0)), combine_step(in(0), plane(0), out(0)), send_step(1, in(0))},
                          {send_step(0, in(0)), receive_step(0, plane(0)), combine_step(plane(0), in(0), out(0))}}),
                   fault::in_place_hazard, 0, 2));

// mixed_blocks.
static_assert(says(judge(reduce, {.size = 2, .blocks = 2},
                         {{receive_step(1, plane(0)), combine_step(in(0), plane(0), out(0))}, {send_step(0, in(1))}}),
                   fault::mixed_blocks, 0, 0, 0, 1));
static_assert(says(judge(reduce, {.size = 1, .blocks = 2},
                         {{copy_step(in(1), plane(0)), copy_step(in(0), out(0)), copy_step(plane(0), out(1))}}),
                   fault::mixed_blocks, 0, 0));

// repeated_contribution; a barrier may repeat, an allreduce must not.
static_assert(says(judge(reduce, one, {{combine_step(in(0), in(0), out(0))}}), fault::repeated_contribution, 0, 0, 0,
                   0));
constexpr std::vector<test::steps> twice() {
    return {{receive_step(1, plane(0)), combine_step(in(0), plane(0), out(0)), combine_step(out(0), plane(0), out(0)),
             send_step(1, out(0))},
            {send_step(0, in(0)), receive_step(0, out(0))}};
}
static_assert(says(judge(allreduce, two, twice()), fault::repeated_contribution, 0, 2, 0, 1));
static_assert(judge(goal::barrier{}, two, twice()).traits.needs_idempotent);

// deadlock: each waits for the other's message before it sends.
static_assert(says(judge(broadcast, two,
                         {{receive_step(1, plane(0)), send_step(1, plane(0))},
                          {receive_step(0, out(0)), send_step(0, out(0))}}),
                   fault::deadlock, 0, 0, 0, 1));
static_assert(says(judge(broadcast, two,
                         {{send_step(1, in(0)), receive_step(1, plane(0)), copy_step(plane(0), plane(1)),
                           send_step(1, plane(1))},
                          {receive_step(0, out(0)), receive_step(0, plane(0)), send_step(0, plane(0))}}),
                   fault::deadlock, 0, 1, 0, 1));

// missing_result.
static_assert(says(judge(reduce, one, {{}}), fault::missing_result, 0, no_step));
static_assert(says(judge(broadcast, {.size = 2, .blocks = 3}, {{send_step(1, in(0, 2))}, {receive_step(0, out(0, 2))}}),
                   fault::missing_result, 1, no_step, 2));

// wrong_result: a contribution is missing; one does not belong. And another block.
static_assert(says(judge(reduce, two, {{copy_step(in(0), out(0))}, {}}), fault::wrong_result, 0, no_step, 0, 1));
static_assert(says(judge(reduce, two, {{receive_step(1, out(0))}, {send_step(0, in(0))}}), fault::wrong_result, 0,
                   no_step, 0, 0));
static_assert(says(judge(reduce, {.size = 1, .blocks = 2},
                         {{copy_step(in(0), plane(0)), copy_step(plane(0), out(1)), copy_step(in(0), out(0))}}),
                   fault::mixed_blocks, 0, 1, 1));

// write_to_output: on a rank that gets no result, or not this block.
static_assert(says(judge(reduce, two,
                         {{receive_step(1, plane(0)), combine_step(in(0), plane(0), out(0))},
                          {copy_step(in(0), out(0)), send_step(0, out(0))}}),
                   fault::write_to_output, 1, 0));
static_assert(says(judge(goal::reduce_scatter{}, {.size = 2, .blocks = 2},
                         {{send_step(1, in(1)), receive_step(1, plane(0)), combine_step(in(0), plane(0), out(0)),
                           copy_step(in(1), out(1))},
                          {send_step(0, in(0)), receive_step(0, plane(1)), combine_step(plane(1), in(1), out(1))}}),
                   fault::write_to_output, 0, 3, 1));
static_assert(says(judge(goal::exscan{}, two,
                         {{copy_step(in(0), out(0)), send_step(1, in(0))}, {receive_step(0, out(0))}}),
                   fault::write_to_output, 0, 0));

// scratch_exceeded: counted in blocks, each once.
static_assert(says(
    judge(reduce, one, {{copy_step(in(0), plane(0)), copy_step(in(0), plane(1)), copy_step(plane(1), out(0))}}, {}, 1),
    fault::scratch_exceeded, 0, 1));
static_assert(judge(reduce, one,
                    {{copy_step(in(0), plane(0)), copy_step(in(0), plane(0)), copy_step(plane(0), out(0))}}, {}, 1));

// Both keep a copy, send what they have and receive over it: the receive waits for the send. Without buffers nobody's
// send ends.
constexpr std::vector<test::steps> exchange() {
    return {{copy_step(in(0), plane(0)), send_step(1, in(0)), receive_step(1, out(0)),
             combine_step(plane(0), out(0), out(0))},
            {copy_step(in(0), plane(0)), send_step(0, in(0)), receive_step(0, out(0)),
             combine_step(out(0), plane(0), out(0))}};
}
static_assert(says(judge(allreduce, two, exchange()), fault::deadlock, 0, 1, 0, 1));
static_assert(judge(allreduce, two, exchange(), {.eager_slots = 1}));
static_assert(!judge(allreduce, two, exchange(), {.eager_slots = 1}).traits.needs_commutative);

// `messages` sends over one's own input before anything is received: so many slots are needed, and no fewer.
constexpr std::vector<test::steps> burst(std::uint32_t messages) {
    std::vector<test::steps> both(2);
    for (rank_t r = 0; r != 2; ++r) {
        both[r].push_back(copy_step(in(0), plane(0)));
        for (std::uint32_t m = 0; m != messages; ++m) both[r].push_back(send_step(1 - r, in(0)));
        for (std::uint32_t m = 0; m != messages; ++m) both[r].push_back(receive_step(1 - r, out(0)));
        both[r].push_back(r == 0 ? combine_step(plane(0), out(0), out(0)) : combine_step(out(0), plane(0), out(0)));
    }
    return both;
}
static_assert(judge(allreduce, two, burst(3), {.eager_slots = 2}).fault == fault::deadlock);
static_assert(judge(allreduce, two, burst(3), {.eager_slots = 3}));
static_assert(judge(allreduce, two, burst(3), {.eager_slots = 7}));

// A held message stays with its sender until it is combined. Two ranks that exchange and combine over what they sent wait
// for each other then; a receiver that combines into memory of its own does not.
constexpr std::vector<test::steps> exchange_over(slice result) {
    return {{send_step(1, in(0)), receive_step(1, plane(0)), combine_step(in(0), plane(0), result),
             copy_step(result, out(0))},
            {send_step(0, in(0)), receive_step(0, plane(0)), combine_step(plane(0), in(0), result),
             copy_step(result, out(0))}};
}
static_assert(judge(allreduce, two, exchange_over(plane(1)), {.hold = true}));
static_assert(judge(allreduce, two, exchange_over(out(0))));
static_assert(says(judge(allreduce, two, exchange_over(out(0)), {.hold = true}), fault::deadlock, 0, 0, 0, 1));

// Traits of a plan that is small enough to count by hand: three ranks, a chain, two blocks, towards rank 0.
constexpr std::vector<test::steps> chain() {
    return {{receive_step(1, plane(0, 0, 2)), combine_step(in(0, 2), plane(0, 0, 2), out(0, 2))},
            {receive_step(2, plane(0, 0, 2)), combine_step(in(0, 2), plane(0, 0, 2), plane(0, 0, 2)),
             send_step(0, plane(0, 0, 2))},
            {send_step(1, in(0, 2))}};
}
constexpr verdict chained = judge(reduce, {.size = 3, .blocks = 2}, chain());
static_assert(chained);
static_assert(chained.traits.rounds == 2 && chained.traits.hops == 2 && chained.traits.depth == 2);
static_assert(chained.traits.steps_max == 3 && chained.traits.peers_max == 2 && chained.traits.messages == 2);
static_assert(chained.traits.volume == 4 && chained.traits.volume_max == 2 && chained.traits.combines == 4);
static_assert(chained.traits.combines_max == 2 && chained.traits.scratch_max == 2 && chained.traits.bracket != 0);
static_assert(!chained.traits.needs_commutative && !chained.traits.needs_idempotent);
static_assert(chained.traits.rank_consistent && chained.traits.position_invariant);

// Each rank combines its own first: different bits on different ranks, and not in rank order.
constexpr verdict selfish =
    judge(allreduce, two,
          {{send_step(1, in(0)), receive_step(1, plane(0)), combine_step(in(0), plane(0), out(0))},
           {send_step(0, in(0)), receive_step(0, plane(0)), combine_step(in(0), plane(0), out(0))}});
static_assert(selfish && !selfish.traits.rank_consistent && selfish.traits.needs_commutative);

// One block left to right, the other right to left.
constexpr verdict turned = judge(reduce, {.size = 2, .blocks = 2},
                                 {{receive_step(1, plane(0, 0, 2)), combine_step(in(0), plane(0, 0), out(0)),
                                   combine_step(plane(0, 1), in(1), out(1))},
                                  {send_step(0, in(0, 2))}});
static_assert(turned && !turned.traits.position_invariant && turned.traits.rank_consistent);

// One port per rank: a star of five takes four rounds, whichever rank is its root.
constexpr std::uint32_t rounds_of_star(rank_t root) {
    std::vector<test::steps> ranks(5);
    for (rank_t r = 0; r != 5; ++r)
        if (r != root) {
            ranks[root].push_back(send_step(r, in(0)));
            ranks[r].push_back(receive_step(root, out(0)));
        }
    return judge(broadcast, {.size = 5, .root = root, .blocks = 1}, ranks).traits.rounds;
}
static_assert(rounds_of_star(0) == 4 && rounds_of_star(2) == 4 && rounds_of_star(4) == 4);

// A rank's sends leave in program order: rank 2 serves first whom it lists first, though rank 0 is ready as well.
static_assert(judge(broadcast, {.size = 4, .root = 2, .blocks = 1},
                    {{receive_step(2, out(0))},
                     {receive_step(3, out(0))},
                     {send_step(3, in(0)), send_step(0, in(0))},
                     {receive_step(2, out(0)), send_step(1, out(0))}})
                  .traits.rounds == 2);

// Two messages of rank 0 have left it, and wait for the ports of ranks 1 and 2 where they are received. The first one
// waits for longer, while rank 0 sends something else: that does not hold the second one up.
constexpr std::uint32_t rounds_beside_a_busy_port() {
    const auto first = [](rank_t to, block_t block) { return test::steps{send_step(to, in(block))}; };
    return judge(
               goal::multicasts{
                   {{0, {1}}, {0, {2, 3}}, {4, {1}}, {5, {1}}, {6, {1}}, {7, {2}}, {8, {2}}, {9, {0}}, {10, {0, 11}}}},
               {.size = 12, .blocks = 9},
               std::vector<test::steps>{
                   {receive_step(9, out(7)), receive_step(10, out(8)), send_step(11, out(8)), send_step(1, in(0)),
                    send_step(2, in(1))},
                   {receive_step(4, out(2)), receive_step(5, out(3)), receive_step(6, out(4)), receive_step(0, out(0))},
                   {receive_step(7, out(5)), receive_step(8, out(6)), receive_step(0, out(1)), send_step(3, out(1))},
                   {receive_step(2, out(1))},
                   first(1, 2),
                   first(1, 3),
                   first(1, 4),
                   first(2, 5),
                   first(2, 6),
                   first(0, 7),
                   first(0, 8),
                   {receive_step(0, out(8))}},
               {.eager_slots = 1})
        .traits.rounds;
}
static_assert(rounds_beside_a_busy_port() == 4);

// A combine of two messages: the one whose receive stands first is held, as the engine does, and
// not that of the lower rank. Held, the send of rank 2 does not end before rank 0 has the message of
// rank 1; but rank 1 can send that only after rank 2 has gone on.
constexpr verdict of_two_messages(verify_options options) {
    return judge(allreduce, {.size = 3, .blocks = 1},
                 {{receive_step(2, plane(0)), receive_step(1, plane(1)), combine_step(plane(1), plane(0), plane(2)),
                   combine_step(in(0), plane(2), out(0)), send_step(1, out(0)), send_step(2, out(0))},
                  {send_step(2, in(0)), receive_step(2, plane(0)), send_step(0, plane(0)), receive_step(0, out(0))},
                  {send_step(0, in(0)), receive_step(1, out(0)), send_step(1, out(0)), receive_step(0, out(0))}},
                 options);
}
static_assert(of_two_messages({}));
static_assert(of_two_messages({.hold = true}).fault == fault::deadlock);

} // namespace

TEST_CASE("what is proved at compile time holds at run time") {
    REQUIRE(judge(reduce, {.size = 3, .blocks = 2}, chain()) == chained);
    REQUIRE(judge(allreduce, two, exchange()).fault == fault::deadlock);
    for (std::uint32_t messages = 1; messages != 9; ++messages)
        for (std::uint32_t slots = 0; slots != 12; ++slots) {
            CAPTURE(messages, slots);
            REQUIRE(static_cast<bool>(judge(allreduce, two, burst(messages), {.eager_slots = slots})) ==
                    (slots >= messages));
        }
}

TEST_CASE("verify: a neighbour's block goes to those that receive from it, and to nobody else") {
    // A line of three: 0 sends to 1, and 1 to 2.
    const goal::neighbour_allgather line{grid_neighbours{.extents = {3}, .offsets = {{1}}, .ends = {true}}};
    const dimensions three{.size = 3, .blocks = 3};
    const test::steps first{send_step(1, in(0))}, second{receive_step(0, out(0)), send_step(2, in(1))},
        last{receive_step(1, out(1))};
    const auto of = [&](const std::vector<test::steps>& ranks) { return judge(line, three, ranks); };
    CHECK(of({first, second, last}));
    CHECK(says(of({{}, {send_step(2, in(1))}, last}), fault::missing_result, 1, no_step, 0)); // rank 1 goes without
    CHECK(says(of({first, {receive_step(0, out(0))}, {}}), fault::missing_result, 2, no_step, 1));
    CHECK_FALSE(of({first, second, {receive_step(1, out(0))}})); // in another's place
}

// A plan that keeps its steps, and what it claims.
struct kept_plan {
    bough::plan<goal::allreduce, recursive_doubling> made;
    std::vector<schedule> kept{};
    int* emitted = nullptr;

    auto goal() const { return made.goal(); }
    const auto& algorithm() const { return made.algorithm(); }
    const dimensions& at() const { return made.at(); }
    rank_t size() const { return made.size(); }
    rank_t root() const { return made.root(); }
    block_t blocks() const { return made.blocks(); }
    block_t scratch(rank_t r) const { return made.scratch(r); }
    void emit(rank_t r, StepSink auto&& out) const { ++*emitted, made.emit(r, out); }
    std::span<const schedule> schedules() const { return kept; }
};

TEST_CASE("a plan that keeps its steps is not asked to make them") {
    int emitted = 0;
    kept_plan plan{plan_allreduce(recursive_doubling{}, {.size = 7}), {}, &emitted};
    for (rank_t r = 0; r != 7; ++r) plan.kept.push_back(plan.made.schedule_of(r));
    CHECK(verify(plan) == verify(plan.made));
    plan.kept[3].steps.pop_back();
    CHECK(verify(plan).fault != fault::none);
    CHECK(emitted == 0);
}

// A million planes with room for all blocks each would be terabytes.
TEST_CASE("memory is for the blocks that steps touch") {
    constexpr std::uint32_t most = 1'000'000;
    constexpr block_t last = (1u << 18) - 1;
    const verdict found = judge(
        broadcast, {.size = 2, .blocks = last + 1},
        {{send_step(1, in(0, last)), send_step(1, in(last))},
         {receive_step(0, out(0, last)), receive_step(0, plane(most, last)), copy_step(plane(most, last), out(last))}},
        {}, 1);
    REQUIRE(found);
    REQUIRE(found.traits.scratch_max == 1);
}
