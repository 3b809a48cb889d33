// SPDX-License-Identifier: BSL-1.0
// Choice among trees that fit the model and the times at which ranks come.
#include "support/catch.hpp"
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/arriving.hpp>
#include <bough/model/lrc.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/fitted_trees.hpp>
#include <bough/select/standard/broadcast.hpp>
#include <bough/select/standard/reduce.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/tree/postal.hpp>
#include <bough/verify/verify.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

using namespace bough;

namespace {

constexpr model::lrc nic{
    .message_latency_ns = 2100, .receive = {420}, .combine = {1500}, .startup_ns = 9200, .copy = {}};

std::vector<std::uint64_t> spread(rank_t size, std::uint64_t over_ns) {
    std::vector<std::uint64_t> at;
    for (std::uint64_t r = 0; r != size; ++r) at.push_back(over_ns * (r * 37 % size) / size);
    return at;
}

} // namespace

TEST_CASE("arriving: the walk begins each rank when it comes, as the simulator does", "[select][arrivals]") {
    for (const rank_t p : {1u, 2u, 7u, 64u}) {
        const std::vector<std::uint64_t> at = spread(p, 50'000);
        const auto plan = plan_reduce(fnomial{.degree = 3}, {.size = p});
        sim_options options{.bytes = 64};
        options.noise.arrival.how = noise::coming::given;
        options.noise.arrival.at_ns.assign(at.begin(), at.end());
        const double simulated = simulate(plan, nic, options).makespan_ns;
        CHECK(price_of(model::arriving{nic, at}, {.bytes = 64}, plan) == simulated);
        CHECK(price_of(any_cost_model(model::arriving{nic, at}), {.bytes = 64}, plan) == simulated);
    }
}

TEST_CASE("choose takes the arrival-aware tree if ranks are late, the postal tree if not", "[select][arrivals]") {
    const dimensions at{.size = 64, .root = 63};
    const problem what{.bytes = 8};
    const auto chosen = [&](const std::vector<std::uint64_t>& times) {
        candidate_list from = standard_candidates<goal::reduce>(at, what);
        const std::size_t standard = from.list.size();
        add_fitted_trees(from, at, what, nic, times);
        REQUIRE(from.list.size() == standard + 2);
        const decision made = choose(from, at, what, model::arriving{nic, times}, {.price_all = true});
        REQUIRE(made);
        REQUIRE(made.prospects.size() == from.list.size());
        // Pure: without the shortcuts and with them, the same.
        REQUIRE(choose(from, at, what, model::arriving{nic, times}).winner().what == made.winner().what);
        for (std::size_t i = standard; i != from.list.size(); ++i)
            if (made.winner().what == from.list[i]) return i - standard;
        return std::size_t{99};
    };
    CHECK(chosen(spread(64, 0)) == 0);
    std::vector<std::uint64_t> late = spread(64, 40'000);
    late[63] = 40'000;
    CHECK(chosen(late) == 1);
}

TEST_CASE("choose: however late the last rank is, reduce takes what ends soonest after it", "[select][arrivals]") {
    const dimensions at{.size = 16};
    const problem what{.bytes = 64};
    const auto taken = [&](std::uint64_t late_ns) {
        std::vector<std::uint64_t> times(16, 0);
        times[5] = late_ns;
        candidate_list from = standard_candidates<goal::reduce>(at, what);
        add_fitted_trees(from, at, what, nic, times);
        const model::arriving seen{nic, times};
        const decision d = choose(from, at, what, seen);
        CHECK(d.winner().what == choose(from, at, what, seen, {.price_all = true}).winner().what);
        const plan_ref plan(d.winner().what.algorithm, {at.size, 0, d.winner().blocks});
        return price_of(seen, what, plan) - static_cast<double>(late_ns);
    };
    const double least = taken(1'000'000);
    for (const std::uint64_t ms : {10u, 100u, 10'000u, 3'600'000u}) {
        CAPTURE(ms);
        CHECK(taken(ms * 1'000'000) <= least * (1 + equal_price_share));
    }
}

TEST_CASE("fitted trees: who needs rank order is offered the postal tree where it keeps it", "[select][arrivals]") {
    const problem what{.bytes = 8};
    const choose_options in_order{.needed = order_preserving};
    const std::vector<std::uint64_t> times(64, 0);
    for (const rank_t root : {0u, 5u, 63u}) {
        const dimensions at{.size = 64, .root = root};
        candidate_list fitted{goal::reduce::kind, {}};
        add_fitted_trees(fitted, at, what, nic, times);
        REQUIRE(fitted.list.size() == 2);
        CHECK(std::string_view(fitted.list[0].algorithm.text().c_str()) == "tree_reduce{table \"postal\"}");
        CHECK(std::string_view(fitted.list[1].algorithm.text().c_str()) == "tree_reduce{table \"arrival\"}");
        const decision made = choose(fitted, at, what, model::arriving{nic, times}, in_order);
        CHECK(bool(made) == (root == 0));
        if (made) CHECK(made.winner().what == fitted.list[0]);
        // The claim is the truth: the proof says so too.
        const auto proof =
            verify(plan_reduce(fitted_table("postal", postal_tree(64, nic.message_latency_ns + 9200, 1920, root)), at));
        REQUIRE(proof);
        CHECK(proof.traits.needs_commutative == (root != 0));
    }
    // Among all it wins: no standard tree is faster.
    const dimensions at{.size = 64};
    candidate_list all = standard_candidates<goal::reduce>(at, what);
    add_fitted_trees(all, at, what, nic);
    CHECK(choose(all, at, what, nic, in_order).winner().what == all.list.back());
    // Tables of one name need not be one tree.
    const fitted_table one("postal", postal_tree(8, 2, 1)), other("postal", postal_tree(8, 0, 1));
    CHECK_FALSE(one == other);
    CHECK(one == fitted_table("postal", postal_tree(8, 2, 1)));
    CHECK(tree_bracket(one, {.size = 8}) == bracket_class{});
}

TEST_CASE("fitted trees: never slower than any f-nomial tree, in both directions and models", "[select][arrivals]") {
    constexpr model::alpha_beta_gamma network{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25};
    const auto check = [](auto goal, const auto& model, rank_t p) {
        using Goal = decltype(goal);
        const dimensions at{.size = p, .root = p / 2};
        const problem what{.bytes = 8};
        candidate_list fitted{Goal::kind, {}};
        add_fitted_trees(fitted, at, what, model);
        REQUIRE(fitted.list.size() == 1);
        const double postal = choose(fitted, at, what, model).winner().predicted_ns;
        const double best = choose(standard_candidates<Goal>(at, what), at, what, model).winner().predicted_ns;
        CAPTURE(p, postal, best);
        CHECK(postal <= best * (1 + equal_price_share));
    };
    for (const rank_t p : {2u, 3u, 13u, 64u, 100u}) {
        check(goal::reduce{}, nic, p);
        check(goal::broadcast{}, nic, p);
        check(goal::broadcast{}, network, p);
    }
}
