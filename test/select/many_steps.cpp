// SPDX-License-Identifier: BSL-1.0
// Compiled alone, optimised
// Plans of so many ranks that a choice cannot walk all steps of all: the best is found all the same.
#include "support/catch.hpp"
#include <bough/algorithm/alltoall/pairwise.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/model/logp.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/rendezvous.hpp>
#include <bough/model/two_level.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/print_decision.hpp>
#include <bough/select/standard/alltoall.hpp>
#include <bough/select/standard/broadcast.hpp>
#include <bough/select/standard/reduce.hpp>
#include <bough/select/standard/reduce_scatter.hpp>
#include <bough/select/standard/two_levels.hpp>
#include <bough/transport/measured_costs.hpp>
#include <bough/tree/chain.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace bough;

namespace {

const model::loggops near_costs = detail::shared_memory_costs.model;
const model::loggops far_costs = detail::tcp_costs.model;

listed_groups nodes_of(rank_t ranks, rank_t each) {
    std::vector<rank_t> node;
    for (rank_t r = 0; r != ranks; ++r) node.push_back(r / each);
    return listed_groups(node);
}

template <class Goal>
struct chosen {
    decision made;
    double walked_ns = 0; // of the winner, all its steps
    double least_ns = 0;  // the same of the best candidate

    chosen(const any_cost_model& costs, const two_levels& levels, rank_t size, std::uint64_t bytes) {
        const dimensions at{.size = size};
        const problem what{.bytes = bytes, .levels = &levels};
        const candidate_list from = standard_candidates<Goal>(at, what, {}, costs);
        made = choose(from, at, what, costs);
        REQUIRE(made);
        CHECK(made == choose(from, at, what, costs)); // as every rank does
        const auto plan_of = [&](const prospect& p) { return plan_ref(p.what.algorithm, {size, 0, p.blocks}); };
        least_ns = walked_ns = costs.price_ns(plan_of(made.winner()), what);
        for (const prospect& p : made.prospects) {
            CAPTURE(p.what.text().c_str());
            CHECK(p.excluded == exclusion::none);
            // No plan is faster than its bound.
            if (costs.bound_ns(plan_of(p), what).ns < least_ns)
                least_ns = std::min(least_ns, costs.price_ns(plan_of(p), what));
        }
    }
    bool is_pairwise() const { return made.winner().what.algorithm.get<pairwise_alltoall>() != nullptr; }
};

template <class Goal>
chosen<Goal> choice_of(rank_t size, rank_t each, std::uint64_t bytes) {
    const auto levels = make_two_levels(nodes_of(size, each), near_costs, far_costs);
    return {levels->costs(), *levels, size, bytes};
}

} // namespace

TEST_CASE("choose: the only plan is taken, however many steps it has and whatever it cost to look at it") {
    std::vector<rank_t> group_of;
    for (rank_t r = 0; r != 64; ++r) group_of.push_back(r / 8);
    const model::lrc close{.message_latency_ns = 200, .receive = {100, 0.05}, .combine = {10, 0.1}, .startup_ns = 50};
    const model::lrc distant{
        .message_latency_ns = 20000, .receive = {3000, 0.5}, .combine = {10, 0.1}, .startup_ns = 50};
    const model::two_level<model::lrc, model::lrc> costs{close, distant, group_of.data()};
    candidate_list only{goal::broadcast::kind, {}};
    only.add(tree_broadcast{chain{}}, 16384);
    CHECK(choose(only, {.size = 64}, {.bytes = 1 << 26}, any_cost_model(costs)));
}

TEST_CASE("many steps: an alltoall of 1024 ranks on nodes of 32 takes the best of all plans", "[select][many_steps]") {
    const auto d = choice_of<goal::alltoall>(1024, 32, std::uint64_t{16} << 20);
    CHECK_FALSE(d.is_pairwise());
    CHECK(d.made.winner().predicted_ns == Approx(d.walked_ns).epsilon(1e-12));
    CHECK(d.walked_ns <= d.least_ns * (1 + equal_price_share));
    for (const prospect& p : d.made.prospects)
        if (p.what.algorithm.get<pairwise_alltoall>() != nullptr)
            CHECK(p.predicted_ns > 100 * d.walked_ns); // it took 200 times as long when it was chosen
}

TEST_CASE("many steps: on nodes of which one is smaller, what a few ranks do tells the price", "[select][many_steps]") {
    const auto d = choice_of<goal::alltoall>(600, 32, std::uint64_t{600} * 600 * 16);
    CHECK_FALSE(d.is_pairwise());
    CHECK(d.walked_ns <= 1.5 * d.least_ns);
    CHECK(std::any_of(d.made.prospects.begin(), d.made.prospects.end(), [](const prospect& p) { return p.about; }));
    CHECK(to_string(d.made).find(" about ") != std::string::npos);
}

TEST_CASE("many steps: an estimate is near the price", "[select][many_steps]") {
    std::size_t estimates = 0, far = 0;
    double lowest = 1, highest = 1;
    for (const auto& [size, each] :
         {std::pair<rank_t, rank_t>{40, 16}, {61, 7}, {75, 32}, {90, 8}, {100, 32}, {129, 32}}) {
        const auto levels = make_two_levels(nodes_of(size, each), near_costs, far_costs);
        const any_cost_model costs = levels->costs();
        for (const std::uint64_t block : {8u, 256u, 8192u}) {
            const dimensions at{.size = size, .blocks = size * size};
            const problem what{.bytes = block * size * size, .levels = levels.get()};
            for (const candidate& c : standard_candidates<goal::alltoall>(at, what).list) {
                const plan_ref plan(c.algorithm, at);
                const double share = costs.alike_ns(plan, what) / costs.price_ns(plan, what);
                CAPTURE(c.text().c_str(), at.size, block, share);
                CHECK((share > 0.5 && share < 2));
                ++estimates, far += share < 0.75 || share > 1.33;
                lowest = std::min(lowest, share), highest = std::max(highest, share);
            }
        }
    }
    CAPTURE(estimates, far, lowest, highest);
    CHECK(estimates > 150);
    CHECK(far * 5 <= estimates);
}

TEST_CASE("many steps: plans over nodes and in blocks are not left out", "[select][many_steps]") {
    for (const std::uint64_t bytes : {std::uint64_t{1} << 14, std::uint64_t{1} << 22}) {
        const auto scattered = choice_of<goal::reduce_scatter>(512, 32, bytes);
        CHECK(scattered.walked_ns <= scattered.least_ns * 1.01);
    }
    const auto sent = choice_of<goal::broadcast>(512, 32, 1 << 24);
    CHECK(sent.walked_ns <= sent.least_ns * 1.01);
    const auto combined = choice_of<goal::reduce>(512, 32, 1 << 24);
    CHECK(combined.walked_ns <= combined.least_ns * 1.01);
}

TEST_CASE("many steps: what is not looked at says so", "[select][many_steps]") {
    // Where messages wait for their receivers, a plan may not end, and only a walk shows that.
    const auto levels = make_two_levels(nodes_of(70, 32), model::rendezvous{near_costs}, model::rendezvous{far_costs});
    const dimensions at{.size = 70};
    const problem what{.bytes = 70 * 70 * 16, .levels = levels.get()};
    const candidate_list from = standard_candidates<goal::alltoall>(at, what);
    const decision few = choose(from, at, what, levels->costs(), {.most_steps = 0});
    REQUIRE(few);
    CHECK(std::any_of(few.prospects.begin(), few.prospects.end(),
                      [](const prospect& p) { return p.excluded == exclusion::too_many_steps; }));
    for (const prospect& p : few.prospects) CHECK_FALSE(p.about);
    CHECK(to_string(few).find("out: has more steps than a choice may look at") != std::string::npos);
    // If all are walked, none is estimated.
    const auto eager = make_two_levels(nodes_of(70, 32), near_costs, far_costs);
    for (const choose_options& options :
         {choose_options{.price_all = true, .most_steps = 0}, choose_options{.exact = true, .most_steps = 0}})
        for (const prospect& p : choose(from, at, what, eager->costs(), options).prospects) CHECK_FALSE(p.about);
}
