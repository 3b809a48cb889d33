// SPDX-License-Identifier: BSL-1.0
// The candidates of two levels: all are proved, they are chosen where nodes are far apart, and nothing
// changes where ranks are all near or all far.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/logp.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/two_level.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/standard/allgather.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/select/standard/alltoall.hpp>
#include <bough/select/standard/broadcast.hpp>
#include <bough/select/standard/reduce.hpp>
#include <bough/select/standard/reduce_scatter.hpp>
#include <bough/select/standard/two_levels.hpp>
#include <bough/select/two_levels.hpp>
#include <bough/transport/measured_costs.hpp>
#include <bough/verify/verify_claims.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

using namespace bough;

namespace {

const model::loggops near_costs = detail::shared_memory_costs.model;
const model::loggops far_costs = detail::tcp_costs.model;

listed_groups nodes_of(rank_t ranks, rank_t ranks_per_node) {
    std::vector<rank_t> node(ranks);
    for (rank_t r = 0; r != ranks; ++r) node[r] = r / ranks_per_node;
    return listed_groups(node);
}

template <class F>
void for_each_two_level_goal(F&& f) {
    f(goal::allgather{}), f(goal::allreduce{}), f(goal::alltoall{}), f(goal::broadcast{}), f(goal::reduce{}),
        f(goal::reduce_scatter{});
}

} // namespace

TEST_CASE("two levels: each plan is proved, and claims what is true", "[select][two_levels]") {
    struct example {
        std::vector<rank_t> node;
        bool have_one_size;
    };
    for (const auto& [node, of_one_size] : {example{{0, 0, 1, 1}, true},
                                            {{0, 0, 0, 1, 1, 1}, true},
                                            {{0, 1, 0, 1, 0, 1}, true},
                                            {{0, 0, 0, 0, 0, 1}, false},
                                            {{0, 1, 1, 2, 2, 2, 0}, false},
                                            {{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}, true},
                                            {{2, 1, 0, 0, 1, 2, 2, 2, 2, 2}, false}}) {
        const bool have_one_size = of_one_size; // clang 14 hands no binding to a lambda
        const auto size = static_cast<rank_t>(node.size());
        const auto levels = make_two_levels(listed_groups(node), near_costs, far_costs);
        for (const std::uint64_t bytes : {0u, 8u, 65536u})
            for (const rank_t root : {rank_t{0}, size - 1})
                for_each_two_level_goal([&]<class Goal>(Goal) {
                    const dimensions at{.size = size, .root = root};
                    candidate_list made{Goal::kind, {}};
                    levels->add(made, at, {.bytes = bytes});
                    std::vector<std::string> seen;
                    for (const candidate& c : made.list) {
                        INFO(c.text().c_str() << ", " << size << " ranks, root " << root << ", " << bytes << " bytes");
                        seen.emplace_back(c.text().c_str());
                        CHECK(std::count(seen.begin(), seen.end(), seen.back()) == 1);
                        const plan<Goal, any_algorithm> made_plan(c.algorithm, at);
                        const claim_verdict found = verify_claims(made_plan);
                        CAPTURE(describe(found.untrue), found.rank);
                        CHECK(found);
                    }
                    constexpr bool in_blocks =
                        std::is_same_v<Goal, goal::allgather> || std::is_same_v<Goal, goal::reduce_scatter>;
                    CHECK(made.list.empty() == (in_blocks && (bytes < size || !have_one_size)));
                });
    }
}

namespace {

// Prices under the costs of both levels: of what is chosen, of the best flat plan, and of the plan that is
// chosen if all ranks are taken for far.
struct three_prices {
    double chosen_ns, flat_ns, blind_ns;
    std::string text;
};
template <class Goal>
three_prices prices_of(const listed_groups& groups, std::uint64_t bytes) {
    const auto levels = make_two_levels(groups, near_costs, far_costs);
    const dimensions at{.size = static_cast<rank_t>(groups.group_of_rank().size())};
    problem what{.bytes = bytes};
    const decision flat = choose(standard_candidates<Goal>(at, what), at, what, levels->costs());
    const decision blind = choose(standard_candidates<Goal>(at, what), at, what, far_costs);
    const plan_ref as_blind(blind.winner().what.algorithm, {at.size, 0, blind.winner().blocks});
    what.levels = levels.get();
    const decision both = choose(standard_candidates<Goal>(at, what), at, what, levels->costs());
    return {both.winner().predicted_ns, flat.winner().predicted_ns, levels->costs().price_ns(as_blind, what),
            both.winner().what.text().c_str()};
}

const listed_groups unequal{{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2}};

} // namespace

TEST_CASE("two levels: the choice is never worse for them", "[select][two_levels]") {
    for (const listed_groups& groups :
         {nodes_of(16, 8), nodes_of(18, 6), unequal, listed_groups{{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}}})
        for (const std::uint64_t bytes : {8u, 8192u, 65536u, 1u << 20})
            for_each_two_level_goal([&]<class Goal>(Goal) {
                const three_prices found = prices_of<Goal>(groups, bytes);
                CAPTURE(int{Goal::kind}, bytes, found.text, groups.group_of_rank());
                CHECK(found.chosen_ns <= found.flat_ns * (1 + equal_price_share));
                CHECK(found.chosen_ns <= found.blind_ns * (1 + equal_price_share));
            });
}

TEST_CASE("two levels: they are taken where they win", "[select][two_levels]") {
    // Flat plans whose near rounds come first are as good in powers of two, for short vectors.
    CHECK(prices_of<goal::allreduce>(nodes_of(16, 8), 8).text == "recursive_doubling");
    const auto wins = [](const three_prices& found, const char* kind, double of_flat, double of_blind) {
        CAPTURE(found.text, found.chosen_ns, found.flat_ns, found.blind_ns);
        CHECK(found.text.substr(0, 6) == std::string(kind).substr(0, 6));
        CHECK(found.chosen_ns < of_flat * found.flat_ns);
        CHECK(found.chosen_ns < of_blind * found.blind_ns);
    };
    wins(prices_of<goal::allreduce>(nodes_of(16, 8), 65536), "lanes{", 0.95, 0.45);
    wins(prices_of<goal::broadcast>(nodes_of(18, 6), 65536), "lanes{", 0.55, 0.55);
    wins(prices_of<goal::reduce>(nodes_of(18, 6), 65536), "lanes{", 0.55, 0.55);
    wins(prices_of<goal::allgather>(nodes_of(32, 8), 8192), "lanes{", 0.6, 0.6);
    wins(prices_of<goal::reduce_scatter>(nodes_of(18, 6), 8192), "lanes{", 0.75, 0.75);
    wins(prices_of<goal::alltoall>(nodes_of(32, 8), 32 * 32 * 64), "grouped_alltoall{", 0.8, 0.8);
    wins(prices_of<goal::alltoall>(unequal, 20 * 20 * 64), "grouped_alltoall{", 0.8, 0.8);
    CHECK(prices_of<goal::alltoall>(nodes_of(32, 8), std::uint64_t{32} * 32 << 20).text == "pairwise_alltoall");
    wins(prices_of<goal::allreduce>(unequal, 8), "leaders{", 0.8, 0.8);
    wins(prices_of<goal::broadcast>(unequal, 8), "leaders{", 0.55, 0.5);
    wins(prices_of<goal::reduce>(unequal, 8192), "leaders{", 0.7, 0.6);
}

TEST_CASE("two levels: nothing changes where all ranks are near, or all far", "[select][two_levels]") {
    for (const rank_t per_node : {1u, 12u}) {
        const auto levels = make_two_levels(nodes_of(12, per_node), near_costs, far_costs);
        CHECK(levels->costs().homogeneous());
        for_each_two_level_goal([&]<class Goal>(Goal) {
            const dimensions at{.size = 12};
            problem what{.bytes = 65536};
            const any_cost_model costs = per_node == 1 ? far_costs : near_costs;
            const decision plain = choose(standard_candidates<Goal>(at, what), at, what, costs);
            what.levels = levels.get();
            decision now = choose(standard_candidates<Goal>(at, what), at, what, levels->costs());
            now.what.levels = nullptr;
            CHECK(now == plain);
        });
    }
}

TEST_CASE("two levels: a model says what each pair of ranks costs", "[select][two_levels]") {
    const std::vector<rank_t> node{0, 1, 0, 1};
    const model::two_level costs{near_costs, far_costs, node.data()};
    static_assert(PortedCostModel<decltype(costs)>);
    CHECK(costs.send_ns(0, 2, 100) == near_costs.send_ns(0, 2, 100));
    CHECK(costs.send_ns(0, 1, 100) == far_costs.send_ns(0, 1, 100));
    CHECK(costs.latency_ns(3, 1, 100) == near_costs.latency_ns(3, 1, 100));
    CHECK(costs.latency_ns(3, 2, 100) == far_costs.latency_ns(3, 2, 100));
    CHECK(costs.receive_ns(1, 2, 100) == far_costs.receive_ns(1, 2, 100));
    CHECK(costs.port_ns(1, 2, 100, false) == far_costs.port_ns(1, 2, 100, false));
    CHECK(costs.port_ns(1, 3, 100, false) == near_costs.port_ns(1, 3, 100, false));
    CHECK(costs.combine_ns(1, 100) == near_costs.combine_ns(1, 100));
    const model::lrc threads{.message_latency_ns = 100, .receive = {60, 0.1}};
    const model::two_level mixed{threads, far_costs, node.data()};
    static_assert(PortedCostModel<decltype(mixed)>);
    CHECK(mixed.port_ns(0, 2, 100, false) == 0);
    CHECK(mixed.port_ns(0, 1, 100, false) == far_costs.port_ns(0, 1, 100, false));
    static_assert(!PortedCostModel<model::two_level<model::lrc, model::lrc>>);
}

TEST_CASE("two levels: models of any length price as they do by themselves", "[select][two_levels]") {
    const model::alpha_beta_gamma near{.alpha_ns = 400, .beta_ns_per_byte = 0.1, .gamma_ns_per_byte = 0.2};
    const model::alpha_beta_gamma far{.alpha_ns = 20'000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.2};
    const listed_groups nodes = nodes_of(6, 3);
    const model::two_level both{near, far, nodes.group_of_rank().data()};
    static_assert(sizeof both > any_cost_model::capacity);
    const auto levels = make_two_levels(nodes, near, far);
    const any_cost_model costs = levels->costs();
    CHECK_FALSE(costs.homogeneous());
    const problem what{.bytes = 60'000, .levels = levels.get()};
    const auto ring_plan = plan_allreduce(ring{}, {.size = 6});
    const auto doubling = plan_allreduce(recursive_doubling{}, {.size = 6});
    CHECK(price_of(costs, what, ring_plan) == price_of(both, what, ring_plan));
    CHECK(price_of(costs, what, doubling) == price_of(both, what, doubling));
    CHECK(price_of(costs, what, doubling) != price_of(any_cost_model(far), what, doubling));
    const decision d = choose(standard_candidates<goal::allreduce>({.size = 6}, what), {.size = 6}, what, costs);
    CHECK(std::string(d.winner().what.text().c_str()).starts_with("lanes{"));
    // One that holds no port beside one that does.
    const model::lrc threads{.message_latency_ns = 100, .receive = {60, 0.1}};
    const auto mixed = make_two_levels(nodes, far, threads);
    const model::two_level mixed_both{far, threads, nodes.group_of_rank().data()};
    CHECK(price_of(mixed->costs(), what, ring_plan) == price_of(mixed_both, what, ring_plan));
    // All near, or all far.
    CHECK(make_two_levels(nodes_of(4, 4), near, far)->costs().homogeneous());
    CHECK(make_two_levels(nodes_of(4, 1), near, far)->costs().homogeneous());
}

TEST_CASE("two levels: some of the ranks have the groups among them", "[select][two_levels]") {
    const auto all = make_two_levels(listed_groups{{0, 0, 1, 1, 2, 2}}, near_costs, far_costs);
    const std::vector<rank_t> some{5, 2, 4, 0};
    CHECK(all->among(some)->groups() == listed_groups{{0, 1, 0, 2}});
    CHECK_FALSE(all->among(some)->costs().homogeneous());
    CHECK(all->among(std::vector<rank_t>{2, 3})->costs().homogeneous());
    CHECK(all->among(std::vector<rank_t>{1, 3, 5})->costs().homogeneous());
    CHECK(all->among(some)->among(std::vector<rank_t>{0, 2, 3})->groups() == listed_groups{{0, 0, 1}});
}

TEST_CASE("two levels: plans of other groups or levels are told apart without their steps", "[select][two_levels]") {
    std::vector<std::uint64_t> seen;
    for (const listed_groups& groups : {listed_groups{{0, 0, 1, 1, 2, 2}}, listed_groups{{0, 1, 2, 0, 1, 2}},
                                        listed_groups{{0, 0, 0, 1, 1, 1}}, listed_groups{{0, 0, 0, 0, 1, 1}}})
        for_each_two_level_goal([&]<class Goal>(Goal) {
            candidate_list made{Goal::kind, {}}, again{Goal::kind, {}};
            const auto levels = make_two_levels(groups, near_costs, far_costs);
            levels->add(made, {.size = 6}, {.bytes = 65536});
            levels->add(again, {.size = 6}, {.bytes = 65536});
            for (std::size_t i = 0; i != made.list.size(); ++i) {
                const std::uint64_t identity = identity_of(made.list[i].algorithm);
                CAPTURE(made.list[i].text().c_str());
                CHECK(identity == identity_of(again.list[i].algorithm));
                if (identity == 0) continue; // told by its steps
                seen.push_back(identity ^ Goal::kind);
            }
        });
    const std::size_t all = seen.size();
    CHECK(all > 40);
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    CHECK(seen.size() == all);
}
