// SPDX-License-Identifier: BSL-1.0
// The walk against times worked by hand, against a naive event simulation, and on plans of every pattern.
#include "support/catch.hpp"
#include "support/listed_plan.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/walk.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/testing/cost_model_archetype.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <utility>

namespace {

using namespace bough::model;
using bough::block_t;
using bough::rank_t;
using bough::slice;
using test::listed_plan;
using test::uneven;

// The second derivation: always advances the rank with the earliest clock among those that can run, one step at a time.
template <class Plan, class Model>
std::vector<double> simulate(const Plan& plan, const Model& model, std::uint64_t bytes, bool& deadlock) {
    std::vector<bough::schedule> steps(plan.size());
    for (rank_t r = 0; r != plan.size(); ++r) plan.emit(r, steps[r]);
    std::vector<std::size_t> next(plan.size(), 0);
    std::vector<double> clock(plan.size(), model.start_ns());
    std::map<std::pair<rank_t, rank_t>, std::deque<double>> channel;
    const auto size_of = [&](const slice& s) {
        std::uint64_t sum = 0;
        for (block_t b = s.first; b != s.last(); ++b)
            sum += bytes / plan.blocks() + (b < bytes % plan.blocks() ? 1 : 0);
        return sum;
    };
    for (;;) {
        rank_t chosen = bough::no_rank;
        bool left = false;
        for (rank_t r = 0; r != plan.size(); ++r) {
            if (next[r] == steps[r].size()) continue;
            left = true;
            const bough::step& s = steps[r][next[r]];
            if (s.verb == bough::verb::receive && channel[{s.peer, r}].empty()) continue;
            if (chosen == bough::no_rank || clock[r] < clock[chosen]) chosen = r;
        }
        if (chosen == bough::no_rank) {
            deadlock = left;
            return clock;
        }
        const bough::step& s = steps[chosen][next[chosen]++];
        double& now = clock[chosen];
        switch (s.verb) {
        case bough::verb::send:
            now += model.send_ns(chosen, s.peer, size_of(s.a));
            channel[{chosen, s.peer}].push_back(now + model.latency_ns(chosen, s.peer, size_of(s.a)));
            break;
        case bough::verb::receive: {
            auto& messages = channel[{s.peer, chosen}];
            now = std::max(now, messages.front()) + model.receive_ns(s.peer, chosen, size_of(s.out));
            messages.pop_front();
            break;
        }
        case bough::verb::combine: now += model.combine_ns(chosen, size_of(s.out)); break;
        case bough::verb::copy: now += model.copy_ns(chosen, size_of(s.out)); break;
        }
    }
}

template <class Plan>
void check_against_simulation(const Plan& plan, std::uint64_t bytes) {
    bool deadlock = false;
    const std::vector<double> expected = simulate(plan, uneven{}, bytes, deadlock);
    const walk_result walked = walk(plan, uneven{}, bytes);
    REQUIRE(finish_times(plan, uneven{}, bytes) == expected);
    REQUIRE(walked.deadlock() == deadlock);
    REQUIRE(walked.makespan_ns == *std::max_element(expected.begin(), expected.end()));
    REQUIRE(expected[walked.last_rank] == walked.makespan_ns);
    REQUIRE(walked.root_finish_ns == expected[plan.root()]);
    if (deadlock) return;
    bough::step_counts counts;
    for (rank_t r = 0; r != plan.size(); ++r) plan.emit(r, counts);
    REQUIRE(walked.steps == counts.steps());
    REQUIRE(walked.messages == counts.sends);
    REQUIRE(walked.unreceived == counts.sends - counts.receives);
}

constexpr lrc table2{.message_latency_ns = 2100, .receive = {420}, .combine = {1500}, .startup_ns = 9200};

// At compile time: 4 ranks, binomial: two phases of L + r + c.
static_assert(walk(bough::plan_reduce(bough::fnomial{.degree = 2}, {.size = 4}), table2, 8) ==
              walk_result{.makespan_ns = 9200 + 2 * (2100 + 420 + 1500.0),
                          .root_finish_ns = 9200 + 2 * (2100 + 420 + 1500.0),
                          .last_rank = 0,
                          .steps = 9,
                          .messages = 3,
                          .bytes = 24});
static_assert(walk(bough::plan_reduce(bough::fnomial{.degree = 2}, {.size = 1}), table2, 8).makespan_ns == 9200);
static_assert(walk(bough::plan_broadcast(bough::chain{}, {.size = 3}), table2, 8).last_rank == 2);
static_assert(walk(bough::plan_broadcast(bough::chain{}, {.size = 3}), table2, 8).makespan_ns == 9200 + 2 * 2520.0);

// 10 elements of 8 bytes in 4 blocks: 3, 3, 2, 2.
constexpr block_sizes sizes(80, 4, 8);
static_assert(sizes.bytes_of({bough::input, 0, 1}) == 24);
static_assert(sizes.bytes_of({bough::input, 1, 2}) == 40);
static_assert(sizes.bytes_of({bough::input, 3, 1}) == 16);
static_assert(sizes.bytes_of({bough::input, 4, 0}) == 0);
static_assert(sizes.bytes_of({bough::input, 0, 4}) == 80);

constexpr slice whole{bough::output, 0, 1};

} // namespace

TEST_CASE("a rank that receives waits for the message, and only for the message") {
    listed_plan plan{.ranks = std::vector<bough::schedule>(2)};
    plan.ranks[0].send(1, whole);
    plan.ranks[1].copy(whole, whole);
    plan.ranks[1].receive(0, whole);
    lrc model{.message_latency_ns = 100, .receive = {10}, .startup_ns = 1, .copy = {50}};
    CHECK(walk(plan, model, 8).makespan_ns == 1 + 100 + 10); // the copy hides in the latency
    model.copy = {500};
    CHECK(walk(plan, model, 8).makespan_ns == 1 + 500 + 10); // the latency hides in the copy
}

TEST_CASE("messages of one channel stay in order, also past the first") {
    listed_plan plan{.ranks = std::vector<bough::schedule>(3), .blocks_ = 8};
    for (block_t b = 0; b != 4; ++b) {
        plan.ranks[0].send(1, {bough::output, 0, b + 1});
        plan.ranks[0].send(2, {bough::output, 0, b + 2});
    }
    for (block_t b = 0; b != 4; ++b) {
        plan.ranks[1].receive(0, {bough::output, 0, b + 1});
        plan.ranks[2].receive(0, {bough::output, 0, b + 2});
    }
    for (const rank_t root : {0u, 1u, 2u}) {
        plan.root_ = root;
        check_against_simulation(plan, 800);
    }
}

TEST_CASE("plans of every pattern take the time that the simulation finds") {
    for (rank_t p = 1; p <= 33; ++p)
        for (rank_t root = 0; root < p; root += 5) {
            CAPTURE(p, root);
            check_against_simulation(bough::plan_reduce(bough::fnomial{.degree = 3}, {.size = p, .root = root}), 37);
            check_against_simulation(bough::plan_reduce(bough::ordered{bough::binomial{}}, {.size = p, .root = root}),
                                     37);
            check_against_simulation(bough::plan_broadcast(bough::binomial{}, {.size = p, .root = root}), 37);
            check_against_simulation(bough::plan_broadcast(bough::chain{}, {.size = p, .root = root, .blocks = 5}), 37);
            check_against_simulation(bough::plan_reduce(bough::flat{}, {.size = p, .root = root, .blocks = 3}), 37);
            check_against_simulation(bough::plan_allreduce(bough::recursive_doubling{}, {.size = p}), 37);
        }
}

TEST_CASE("random plans, with and without lost messages, take the time that the simulation finds") {
    std::mt19937 random(20240229);
    const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
    std::size_t deadlocks = 0;
    for (int round = 0; round != 2000; ++round) {
        const rank_t p = 1 + below(6);
        listed_plan plan{.ranks = std::vector<bough::schedule>(p), .blocks_ = 1 + below(4), .root_ = below(p)};
        const auto piece = [&] {
            const block_t first = below(plan.blocks_);
            return slice{bough::output, first, below(plan.blocks_ - first + 1)};
        };
        // Written in one global order, so that every receive follows its send: no deadlock ...
        std::vector<std::pair<rank_t, rank_t>> under_way;
        for (std::uint32_t i = below(40); i != 0; --i) {
            const rank_t r = below(p);
            switch (below(5)) {
            case 0: plan.ranks[r].copy(piece(), piece()); break;
            case 1: plan.ranks[r].combine(piece(), piece(), piece()); break;
            case 2:
                if (!under_way.empty()) {
                    const auto at = under_way.begin() + below(under_way.size());
                    plan.ranks[at->second].receive(at->first, piece());
                    under_way.erase(at);
                }
                break;
            default: under_way.push_back({r, below(p)}); plan.ranks[r].send(under_way.back().second, piece());
            }
        }
        // ... unless a step is lost.
        const rank_t loser = below(p);
        if (round % 4 == 0 && plan.ranks[loser].size() != 0)
            plan.ranks[loser].steps.erase(plan.ranks[loser].steps.begin() + below(plan.ranks[loser].size()));
        CAPTURE(round);
        check_against_simulation(plan, 23);
        deadlocks += walk(plan, uneven{}, 23).deadlock();
    }
    CHECK(deadlocks > 50);
    CHECK(deadlocks < 500);
}

TEST_CASE("recursive doubling on a power of two: every rank ends after log2 p exchanges") {
    for (rank_t rounds = 0; rounds <= 10; ++rounds) {
        const rank_t p = rank_t{1} << rounds;
        const auto plan = bough::plan_allreduce(bough::recursive_doubling{}, {.size = p});
        const walk_result walked = walk(plan, table2, 8);
        CHECK(walked.makespan_ns == Approx(9200 + rounds * (2100 + 420 + 1500.0)));
        CHECK(walked.last_rank == 0);
        CHECK(walked.messages == std::uint64_t{p} * rounds);
    }
}

TEST_CASE("a plan that deadlocks is reported with the rank and whom it waits for") {
    listed_plan plan{.ranks = std::vector<bough::schedule>(4)};
    plan.ranks[0].send(1, whole);
    plan.ranks[1].receive(0, whole);
    plan.ranks[2].receive(3, whole); // two ranks that both receive first
    plan.ranks[2].send(3, whole);
    plan.ranks[3].receive(2, whole);
    plan.ranks[3].send(2, whole);
    const walk_result walked = walk(plan, table2, 8);
    CHECK(walked.deadlock());
    CHECK(walked.stuck == 2);
    CHECK(walked.stuck_on == 3);
    CHECK(walked.steps == 2);
    CHECK(walked.makespan_ns == 9200 + 2100 + 420);
}

TEST_CASE("a message that nobody receives is counted") {
    listed_plan plan{.ranks = std::vector<bough::schedule>(2)};
    plan.ranks[0].send(1, whole);
    CHECK(walk(plan, table2, 8).unreceived == 1);
    CHECK_FALSE(walk(plan, table2, 8).deadlock());
}

TEST_CASE("the walk asks nothing but the concept of its model") {
    const bough::testing::cost_model_archetype model(5);
    CHECK(walk(bough::plan_reduce(bough::binomial{}, {.size = 8}), model, 8).makespan_ns == 3 * (5 + 1 + 1));
}

TEST_CASE("a quarter of a million ranks, from either end and with a root in the middle") {
    constexpr rank_t p = 1u << 18;
    const double expected = 9200 + 9 * (2100 + 3 * 1920.0);
    CHECK(walk(bough::plan_reduce(bough::fnomial{.degree = 4}, {.size = p}), table2, 8).makespan_ns ==
          Approx(expected));
    CHECK(walk(bough::plan_reduce(bough::fnomial{.degree = 4}, {.size = p, .root = 77'777}), table2, 8).makespan_ns ==
          Approx(expected));
    // Sending is free in this model, so the last rank is the one at the end of the longest path: 9 hops.
    CHECK(walk(bough::plan_broadcast(bough::fnomial{.degree = 4}, {.size = p}), table2, 8).makespan_ns ==
          Approx(9200 + 9 * 2520.0));
}
