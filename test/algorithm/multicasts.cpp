// SPDX-License-Identifier: BSL-1.0
// Many multicasts at once, as a plan like any other: proved, refused where wrong, printed, exported, imported, simulated.
#include "support/catch.hpp"
#include "tree/heterogeneous.hpp"
#include <bough/algorithm/multicast/many.hpp>
#include <bough/algorithm/multicast/tree.hpp>
#include <bough/interchange/export_csv.hpp>
#include <bough/interchange/export_dot.hpp>
#include <bough/interchange/export_goal.hpp>
#include <bough/interchange/import_goal_check.hpp>
#include <bough/model/heterogeneous.hpp>
#include <bough/schedule/print.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/tree.hpp>
#include <bough/verify/verify_claims.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

using namespace bough;
using test::cost_source;

namespace {

const std::vector<multicast_request> two{{0, {1, 2, 3}}, {3, {0, 1}}};
constexpr std::vector<multicast_request> requests_of_two() { return {{0, {1, 2, 3}}, {3, {0, 1}}}; }
constexpr std::vector<multicast_message> order_of_two() {
    return {{0, 0, 2}, {1, 3, 1}, {0, 2, 3}, {0, 0, 1}, {1, 3, 0}};
}

// The picture of the header.
static_assert(verify(plan_multicasts(requests_of_two(), order_of_two(), {.size = 4})));
static_assert(verify(plan_multicasts(requests_of_two(), order_of_two(), {.size = 4})).traits.messages == 5);
static_assert(verify(plan_multicasts(requests_of_two(), order_of_two(), {.size = 4})).traits.rounds == 2);
static_assert(plan_multicasts(requests_of_two(), order_of_two(), {.size = 4}).blocks() == 2);
static_assert(verify_claims(plan_multicasts(requests_of_two(), order_of_two(), {.size = 4})));
static_assert(goal_kind("multicasts") == goal::multicasts::kind && goal_name(13) == "multicasts");
static_assert(!serves_v<ordered_multicasts, goal::broadcast> && serves_v<ordered_multicasts, goal::multicasts>);

std::vector<multicast_request> random_requests(cost_source& random, rank_t n, std::uint32_t count) {
    std::vector<multicast_request> wanted;
    for (std::uint32_t k = 0; k != count; ++k) {
        multicast_request w{random.below(n), {}};
        for (rank_t r = n; r-- != 0;)
            if (random.below(3) != 0) w.members.push_back(r);
        wanted.push_back(w);
    }
    return wanted;
}

verdict proof_of(std::vector<multicast_message> order) {
    return verify(plan_multicasts(two, std::move(order), {.size = 4}));
}

} // namespace

TEST_CASE("multicasts: both builders' orders are proved, buffered or not, and serve every member once") {
    cost_source random(7);
    for (int i = 0; i != (bough_test::all() ? 400 : 60); ++i) {
        const rank_t n = 1 + random.below(20);
        const auto send = random.costs(n, 1, 9), receive = random.costs(n, 0, 5);
        const tree_costs<int> costs{.send = send, .receive = receive, .latency = i % 3};
        const auto wanted = random_requests(random, n, random.below(7));
        std::size_t messages = 0;
        for (const multicast_request& w : wanted)
            messages += w.members.size() - (std::count(w.members.begin(), w.members.end(), w.root) != 0 ? 1 : 0);
        const std::span<const multicast_request> all(wanted);
        for (const auto& made : {independent_multicasts(costs, all), balanced_multicasts(costs, all)}) {
            CAPTURE(n, i, wanted.size());
            const auto plan = plan_multicasts(wanted, made.order, {.size = n});
            const verdict proof = verify(plan);
            INFO(to_string(proof));
            REQUIRE(proof);
            CHECK(proof.traits.messages == messages);
            CHECK(proof.traits.combines == 0);
            CHECK(proof.traits.rank_consistent);
            CHECK(verify(plan, {.eager_slots = 2}));
            CHECK(verify_claims(plan));
        }
    }
}

TEST_CASE("multicasts: of one request, what tree_multicast does") {
    const std::vector<rank_t> members{6, 0, 5};
    const auto alone = plan_multicast(binomial{}, members, {.size = 7, .root = 2});
    std::vector<table> trees{table(tree(binomial{}, 4))};
    const std::vector<int> equal(7, 1);
    const std::vector<multicast_request> wanted{{2, members}};
    const auto made = schedule_multicasts(tree_costs<int>{.send = equal}, std::span<const multicast_request>(wanted),
                                          std::move(trees));
    const auto many = plan_multicasts(wanted, made.order, {.size = 7});
    for (rank_t r = 0; r != 7; ++r) CHECK(many.schedule_of(r) == alone.schedule_of(r));
}

TEST_CASE("multicasts: an order that is wrong is named by verify") {
    const auto right = order_of_two();
    CHECK(proof_of(right));
    CHECK(verify(plan_multicasts({}, {}, {.size = 4})));
    CHECK(verify(plan_multicasts({{0, {}}}, {}, {.size = 1})));
    auto order = right;
    order.pop_back(); // rank 0 is never served
    CHECK(proof_of(order).fault == fault::missing_result);
    CHECK(proof_of(order).rank == 0);
    CHECK(proof_of(order).block == 1);
    order = right;
    std::swap(order[0], order[2]); // rank 2 passes on what it has not got
    CHECK(proof_of(order).fault == fault::read_of_nothing);
    CHECK(proof_of(order).rank == 2);
    order = right;
    order.push_back({1, 3, 2}); // rank 2 is no member of it
    CHECK(proof_of(order).fault == fault::write_to_output);
    CHECK(proof_of(order).rank == 2);
    order = right;
    order[4] = {0, 3, 0}; // the root gets its own block, and not the other
    CHECK_FALSE(proof_of(order));
    // Steps of the wrong root.
    const auto plan = plan_multicasts(two, right, {.size = 4});
    std::vector<schedule> schedules;
    for (rank_t r = 0; r != 4; ++r) schedules.push_back(plan.schedule_of(r));
    const std::vector<block_t> scratch(4, 0);
    goal::multicasts other = plan.goal();
    CHECK(verify_schedules(other, {4, 0, 2}, schedules, scratch));
    other.wanted[1] = {2, {0, 1}}; // so rank 3 sends what it has not got
    CHECK(verify_schedules(other, {4, 0, 2}, schedules, scratch).fault == fault::read_of_nothing);
}

TEST_CASE("multicasts: what cannot be asked for is refused, with the rank") {
    const auto checked = [](std::vector<multicast_request> wanted, std::vector<multicast_message> order,
                            block_t blocks = natural_blocks) {
        return check_plan(ordered_multicasts{std::move(wanted), std::move(order)}, {.size = 4, .blocks = blocks});
    };
    const auto is = [](const status& s, std::string_view sentence, rank_t peer = no_rank) {
        return s.code == errc::invalid_argument && s.argument == sentence && s.peer == peer;
    };
    CHECK_FALSE(checked(two, order_of_two()));
    CHECK_FALSE(checked(two, order_of_two(), 2));
    CHECK(is(checked(two, order_of_two(), 3), "blocks: as many as there are multicasts"));
    CHECK(is(checked({{4, {1}}}, {}), "wanted: the root of a multicast is not a rank of the group", 4));
    CHECK(is(checked({{0, {1, 9}}}, {}), "wanted: a member is not a rank of the group", 9));
    CHECK(is(checked({{0, {2, 1, 2}}}, {}), "wanted: a multicast lists a member twice", 2));
    CHECK(is(checked(two, {{2, 0, 1}}), "order: a message of a multicast that is not wanted"));
    CHECK(is(checked(two, {{0, 0, 4}}), "order: a message names a rank that is not in the group", 4));
    CHECK(is(checked(two, {{0, 5, 1}}), "order: a message names a rank that is not in the group", 5));
    // Members, roots and order are part of what the ranks must agree on.
    const ordered_multicasts all{two, order_of_two()};
    for (int change = 0; change != 3; ++change) {
        ordered_multicasts other = all;
        if (change == 0) other.wanted[0].members.pop_back();
        if (change == 1) other.wanted[1].root = 2;
        if (change == 2) std::swap(other.order[0], other.order[1]);
        CHECK(other.hash() != all.hash());
    }
}

TEST_CASE("multicasts: printed, exported, and read again from GOAL with its data") {
    const auto plan = plan_multicasts(two, order_of_two(), {.size = 4});
    std::ostringstream printed;
    printed << plan.schedule_of(3);
    CHECK(printed.str() == "0  send    -> 1  input[1..2)\n"
                           "1  receive <- 2  output[0..1)\n"
                           "2  send    -> 0  input[1..2)\n");
    std::ostringstream csv, dot, goal_text;
    export_csv(csv, plan, {.bytes = 16});
    const std::string lines = csv.str();
    CHECK(std::count(lines.begin(), lines.end(), '\n') == 1 + 10);
    export_dot(dot, plan);
    CHECK(dot.str().find("digraph") != std::string::npos);
    export_goal(goal_text, plan, model::heterogeneous{}, {.bytes = 16, .element_bytes = 8, .annotate = true});
    CHECK(goal_text.str().find("//bough plan multicasts size 4 root 0 blocks 2") != std::string::npos);
    const goal_file file = read_goal(goal_text.str());
    REQUIRE(file.fault.none());
    CHECK(check_goal(file).fault.none());
    imported_schedules back;
    REQUIRE(schedules_of(file, back).none());
    CHECK(back.kind == goal::multicasts::kind);
    const std::vector<block_t> scratch(4, 0);
    CHECK(verify_schedules(plan.goal(), back.at, std::span<const schedule>(back.schedules), scratch));
}

TEST_CASE("multicasts: simulated with ranks that do what is ready first, as long as the builder says") {
    cost_source random(19);
    for (int i = 0; i != 30; ++i) {
        const rank_t n = 2 + random.below(14);
        const auto send = random.costs(n, 1, 9), receive = random.costs(n, 1, 4);
        const tree_costs<int> costs{.send = send, .receive = receive, .latency = 2};
        const auto wanted = random_requests(random, n, 1 + random.below(5));
        const auto made = balanced_multicasts(costs, std::span<const multicast_request>(wanted));
        model::heterogeneous model;
        model.message_latency_ns = 2;
        for (rank_t r = 0; r != n; ++r) {
            model.send.push_back({static_cast<double>(send[r]), 0});
            model.receive.push_back({static_cast<double>(receive[r]), 0});
        }
        const auto plan = plan_multicasts(wanted, made.order, {.size = n});
        CAPTURE(n, i);
        const auto run = simulate(plan, model, {.bytes = 8 * wanted.size()});
        CHECK_FALSE(run.deadlock());
        CHECK(run.messages == made.order.size());
        CHECK(run.makespan_ns == static_cast<double>(made.makespan));
    }
}
