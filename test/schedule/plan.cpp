// SPDX-License-Identifier: BSL-1.0
#include "schedule/made.hpp"
#include "support/catch.hpp"
#include <bough/core/freeze.hpp>
#include <bough/schedule/plan.hpp>

#include <array>
#include <string_view>

using namespace bough;

namespace {

// Rank 0 sends its vector to every other rank, in two halves; refuses more than eight ranks.
struct star {
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (rank != 0) {
            out.receive(0, {output, 0, at.blocks});
            return;
        }
        for (rank_t to = 1; to < at.size; ++to) out.send(to, {input, 0, at.blocks});
    }
    constexpr block_t natural_blocks(rank_t size) const { return 2 * size; }
    constexpr block_t scratch(const dimensions&, rank_t) const { return 0; }
    constexpr status check(const dimensions& at) const {
        return at.size > 8 ? invalid_argument("size: a star has at most eight ranks") : status{};
    }
    friend constexpr bool operator==(const star&, const star&) = default;
};
static_assert(Algorithm<star> && Plan<plan<goal::broadcast, star>>);

constexpr std::string_view complaint(const dimensions& at) {
    const status s = check_plan(star{}, at);
    return s ? std::string_view(s.argument) : std::string_view();
}
static_assert(complaint({.size = 1}).empty() && complaint({.size = 8, .root = 7, .blocks = 0}).empty());
static_assert(complaint({.size = 0}) == "size: a group needs at least one rank");
static_assert(complaint({.size = no_rank}) == "size: too many ranks");
static_assert(complaint({.size = 3, .root = 3}) == "root: not a rank of the group");
static_assert(complaint({.size = 3, .root = no_rank}) == "root: not a rank of the group");
static_assert(complaint({.size = 9}) == "size: a star has at most eight ranks");

constexpr plan<goal::broadcast, star> five = plan_broadcast(star{}, {.size = 5});
static_assert(five.size() == 5 && five.root() == 0 && five.blocks() == 10 && five.scratch(3) == 0);
static_assert(five == plan_broadcast(star{}, {.size = 5, .blocks = 10}));
static_assert(five != plan_broadcast(star{}, {.size = 5, .blocks = 3}));
static_assert(plan_broadcast(star{}, {.size = 5, .blocks = 0}).blocks() == 0);
static_assert(five.schedule_of(3) == five.schedule_of(4) && five.schedule_of(0).size() == 4);
static_assert(proven<verify(five)>());

// A goal belongs to a plan's type: the same steps with another goal are another plan.
static_assert(!verify(plan_allreduce(star{}, {.size = 5})));
static_assert(plan_reduce(star{}, {.size = 1}).goal() == goal::reduce{});
static_assert(plan_barrier(star{}, {.size = 1}).goal() == goal::barrier{});

// Where ranks have blocks, each has as many.
constexpr dimensions in_twelve{.size = 4, .blocks = 12};
static_assert(owner_of(in_twelve, 2) == 0 && owner_of(in_twelve, 3) == 1 && owner_of(in_twelve, 11) == 3);
static_assert(owner_of({.size = 4, .blocks = 4}, 3) == 3 && owner_of({.size = 4}, 3) == 3);
static_assert(owner_of({.size = 4, .blocks = 2}, 1) == 1 && owner_of({.size = 4, .blocks = 0}, 1) == 1);
static_assert(goal::allgather::holds(in_twelve, 1, 5) && !goal::allgather::holds(in_twelve, 1, 6));
static_assert(goal::allgather::result(in_twelve, 0, 5) == contributions{1, 2});
static_assert(goal::reduce_scatter::result(in_twelve, 1, 5) == contributions{0, 4});
static_assert(goal::reduce_scatter::result(in_twelve, 2, 5).empty());

constexpr step_counts counted(rank_t rank) {
    step_counts counts;
    five.emit(rank, counts);
    return counts;
}
static_assert(counted(0).sends == 4 && counted(0).blocks_sent == 40 && counted(0).steps() == 4);
static_assert(counted(1).receives == 1 && counted(1).blocks_received == 10 && counted(1).steps() == 1);

// A schedule of fixed size is a template argument: code can be made from it.
template <auto Steps>
constexpr std::size_t messages_in() {
    std::size_t messages = 0;
    for (const step& s : Steps) messages += s.communicates();
    return messages;
}
constexpr auto frozen = freeze<[] { return five.schedule_of(0).steps; }>();
static_assert(frozen.size() == 4 && frozen[3] == send_step(4, {input, 0, 10}));
static_assert(messages_in<frozen>() == 4);
static_assert(freeze<[] { return plan_broadcast(star{}, {.size = 1}).schedule_of(0).steps; }>().size() == 0);

} // namespace

TEST_CASE("a plan is a function of its dimensions, at run time as at compile time") {
    const schedule steps = five.schedule_of(0);
    REQUIRE(std::equal(steps.begin(), steps.end(), frozen.begin(), frozen.end()));
    REQUIRE(check_plan(star{}, {.size = 9}).code == errc::invalid_argument);
}
