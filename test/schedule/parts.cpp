// SPDX-License-Identifier: BSL-1.0
// Messages in parts: one message for the proof, whatever the number of its parts; a broken one is named.
#include "support/parts.hpp"

#include "schedule/made.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/mirror.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/walk.hpp>
#include <bough/verify/verify.hpp>

using namespace bough;
using test::in;
using test::judge;
using test::out;
using test::plane;

namespace {

constexpr auto exchange = plan_allreduce(test::exchange_in_parts{}, {.size = 2});
constexpr auto whole = plan_allreduce(recursive_doubling{}, {.size = 2, .blocks = 5});
static_assert(proven<verify(exchange)>());
static_assert(verify(exchange).traits.rounds == 1 && verify(exchange).traits.messages == 2);
static_assert(verify(exchange).traits.volume == 10 && verify(exchange).traits.bracket == verify(whole).traits.bracket);

constexpr auto chain = plan_broadcast(test::chain_in_parts{}, {.size = 4});
static_assert(proven<verify(chain)>() && verify(chain).traits.rounds == 3 && verify(chain).traits.hops == 3);
static_assert(proven<verify(chain, {.eager_slots = 2})>());

constexpr dimensions two{.size = 2, .blocks = 3};
constexpr goal::broadcast broadcast{};

// The next step is none, one of another peer, one of another verb.
static_assert(judge(broadcast, two, {{send_step(1, in(0, 3), true)}, {receive_step(0, out(0, 3))}}).fault ==
              fault::broken_message);
static_assert(judge(broadcast, {.size = 3, .blocks = 1},
                    {{send_step(1, in(0), true), send_step(2, in(0))}, {receive_step(0, out(0))}, {}})
                  .fault == fault::broken_message);
static_assert(judge(broadcast, two,
                    {{send_step(1, in(0, 3), true), receive_step(1, out(0, 3))}, {receive_step(0, out(0, 3))}})
                  .fault == fault::broken_message);
// The two ends cut the message differently, or put it together in another order.
static_assert(judge(broadcast, two, {{send_step(1, in(0, 2), true), send_step(1, in(2))}, {receive_step(0, out(0, 3))}})
                  .fault == fault::length_mismatch);
static_assert(judge(broadcast, two,
                    {{send_step(1, in(0), true), send_step(1, in(1, 2))},
                     {receive_step(0, out(1, 2), true), receive_step(0, out(0))}})
                  .fault == fault::length_mismatch);
static_assert(judge(broadcast, {.size = 2, .blocks = 2},
                    {{send_step(1, in(0), true), send_step(1, in(1))},
                     {receive_step(0, out(1), true), receive_step(0, out(0))}})
                  .fault == fault::mixed_blocks);
// A part that can never be ready keeps the whole message from leaving.
static_assert(judge(broadcast, {.size = 2, .blocks = 2},
                    {{receive_step(1, plane(0, 1)), send_step(1, in(0), true), send_step(1, plane(0, 1))},
                     {receive_step(0, out(0), true), receive_step(0, out(1)), send_step(0, out(1))}})
                  .fault == fault::deadlock);

} // namespace

TEST_CASE("a message in parts costs one message") {
    const model::lrc costs{
        .message_latency_ns = 1000, .receive = {100, 1}, .combine = {10, 1}, .startup_ns = 7, .copy = {}};
    const auto in_parts = model::walk(chain, costs, 3000);
    CHECK(in_parts.messages == 3);
    CHECK(in_parts.bytes == 9000);
    CHECK(in_parts.makespan_ns == 7 + 3 * (1000 + 100 + 3000));
    CHECK(!in_parts.deadlock());
    CHECK(in_parts.unreceived == 0);
}

TEST_CASE("the last part stands for the message on its channel") {
    const auto steps = exchange.schedule_of(0);
    const dependences found = infer_dependences(steps.steps);
    for (std::uint32_t i = 0; i != steps.size(); ++i) CHECK(found.channel[i] == no_step);
}
