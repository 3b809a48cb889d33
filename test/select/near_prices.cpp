// SPDX-License-Identifier: BSL-1.0
// Near prices: of plans that are nearly as fast, the one that overlaps best in a loop of calls is taken.
#include "support/catch.hpp"
#include <bough/algorithm/exscan/chain.hpp>
#include <bough/algorithm/scan/chain.hpp>
#include <bough/algorithm/scan/recursive_doubling.hpp>
#include <bough/model/logp.hpp>
#include <bough/model/walk.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/near_prices.hpp>
#include <bough/select/print_decision.hpp>
#include <bough/select/standard/allgather.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/select/standard/broadcast.hpp>
#include <bough/select/standard/exscan.hpp>
#include <bough/select/standard/gather.hpp>
#include <bough/select/standard/reduce.hpp>
#include <bough/select/standard/scan.hpp>
#include <bough/select/standard/scatter.hpp>
#include <bough/select/transport_costs.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace bough;

namespace {

constexpr model::loggops network{.message_latency_ns = 2000, .overhead = {2000, 0.05}, .gap = {0, 0.1}};
constexpr model::loggops memory{
    .message_latency_ns = 70, .overhead = {75, 0.05}, .combine = {10, 0.01}, .copy = {10, 0.05}};

template <class F>
void for_each_one_way_goal(F&& f) {
    f(goal::broadcast{}), f(goal::reduce{}), f(goal::gather{}), f(goal::scatter{}), f(goal::scan{}), f(goal::exscan{});
}
template <class Goal>
decision chosen(rank_t p, const problem& what, const any_cost_model& costs, const choose_options& options) {
    const dimensions at{.size = p, .root = Goal::kind == goal::reduce::kind ? p / 2 : 0};
    return choose(standard_candidates<Goal>(at, what), at, what, costs, options);
}

// What a call takes in a loop, by the steps of all ranks.
double loop_by_steps(const prospect& one, const decision& d, const any_cost_model& costs) {
    const rank_t p = d.at.size;
    const rank_t cores = std::min(d.what.cores, p);
    const bool inwards = d.kind == goal::reduce::kind || d.kind == goal::gather::kind;
    const double wake_ns = cores < p && !inwards ? d.what.switch_ns : 0;
    const model::block_sizes sizes(d.what.bytes, one.blocks, 1);
    const auto of = [&](std::uint64_t bytes) { return costs.costs_of(0, 1 % p, bytes, {}, p); };
    double all_ns = 0, busiest_ns = 0;
    for (rank_t r = 0; r != p; ++r) {
        schedule steps;
        one.what.algorithm.emit({p, d.at.root, one.blocks}, r, steps);
        double ns = 0, out_ns = 0, in_ns = 0;
        std::uint64_t parts = 0;
        for (const step& s : steps.steps) {
            const std::uint64_t its = parts + sizes.bytes_of(s.verb == verb::send ? s.a : s.out);
            parts = s.more ? its : 0;
            if (s.more) continue;
            switch (s.verb) {
            case verb::send: ns += of(its).send_ns + wake_ns, out_ns += of(its).port_ns; break;
            case verb::receive: ns += of(its).receive_ns, in_ns += of(its).port_ns; break;
            case verb::combine: ns += of(its).combine_ns; break;
            case verb::copy: ns += of(its).copy_ns; break;
            }
        }
        all_ns += ns;
        busiest_ns = std::max({busiest_ns, ns, out_ns, in_ns});
    }
    return cores < p && inwards ? std::max(busiest_ns, all_ns / cores) : busiest_ns;
}

// The same as the choice, from its definition: of those that take at most 1.3 times as long as the fastest, the
// first with the least product.
const prospect* by_definition(const std::vector<prospect>& as_given, const decision& d, const any_cost_model& costs) {
    double fastest = 1e300, least = 1e300;
    for (const prospect& p : as_given) fastest = std::min(fastest, p.predicted_ns);
    const auto product = [&](const prospect& p) {
        return std::max(p.predicted_ns, 1.0) * std::max(loop_by_steps(p, d, costs), 1.0);
    };
    for (const prospect& p : as_given)
        if (p.predicted_ns <= 1.3 * fastest) least = std::min(least, product(p));
    for (const prospect& p : as_given)
        if (p.predicted_ns <= 1.3 * fastest && product(p) <= least * (1 + 1.0 / 512)) return &p;
    return nullptr;
}
// Has a plan more steps than are looked at in full?
bool is_long(const prospect& one, const dimensions& at) {
    std::uint64_t steps = 0;
    for (rank_t r = 0; r != at.size; ++r) {
        schedule of_rank;
        one.what.algorithm.emit({at.size, at.root, one.blocks}, r, of_rank);
        steps += of_rank.steps.size();
    }
    return steps > detail::steps_looked_at / 2; // the choice knows their number only nearly
}

} // namespace

TEST_CASE("near prices: the least product of those that are near, then the first", "[select]") {
    detail::loop_choice<> loop(true, 0);
    CHECK(loop.winner() == detail::loop_choice<>::none);
    loop.add(3, 100, 50);
    CHECK(loop.winner() == 3);
    CHECK(loop.near_ns() == Approx(130));
    loop.add(1, 129, 30); // 3870 against 5000
    CHECK(loop.winner() == 1);
    loop.add(0, 131, 1); // too slow
    CHECK(loop.winner() == 1);
    loop.add(2, 129.1, 30); // as good, but later
    CHECK(loop.winner() == 1);
    loop.add(4, 95, 52); // now 129 is too slow
    CHECK(loop.winner() == 4);
}

TEST_CASE("near prices: hopeless is who is too slow, or loses to one that is no slower", "[select]") {
    detail::loop_choice<> loop(true, 0);
    loop.add(3, 100, 50);
    CHECK(loop.is_hopeless(0, 131, 1));
    CHECK_FALSE(loop.is_hopeless(0, 129, 30));
    CHECK(loop.is_hopeless(0, 120, 50));
    CHECK(loop.is_hopeless(4, 100, 50));       // it may be as good, but comes later
    CHECK_FALSE(loop.is_hopeless(2, 100, 50)); // it may be as good, and comes first
    CHECK_FALSE(loop.is_hopeless(4, 99, 60));  // it may be so fast that the other is no longer near
}

TEST_CASE("near prices: the wait for the last rank counts for none", "[select]") {
    detail::loop_choice<> loop(true, 1000);
    loop.add(0, 1100, 50);
    CHECK(loop.near_ns() == Approx(1130));
    loop.add(1, 1120, 40);
    CHECK(loop.winner() == 1);
}

TEST_CASE("near prices: what costs nothing is compared by its price alone", "[select]") {
    detail::loop_choice<> loop(true, 0);
    loop.add(0, 120, 0);
    loop.add(1, 100, 0);
    CHECK(loop.winner() == 1);
}

TEST_CASE("near prices: what costs nothing compares with what costs something", "[select]") {
    detail::loop_choice<> loop(true, 0);
    loop.add(0, 100, 50);
    loop.add(1, 120, 0); // nobody works: 120 * 1 against 100 * 50
    CHECK(loop.winner() == 1);
    CHECK(loop.is_hopeless(2, 121, 50));
    CHECK_FALSE(loop.is_hopeless(2, 99, 0));
    // Of two that take no time, the one with less work wins.
    detail::loop_choice<> none(true, 0);
    none.add(0, 0, 50);
    none.add(1, 0, 0.25);
    CHECK(none.winner() == 1);
}

TEST_CASE("near prices: a call in a loop takes as long as its busiest rank works, by the steps", "[select]") {
    for (const any_cost_model& costs : {any_cost_model(network), any_cost_model(memory)})
        for (const rank_t p : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 13u, 16u, 23u, 40u})
            for (const std::uint64_t bytes : {8u, 4096u, 65536u})
                for (const rank_t cores : {no_rank, 2u})
                    for_each_one_way_goal([&]<class Goal>(Goal) {
                        const problem what{.bytes = bytes, .cores = cores, .switch_ns = 500};
                        const decision d = chosen<Goal>(p, what, costs, {.price_all = true, .in_a_loop = true});
                        for (const prospect& one : d.prospects) {
                            if (one.excluded != exclusion::none) continue;
                            INFO(one.what.text().c_str() << " over " << p << " ranks, " << bytes << " bytes");
                            const double by_steps = loop_by_steps(one, d, costs);
                            if (!is_long(one, d.at)) {
                                CHECK(one.loop_ns == Approx(by_steps));
                            } else {
                                CHECK(one.loop_ns > 0);
                                // The mean over some ranks may be more than that over all.
                                if (cores >= p) CHECK(one.loop_ns <= by_steps * (1 + 1e-9));
                            }
                        }
                    });
}

TEST_CASE("near prices: of many ranks, one that is busier than its neighbours is found", "[select]") {
    for (const rank_t p : {100u, 500u, 1000u})
        for_each_one_way_goal([&]<class Goal>(Goal) {
            const decision d = chosen<Goal>(p, {.bytes = 8}, memory, {.in_a_loop = true});
            REQUIRE(d);
            INFO(d.winner().what.text().c_str() << " over " << p);
            if (!is_long(d.winner(), d.at)) CHECK(d.winner().loop_ns == Approx(loop_by_steps(d.winner(), d, memory)));
        });
}

TEST_CASE("near prices: what a call takes in a loop is known where it counts", "[select]") {
    const decision alone = chosen<goal::broadcast>(8, {.bytes = 4096}, memory, {});
    for (const prospect& p : alone.prospects) CHECK(p.loop_ns == 0);
    const decision in_a_loop = chosen<goal::broadcast>(8, {.bytes = 4096}, memory, {.in_a_loop = true});
    CHECK(in_a_loop.winner().loop_ns > 0);
}

TEST_CASE("near prices: of a long plan the ranks that tell are each looked at once", "[select]") {
    // Ranks that share cores: the mean over the ranks that tell stands for all. All ranks of a chain but its ends
    // do alike; of the four that tell, one is an end.
    const dimensions at{.size = 64, .root = 0, .blocks = 512};
    const any_algorithm chain = tree_reduce{ordered{bough::chain{}}};
    const any_cost_model costs = memory;
    problem what{.bytes = 65536, .cores = 2, .switch_ns = 500, .goes = course::inwards};
    const double all_ns = costs.loop_ns(plan_ref(chain, at), what, 1);
    const double some_ns = costs.loop_ns(plan_ref(chain, at), what, std::uint64_t{1} << 17);
    CHECK(some_ns == Approx(all_ns).epsilon(0.2));
    what.late = 63; // as the last one, who is among those that tell
    CHECK(costs.loop_ns(plan_ref(chain, at), what, std::uint64_t{1} << 17) == some_ns);
}

TEST_CASE("near prices: scans of ranks that share cores: the formula against the price", "[select]") {
    // One switch until a message is seen, and one for each message by its sender: (p - 1) (o + s + L + o + c) alone,
    // and the work of all, which is (p - 1) (2 o + s + c) and the copy of rank 0, on the cores.
    const double o = memory.send_ns(0, 1, 8), l = memory.latency_ns(0, 1, 8), c = memory.combine_ns(0, 8), s = 1500;
    const any_cost_model costs = memory;
    for (const rank_t p : {4u, 8u, 16u, 33u})
        for (const rank_t cores : {1u, 2u, 3u}) {
            CAPTURE(p, cores);
            const problem what{.bytes = 8, .cores = cores, .switch_ns = s};
            const double hop = 2 * o + l + s + c, work = (p - 1) * (2 * o + s + c) + memory.copy_ns(0, 8);
            const auto plan = plan_scan(chain_scan{}, {.size = p});
            CHECK(price_of(memory, what, plan) == Approx((p - 1) * hop + work / cores));
            CHECK(price_of(costs, what, plan) == Approx((p - 1) * hop + work / cores));
        }
}

TEST_CASE("near prices: who goes one way is told by the goal", "[select]") {
    const dimensions at{.size = 8};
    const problem what{.bytes = 8, .cores = 2, .switch_ns = 1500};
    const auto list = standard_candidates<goal::allreduce>(at, what);
    const decision alone = choose(list, at, what, memory),
                   in_a_loop = choose(list, at, what, memory, {.in_a_loop = true});
    CHECK(alone == in_a_loop);
    for (const prospect& p : alone.prospects) CHECK(p.loop_ns == 0);
    for_each_one_way_goal([]<class Goal>(Goal) { CHECK(detail::course_of(Goal::kind) != course::all_ways); });
    CHECK(detail::course_of(goal::barrier::kind) == course::all_ways);
    CHECK(detail::course_of(goal::alltoall::kind) == course::all_ways);
}

TEST_CASE("near prices: the choice is that of its definition, and what is left unpriced cannot win", "[select]") {
    for (const any_cost_model& costs : {any_cost_model(network), any_cost_model(memory)})
        for (const rank_t p : {1u, 2u, 3u, 4u, 7u, 8u, 16u, 24u, 40u})
            for (const std::uint64_t bytes : {0u, 8u, 1000u, 8192u, 65536u, 1u << 20})
                for (const rank_t cores : {no_rank, 2u})
                    for_each_one_way_goal([&]<class Goal>(Goal) {
                        CAPTURE(p, bytes, cores, int{Goal::kind});
                        const problem what{.bytes = bytes, .cores = cores, .switch_ns = 1500};
                        const decision d = chosen<Goal>(p, what, costs, {.exact = true, .in_a_loop = true});
                        const decision all =
                            chosen<Goal>(p, what, costs, {.exact = true, .price_all = true, .in_a_loop = true});
                        REQUIRE(d);
                        CHECK(d.winner() == all.winner());
                        std::vector<prospect> as_given;
                        const auto list = standard_candidates<Goal>(d.at, what);
                        for (const candidate& c : list.list)
                            for (const prospect& one : all.prospects)
                                if (one.what == c) as_given.push_back(one);
                        REQUIRE(as_given.size() == all.prospects.size());
                        if (std::any_of(as_given.begin(), as_given.end(),
                                        [&](const prospect& one) { return is_long(one, d.at); }))
                            return; // then only some ranks tell
                        const prospect* const wins = by_definition(as_given, all, costs);
                        REQUIRE(wins != nullptr);
                        CHECK(*wins == d.winner());
                    });
}

TEST_CASE("near prices: what a loop of calls changes", "[select]") {
    const auto text = [](const decision& d) { return std::string(d.winner().what.text().c_str()); };
    const choose_options loop{.in_a_loop = true};
    // A root of four sends to all ranks itself, or to two of them.
    CHECK(text(chosen<goal::broadcast>(4, {.bytes = 8}, network, {})) == "tree_broadcast{fnomial{.degree = 4}}");
    CHECK(text(chosen<goal::broadcast>(4, {.bytes = 8}, network, loop)) == "tree_broadcast{fnomial{.degree = 2}}");
    // Ranks with cores of their own scan in few rounds, those that share cores with few messages.
    for (const rank_t p : {4u, 8u, 16u}) {
        CAPTURE(p);
        const problem own{.bytes = 8}, shared{.bytes = 8, .cores = 2, .switch_ns = 1500};
        CHECK(text(chosen<goal::scan>(p, own, memory, loop)) == "recursive_doubling_scan");
        CHECK(text(chosen<goal::exscan>(p, own, memory, loop)) == "inclusive_then_exclusive");
        CHECK(text(chosen<goal::scan>(p, shared, memory, loop)) == "chain_scan");
        CHECK(text(chosen<goal::exscan>(p, shared, memory, loop)) == "chain_exscan");
        // Long ones go along the chain in blocks.
        const problem large{.bytes = 1 << 20};
        const decision d = chosen<goal::scan>(p, large, memory, loop);
        CHECK(d.winner().what.algorithm.get<chain_scan>() != nullptr);
        CHECK(d.winner().blocks > 1);
    }
    // The ranks of a core that send to a root have something to do at once, and it waits once for all of them.
    const problem shared{.bytes = 8, .cores = 2, .switch_ns = 1500};
    CHECK(text(chosen<goal::gather>(8, shared, memory, loop)) == "tree_gather{ordered{fnomial{.degree = 8}}}");
    CHECK(text(chosen<goal::scatter>(8, {.bytes = 8, .cores = 2, .switch_ns = 5000}, network, loop)) ==
          "tree_scatter{ordered{fnomial{.degree = 2}}}");
    // Many ranks, of which two share a core: a chain takes too long.
    CHECK(text(chosen<goal::scan>(64, {.bytes = 8, .cores = 32, .switch_ns = 1500}, memory, loop)) ==
          "recursive_doubling_scan");
}

TEST_CASE("near prices: a decision says why it left a plan unpriced that might be faster alone", "[select]") {
    const decision d = chosen<goal::reduce>(2, {.bytes = 4096, .element_bytes = 8}, memory, {.in_a_loop = true});
    const auto found = std::find_if(d.prospects.begin(), d.prospects.end(), [&](const prospect& p) {
        return p.at_least && p.predicted_ns < d.winner().predicted_ns;
    });
    REQUIRE(found != d.prospects.end());
    std::string text = to_string(d);
    text = text.substr(text.find(found->what.text().c_str()));
    text = text.substr(0, text.find('\n'));
    CHECK(text.find("at least " + time_text(found->predicted_ns) +
                    ": another is no slower, and no worse in a loop of calls") != std::string::npos);
}

TEST_CASE("near prices: a multicast goes one way", "[select]") {
    CHECK(detail::course_of(goal::multicast::kind) == course::outwards);
}

TEST_CASE("near prices: a decision says that its winner is not the fastest alone", "[select]") {
    const std::string near = to_string(chosen<goal::broadcast>(4, {.bytes = 8}, network, {.in_a_loop = true}));
    CHECK(near.find("it is near the fastest, and better in a loop of calls") != std::string::npos);
    const std::string alone = to_string(chosen<goal::broadcast>(4, {.bytes = 8}, network, {}));
    CHECK(alone.find("the model expects it to be the fastest") != std::string::npos);
}

TEST_CASE("near prices: where no loop counts, no decision speaks of one", "[select]") {
    // A bound is below the price of the winner by less than equal prices differ.
    const problem what{.bytes = 1 << 20, .element_bytes = 8};
    for (const bool in_a_loop : {false, true}) {
        const decision d = chosen<goal::allgather>(16, what, thread_costs, {.in_a_loop = in_a_loop});
        REQUIRE(std::any_of(d.prospects.begin(), d.prospects.end(),
                            [&](const prospect& p) { return p.at_least && p.predicted_ns < d.winner().predicted_ns; }));
        CHECK(to_string(d).find("loop") == std::string::npos);
    }
}
