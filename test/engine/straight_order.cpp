// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/per_level.hpp>
#include <bough/engine/bound.hpp>
#include <bough/engine/straight_order.hpp>
#include <bough/schedule/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

using namespace bough;

namespace {

using action = straight_step::action;
const slice in{input, 0, 1}, out{output, 0, 1}, first{scratch(0), 0, 1}, second{scratch(1), 0, 1};

bough::detail::plain_list<straight_step> order_of(const std::vector<step>& steps) {
    const bound_schedule bound = bind_steps(steps, 1);
    return straight_order(bound.view());
}

} // namespace

TEST_CASE("straight_order: all that can be sent is sent before a message is waited for") {
    const slice third{scratch(2), 0, 1};
    const auto list = order_of({receive_step(1, first), combine_step(in, first, second), send_step(2, in),
                                send_step(3, second), copy_step(in, third)});
    REQUIRE(list.size() == 4);
    CHECK(list[0].what == action::send);
    CHECK(list[0].peer == 2);
    CHECK(list[1].what == action::copy);
    CHECK(list[2].what == action::combine_with_upper);
    CHECK(list[2].step == 1);
    CHECK(list[2].receive == 0);
    CHECK(list[3].peer == 3); // what waits for the message
}

TEST_CASE("straight_order: a message is combined where it landed, whichever receive that takes first") {
    const auto list = order_of({receive_step(1, first), receive_step(2, second), combine_step(in, second, out),
                                combine_step(first, out, out)});
    REQUIRE(list.size() == 2);
    CHECK(list[0].what == action::combine_with_upper);
    CHECK(list[0].peer == 2);
    CHECK(list[1].what == action::combine_with_lower);
    CHECK(list[1].peer == 1);
}

TEST_CASE("straight_order: messages of one peer are read in their order") {
    const auto list = order_of({receive_step(1, first), receive_step(1, second), combine_step(second, in, out),
                                combine_step(out, first, out)});
    REQUIRE(list.size() == 3);
    CHECK(list[0].what == action::receive);
    CHECK(list[0].segment == 0);
    CHECK(list[1].what == action::combine_with_lower);
    CHECK(list[1].segment == 1);
    CHECK(list[2].what == action::combine);
}

TEST_CASE("straight_order: each step stands once, behind all that it waits for") {
    for (rank_t size = 1; size <= 16; ++size)
        for (rank_t rank = 0; rank != size; ++rank)
            for (const level_form form : {level_form::exchange, level_form::halving}) {
                const auto plan = plan_allreduce(per_level_allreduce{.form = form}, {.size = size});
                const bound_schedule bound = bind_plan(plan, rank);
                std::vector<std::size_t> place(bound.steps.size(), ~std::size_t{0});
                std::size_t at = 0;
                for (const straight_step& s : straight_order(bound.view())) {
                    for (const std::uint32_t i : {s.receive, s.step}) {
                        if (i == not_a_step) continue;
                        REQUIRE(place[i] == ~std::size_t{0});
                        place[i] = at++;
                    }
                }
                REQUIRE(at == bound.steps.size());
                for (std::size_t i = 0; i != bound.steps.size(); ++i) {
                    const bound_step& s = bound.steps[i];
                    for (std::uint32_t e = 0; e != s.after_count; ++e)
                        REQUIRE(place[bound.after[s.after + e]] > place[i]);
                    if (s.next_on_channel != not_a_step) REQUIRE(place[s.next_on_channel] > place[i]);
                }
            }
}
