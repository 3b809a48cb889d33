// SPDX-License-Identifier: BSL-1.0
// Every plan of bough as NIC programs: they obey the rules, and give every host the bits that the plan gives, whatever the
// order in which messages come, with duplicates, with hosts that run ahead.
#include "nic/run.hpp"
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/sample.hpp"
#include <bough/nic/assemble.hpp>
#include <bough/nic/check.hpp>
#include <bough/nic/listing.hpp>
#include <bough/nic/run_simulated.hpp>
#include <bough/schedule/claims.hpp>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

using namespace bough;
using test::value;

namespace {

constexpr std::uint32_t instances = 3;

// Not a template of the plan, so that it is compiled once. Returns what is wrong.
std::string compare(const std::vector<nic::program>& programs, const std::vector<std::vector<step>>& steps,
                    const test::places& at, std::uint32_t blocks, bool in_place, bool sequential, std::uint64_t seed) {
    if (const auto verdict = nic::check(programs); !verdict) return nic::to_string(verdict);
    const nic::run_options options{.instances = instances, .shuffle = true, .seed = seed, .duplicates_percent = 5};
    const auto run_with = [&](const auto& op, test::hosts& hosts) -> std::string {
        const auto run = nic::run_simulated<value>(programs, op, model::lrc{}, hosts, options);
        if (!run.finished) return "it does not end";
        if (run.overruns != 0 || run.overwrites != 0) return "a message came too early";
        if (hosts.told_twice != 0) return "a host was told twice";
        return "";
    };
    test::hosts hosts(at, instances);
    if (const std::string bad = run_with(test::bracket_op{}, hosts); !bad.empty()) return bad;
    for (std::uint32_t u = 0; u != instances; ++u) {
        std::vector<std::vector<value>> want;
        if (in_place) {
            want = test::played(steps, u, blocks, blocks, test::bracket_op{});
        } else { // alltoall: nothing combines
            want.assign(steps.size(), std::vector<value>(blocks));
            for (std::size_t r = 0; r != steps.size(); ++r)
                for (std::size_t b = 0; b != blocks; ++b)
                    want[r][b] = test::input_value(u, static_cast<rank_t>(b / steps.size()), b);
        }
        for (std::size_t r = 0; r != steps.size(); ++r) {
            // In an alltoall the result is a column, and the range that encloses it is handed over.
            const std::size_t stride = in_place ? 1 : steps.size();
            for (std::size_t i = 0; i < at.result_count[r]; i += stride)
                if (hosts.got[u][r].size() != at.result_count[r] || hosts.got[u][r][i] != want[r][at.result[r] + i])
                    return "rank " + std::to_string(r) + " has a wrong result in instance " + std::to_string(u);
        }
    }
    if (!sequential) return "";
    // Besides, not from the plan but from what is meant: a fold in the order of ranks.
    test::hosts folding(at, instances);
    if (const std::string bad = run_with(test::affine_op{}, folding); !bad.empty()) return bad;
    for (std::uint32_t u = 0; u != instances; ++u)
        for (std::size_t r = 0; r != steps.size(); ++r)
            for (std::size_t i = 0; i != at.result_count[r]; ++i) {
                value fold = test::input_value(u, 0, at.result[r] + i);
                for (rank_t from = 1; from != steps.size(); ++from)
                    fold = test::affine_op{}(fold, test::input_value(u, from, at.result[r] + i));
                if (folding.got[u][r][i] != fold) return "not the fold in the order of ranks";
            }
    return "";
}

template <class Goal>
void try_all(std::size_t& plans, const dimensions& at, std::uint32_t banks) {
    test::for_each_plan_of<Goal>(at, [&](const char* name, const auto& plan) {
        const auto made = nic::assemble_all(plan, test::any_order, nic::capabilities_of<nic::simulated>,
                                            {.elements = plan.blocks(), .banks = banks, .stream = 17});
        INFO(name << ", goal " << int{Goal::kind} << ", p = " << at.size << ", root " << at.root);
        REQUIRE(made);
        constexpr bool folds = std::is_same_v<Goal, goal::reduce> || std::is_same_v<Goal, goal::allreduce> ||
                               std::is_same_v<Goal, goal::reduce_scatter>;
        const bool sequential = folds && claims_of(plan.algorithm(), plan.at()).keeps_rank_order;
        CHECK(compare(made.programs, test::steps_of(plan), test::places_of(plan, plan.goal(), plan.blocks()),
                      plan.blocks(), Goal::in_place, sequential, bough_test::seed() + plans) == "");
        ++plans;
    });
}

} // namespace

TEST_CASE("every plan is a NIC program that gives the plan's bits", "[nic]") {
    std::size_t plans = 0;
    for (rank_t p = 1; p <= 17; ++p) {
        const std::uint32_t banks = 1u << (p % 3);
        for (const rank_t root : {rank_t{0}, p / 2}) {
            if (root != 0 && !bough_test::sampled(p, 2)) continue;
            const dimensions at{p, root, natural_blocks};
            try_all<goal::reduce>(plans, at, banks);
            try_all<goal::allreduce>(plans, at, banks);
            try_all<goal::broadcast>(plans, at, banks);
            try_all<goal::barrier>(plans, at, banks);
            try_all<goal::gather>(plans, at, banks);
            try_all<goal::scatter>(plans, at, banks);
            try_all<goal::scan>(plans, at, banks);
            try_all<goal::exscan>(plans, at, banks);
            try_all<goal::reduce_scatter>(plans, at, banks);
            try_all<goal::allgather>(plans, at, banks);
            try_all<goal::alltoall>(plans, at, banks);
        }
    }
    CHECK(plans > 2000);
}

TEST_CASE("trees that cut the vector into blocks are NIC programs too", "[nic]") {
    std::size_t plans = 0;
    for (const rank_t p : {2u, 5u, 8u, 13u}) {
        try_all<goal::reduce>(plans, {p, p - 1, 3}, 2);
        try_all<goal::allreduce>(plans, {p, 0, 4}, 2);
        try_all<goal::broadcast>(plans, {p, 1, 5}, 2);
    }
    CHECK(plans > 200);
}
