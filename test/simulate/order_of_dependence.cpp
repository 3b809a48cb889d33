// SPDX-License-Identifier: BSL-1.0
// The order of dependence: the longest path counts, and a late message holds up nobody else.
#include "simulate/models.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/lrc.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <map>

using namespace test;

namespace {

// The longest path through steps, dependences and messages: what happens when nothing but the way takes time.
template <class Plan>
double longest_path(const Plan& plan, const only_latency& model, std::uint64_t bytes) {
    const rank_t p = plan.size();
    std::vector<bough::schedule> steps(p);
    std::vector<bough::dependences> waits;
    const auto size_of = [&](const slice& s) {
        std::uint64_t sum = 0;
        for (block_t b = s.first; b != s.last(); ++b)
            sum += bytes / plan.blocks() + (b < bytes % plan.blocks() ? 1 : 0);
        return sum;
    };
    std::map<std::pair<rank_t, rank_t>, std::vector<std::uint32_t>> sends, receives;
    for (rank_t r = 0; r != p; ++r) {
        plan.emit(r, steps[r]);
        waits.push_back(bough::infer_dependences(steps[r].steps));
        for (std::uint32_t i = 0; i != steps[r].size(); ++i) {
            if (steps[r][i].verb == bough::verb::send) sends[{r, steps[r][i].peer}].push_back(i);
            if (steps[r][i].verb == bough::verb::receive) receives[{steps[r][i].peer, r}].push_back(i);
        }
    }
    std::vector<std::vector<double>> at(p);
    for (rank_t r = 0; r != p; ++r) at[r].assign(steps[r].size(), 0);
    double last = 0;
    for (bool moved = true; moved;) { // until nothing is later than thought
        moved = false;
        const auto later = [&](double& time, double than) {
            if (time < than) time = than, moved = true;
            last = std::max(last, than);
        };
        for (rank_t r = 0; r != p; ++r)
            for (std::uint32_t i = 0; i != steps[r].size(); ++i) {
                for (const std::uint32_t before : waits[r].of(i)) later(at[r][i], at[r][before]);
                if (waits[r].channel[i] != bough::no_step) later(at[r][i], at[r][waits[r].channel[i]]);
            }
        for (const auto& [channel, list] : sends)
            for (std::size_t k = 0; k != list.size(); ++k)
                later(at[channel.second][receives[channel][k]],
                      at[channel.first][list[k]] + model.latency_ns(0, 0, size_of(steps[channel.first][list[k]].a)));
    }
    return last;
}

} // namespace

TEST_CASE("simulate: in the order of dependence, where only the way takes time, the longest path counts") {
    const only_latency model{100};
    const auto check = [&](const auto& plan, std::uint64_t bytes) {
        const sim_result found =
            simulate(plan, model, {.bytes = bytes, .engine = simulator::discrete, .order = step_order::dependence});
        REQUIRE_FALSE(found.deadlock());
        REQUIRE(found.unreceived == 0);
        REQUIRE(found.makespan_ns == longest_path(plan, model, bytes));
        bough::step_counts counts;
        for (rank_t r = 0; r != plan.size(); ++r) plan.emit(r, counts);
        REQUIRE(found.events == counts.steps() - counts.parts);
    };
    for (rank_t p = 1; p <= 17; ++p) {
        CAPTURE(p);
        check(bough::plan_allreduce(bough::recursive_doubling{}, {.size = p}), 37);
        check(bough::plan_reduce(bough::fnomial{.degree = 3}, {.size = p, .blocks = 3}), 37);
        check(bough::plan_broadcast(bough::chain{}, {.size = p, .blocks = 6}), 37);
        check(bough::plan_barrier(bough::dissemination{}, {.size = p}), 0);
        check(bough::plan_allreduce(bough::tree_allreduce{bough::binomial{}}, {.size = p, .blocks = 4}), 37);
    }
}

TEST_CASE("simulate: by dependence, a late message does not hold up those after it") {
    // Rank 0 receives from 1 and then from 2, and combines each; rank 1 is late.
    listed_plan plan{.ranks = std::vector<bough::schedule>(3)};
    plan.ranks[1].copy({bough::output, 0, 1}, {bough::output, 0, 1});
    plan.ranks[1].send(0, {bough::output, 0, 1});
    plan.ranks[2].send(0, {bough::output, 0, 1});
    plan.ranks[0].receive(1, {bough::scratch(0), 0, 1});
    plan.ranks[0].combine({bough::scratch(0), 0, 1}, {bough::scratch(0), 0, 1}, {bough::scratch(0), 0, 1});
    plan.ranks[0].receive(2, {bough::scratch(1), 0, 1});
    plan.ranks[0].combine({bough::scratch(1), 0, 1}, {bough::scratch(1), 0, 1}, {bough::scratch(1), 0, 1});
    const bough::model::lrc model{
        .message_latency_ns = 100, .receive = {10}, .combine = {30}, .startup_ns = 0, .copy = {500}};
    CHECK(simulate(plan, model, {.engine = simulator::discrete}).makespan_ns == 500 + 100 + 2 * 40);
    CHECK(simulate(plan, model, {.engine = simulator::discrete, .order = step_order::dependence}).makespan_ns ==
          500 + 100 + 40);
}
