// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/arriving.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/late_ranks.hpp>
#include <bough/select/standard/allreduce.hpp>

#include <cstdint>
#include <vector>

using namespace bough;

TEST_CASE("late_ranks: chosen where one rank is late enough, and only there") {
    const model::alpha_beta_gamma costs{.alpha_ns = 3000, .beta_ns_per_byte = 0.1, .gamma_ns_per_byte = 0};
    const dimensions at{.size = 12};
    const problem what{.bytes = 12 << 20};
    const auto winner = [&](std::vector<std::uint64_t> arrivals) {
        auto from = standard_candidates<goal::allreduce>(at, what);
        add_late_rank(from, at, what, arrivals);
        const decision d = choose(from, at, what, model::arriving{costs, arrivals});
        const auto* hides = d.winner().what.algorithm.get<late_rank_allreduce>();
        return hides == nullptr ? no_rank : hides->late;
    };
    std::vector<std::uint64_t> arrivals(12, 0);
    arrivals[7] = 20'000'000; // a vector takes 1.26 ms
    CHECK(winner(arrivals) == 7);
    arrivals[7] = 100'000;
    CHECK(winner(arrivals) == no_rank);
    arrivals[7] = arrivals[2] = 20'000'000; // two are late
    CHECK(winner(arrivals) == no_rank);
    CHECK(winner(std::vector<std::uint64_t>(12, 5)) == no_rank);
}

TEST_CASE("late_ranks: no candidate where several ranks come last, wherever they are") {
    const problem what{.bytes = 1 << 20};
    const auto hidden = [&](const std::vector<std::uint64_t>& arrivals) {
        candidate_list made{goal::allreduce::kind, {}};
        add_late_rank(made, {.size = static_cast<rank_t>(arrivals.size())}, what, arrivals);
        return made.list.empty() ? no_rank : made.list.front().algorithm.get<late_rank_allreduce>()->late;
    };
    CHECK(hidden({9, 0, 9}) == no_rank);
    CHECK(hidden({0, 9, 9}) == no_rank);
    CHECK(hidden({9, 9, 0}) == no_rank);
    CHECK(hidden({5, 5, 9}) == 2); // what came before the last does not matter
    CHECK(hidden({9, 5, 5}) == 0);
    CHECK(hidden({5, 9, 5, 9, 11}) == 4);
}

TEST_CASE("late_ranks: short vectors and lone ranks get no candidate") {
    candidate_list made{goal::allreduce::kind, {}};
    add_late_rank(made, {.size = 3}, {.bytes = 1000}, std::vector<std::uint64_t>{0, 9, 0});
    CHECK(made.list.empty());
    add_late_rank(made, {.size = 1}, {.bytes = 1 << 20}, std::vector<std::uint64_t>{0});
    CHECK(made.list.empty());
    add_late_rank(made, {.size = 3}, {.bytes = 1 << 20}, std::vector<std::uint64_t>{0, 9, 0});
    REQUIRE_FALSE(made.list.empty());
    CHECK(made.list.front().algorithm.get<late_rank_allreduce>()->late == 1);
}

TEST_CASE("late_ranks: a problem may name one, and its plans are priced and chosen from its arrival on") {
    const model::alpha_beta_gamma costs{.alpha_ns = 3000, .beta_ns_per_byte = 0.1, .gamma_ns_per_byte = 0.01};
    const any_cost_model erased = costs;
    for (const rank_t size : {2u, 4u, 7u, 12u})
        for (const rank_t late : {rank_t{0}, size - 1})
            for (const std::uint64_t bytes : {8u, 1u << 16, 1u << 22}) {
                const dimensions at{.size = size};
                const problem what{.bytes = bytes, .late = late, .late_ns = 5'000'000};
                CAPTURE(size, late, bytes);
                std::vector<std::uint64_t> arrivals(size, 0);
                arrivals[late] = what.late_ns;
                const auto from = standard_candidates<goal::allreduce>(at, what);
                auto other = standard_candidates<goal::allreduce>(at, {.bytes = bytes});
                add_late_rank(other, at, {.bytes = bytes}, arrivals);
                CHECK(from.list == other.list);
                const decision d = choose(from, at, what, erased),
                               all = choose(from, at, what, erased, {.price_all = true});
                CHECK(d.winner().what == all.winner().what);
                for (const prospect& p : all.prospects) {
                    const plan_ref plan(p.what.algorithm, {size, 0, p.blocks});
                    CHECK(erased.price_ns(plan, what) ==
                          price_of(model::arriving{costs, arrivals}, {.bytes = bytes}, plan));
                    const double bound = erased.bound_ns(plan, what).ns;
                    CHECK(bound <= erased.price_ns(plan, what) * (1 + 1e-12));
                    CHECK(bound >= static_cast<double>(what.late_ns));
                }
            }
}

TEST_CASE("late_ranks: however late a rank is, what is saved after its arrival decides") {
    const any_cost_model costs =
        model::alpha_beta_gamma{.alpha_ns = 3000, .beta_ns_per_byte = 0.1, .gamma_ns_per_byte = 0};
    const dimensions at{.size = 12};
    const auto hidden = [&](std::uint64_t late_ns) {
        const problem what{.bytes = 12 << 20, .late = 7, .late_ns = late_ns};
        const decision d = choose(standard_candidates<goal::allreduce>(at, what), at, what, costs);
        const auto* plan = d.winner().what.algorithm.get<late_rank_allreduce>();
        return plan == nullptr ? no_rank : plan->late;
    };
    CHECK(hidden(100'000) == no_rank);
    for (const std::uint64_t ns : {20'000'000u, 500'000'000u, 4'000'000'000u}) CHECK(hidden(ns) == 7);
    CHECK(hidden(3'600'000'000'000) == 7); // an hour
}

TEST_CASE("late_ranks: the same, where the model has the times") {
    const model::alpha_beta_gamma costs{.alpha_ns = 3000, .beta_ns_per_byte = 0.1, .gamma_ns_per_byte = 0};
    const dimensions at{.size = 8};
    const problem what{.bytes = 64 << 20};
    // From the arrival to the end.
    const auto taken = [&](std::uint64_t late_ns, auto add) {
        std::vector<std::uint64_t> arrivals(8, 0);
        arrivals[2] = late_ns;
        const model::arriving seen{costs, arrivals};
        auto from = standard_candidates<goal::allreduce>(at, what);
        add(from, arrivals);
        const decision d = choose(from, at, what, seen);
        CHECK(d.last_arrival_ns == static_cast<double>(late_ns));
        const plan_ref plan(d.winner().what.algorithm, {at.size, 0, d.winner().blocks});
        CHECK(d.winner().what == choose(from, at, what, seen, {.price_all = true}).winner().what);
        return price_of(seen, what, plan) - static_cast<double>(late_ns);
    };
    const auto hides = [&](candidate_list& from, const std::vector<std::uint64_t>& arrivals) {
        add_late_rank(from, at, what, arrivals);
    };
    const auto as_usual = [](candidate_list&, const std::vector<std::uint64_t>&) {};
    const double hidden = taken(20'000'000, hides), usual = taken(20'000'000, as_usual);
    CHECK(hidden < 7.3e6);
    CHECK(usual > 11e6);
    for (const std::uint64_t ms : {100u, 1000u, 3000u, 10'000u, 3'600'000u}) {
        CAPTURE(ms);
        CHECK(taken(ms * 1'000'000, hides) < hidden * (1 + equal_price_share));
        CHECK(taken(ms * 1'000'000, as_usual) < usual * (1 + equal_price_share));
    }
    // Both are known: the later of them counts, and where one rank has both, their sum.
    const std::vector<std::uint64_t> arrivals{0, 700, 0, 0, 0, 0, 0, 0};
    const any_cost_model erased = model::arriving{costs, arrivals};
    CHECK(erased.last_arrival_ns({}, 8) == 700);
    CHECK(erased.last_arrival_ns({}, 1) == 0);
    CHECK(erased.last_arrival_ns({.late = 0, .late_ns = 900}, 8) == 900);
    CHECK(erased.last_arrival_ns({.late = 1, .late_ns = 900}, 8) == 1600);
    CHECK(any_cost_model(costs).last_arrival_ns({.late = 1, .late_ns = 900}, 8) == 900);
    CHECK(any_cost_model(costs).last_arrival_ns({}, 8) == 0);
}
