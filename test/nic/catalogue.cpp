// SPDX-License-Identifier: BSL-1.0
// Every plan of bough as NIC programs, in every mode, with blocks of any length: they obey the rules, and give every host the
// bits that the plan gives, whatever the order in which messages come, with duplicates, with hosts that run ahead, with epochs
// and counters that wrap.
#include "nic/run.hpp"
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/sample.hpp"
#include <bough/nic/assemble.hpp>
#include <bough/nic/check.hpp>
#include <bough/nic/listing.hpp>
#include <bough/nic/run/simulated.hpp>
#include <bough/schedule/claims.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

using namespace bough;
using test::value;

namespace {

constexpr std::uint32_t instances = 4;

enum class mode { plain, multicast, accumulate };
constexpr std::array<const char*, 3> mode_names{"plain", "multicast", "accumulate"};

// What a plan is to give; without the plan's type, so that what follows is compiled once.
struct wanted {
    std::vector<std::vector<step>> steps;
    test::places at;
    std::uint32_t blocks, elements;
    bool in_place;
    bool sequential; // a fold in the order of ranks is meant
    rank_t root;
};

std::vector<std::vector<value>> values_of(const wanted& w, mode how, std::uint32_t instance) {
    if (how == mode::accumulate) return test::played(w.steps, instance, w.elements, w.blocks, test::sum_op{});
    if (w.in_place) {
        auto all = test::played(w.steps, instance, w.elements, w.blocks, test::bracket_op{});
        if (how == mode::multicast) all.assign(all.size(), std::vector<value>(all[w.root]));
        return all;
    }
    const nic::detail::element_offsets offsets(w.elements, w.blocks); // alltoall: nothing combines
    const std::size_t ranks = w.steps.size();
    std::vector<std::vector<value>> all(ranks, std::vector<value>(w.elements));
    for (std::size_t r = 0; r != ranks; ++r)
        for (block_t b = 0; b != w.blocks; ++b)
            for (std::uint32_t i = offsets.of(b); i != offsets.of(b + 1); ++i)
                all[r][i] = test::input_value(instance, static_cast<rank_t>(b / ranks), i);
    return all;
}

// Returns what is wrong.
std::string compare(const std::vector<nic::program>& programs, const wanted& w, mode how, std::uint64_t seed) {
    if (const auto verdict = nic::check(programs); !verdict) return nic::to_string(verdict);
    const nic::run_options options{.instances = instances,
                                   .shuffle = true,
                                   .seed = seed,
                                   .duplicates_percent = 15,
                                   .first_epoch = 0u - 3,
                                   .first_turn = 0u - 1};
    const auto run_with = [&](const auto& op, test::hosts& hosts) -> std::string {
        const auto run = nic::run_simulated<value>(programs, op, model::lrc{}, hosts, options);
        if (!run.finished) return "it does not end";
        if (run.overruns != 0 || run.overwrites != 0) return "a message came too early";
        if (hosts.told_twice != 0) return "a host was told twice";
        return "";
    };
    test::hosts hosts(w.at, instances);
    const std::string bad =
        how == mode::accumulate ? run_with(test::sum_op{}, hosts) : run_with(test::bracket_op{}, hosts);
    if (!bad.empty()) return bad;
    const nic::detail::element_offsets offsets(w.elements, w.blocks);
    for (std::uint32_t u = 0; u != instances; ++u) {
        const auto want = values_of(w, how, u);
        for (std::size_t r = 0; r != w.steps.size(); ++r) {
            if (hosts.got[u][r].size() != w.at.result_count[r]) return "a result of another length";
            for (block_t b = 0; b != w.blocks; ++b) {
                // In an alltoall the result is a column, and the range that encloses it is handed over.
                if (!w.in_place && b % w.steps.size() != r) continue;
                for (std::size_t i = offsets.of(b); i != offsets.of(b + 1); ++i)
                    if (i >= w.at.result[r] && i < w.at.result[r] + w.at.result_count[r] &&
                        hosts.got[u][r][i - w.at.result[r]] != want[r][i])
                        return "rank " + std::to_string(r) + " has a wrong result in instance " + std::to_string(u);
            }
        }
    }
    if (!w.sequential || how == mode::accumulate) return "";
    // Besides, not from the plan but from what is meant: a fold in the order of ranks.
    test::hosts folding(w.at, instances);
    if (const std::string wrong = run_with(test::affine_op{}, folding); !wrong.empty()) return wrong;
    for (std::uint32_t u = 0; u != instances; ++u)
        for (std::size_t r = 0; r != w.steps.size(); ++r)
            for (std::size_t i = 0; i != w.at.result_count[r]; ++i) {
                value fold = test::input_value(u, 0, w.at.result[r] + i);
                for (rank_t from = 1; from != w.steps.size(); ++from)
                    fold = test::affine_op{}(fold, test::input_value(u, from, w.at.result[r] + i));
                if (folding.got[u][r][i] != fold) return "not the fold in the order of ranks";
            }
    return "";
}

struct counts {
    std::size_t plans = 0;
    std::uint64_t cases = 0;
    std::array<std::size_t, 3> of_mode{};
};

// All combinations for two and three ranks, where faults are as likely as anywhere; of others, one in 16.
template <class Goal>
void try_all(counts& sum, const dimensions& at, std::uint32_t banks) {
    constexpr bool reduces = std::is_same_v<Goal, goal::reduce>;
    constexpr bool folds =
        reduces || std::is_same_v<Goal, goal::allreduce> || std::is_same_v<Goal, goal::reduce_scatter>;
    test::for_each_plan_of<Goal>(at, [&](const char* name, const auto& plan) {
        ++sum.plans;
        const block_t b = plan.blocks();
        wanted w{test::steps_of(plan), {}, b, 0, Goal::in_place, false, at.root};
        w.sequential = folds && claims_of(plan.algorithm(), plan.at()).keeps_rank_order;
        for (const mode how : {mode::plain, mode::multicast, mode::accumulate})
            for (const std::uint32_t elements : {b, 2 * b + 1, b / 2 + 1, 0u}) {
                if ((how == mode::multicast && !reduces) || (how == mode::accumulate && !folds)) continue;
                const std::uint64_t number = sum.cases++;
                if (at.size != 2 && at.size != 3 && !bough_test::sampled(number, 16)) continue;
                ++sum.of_mode[static_cast<std::size_t>(how)];
                const auto made = nic::assemble_all(plan, test::any_order, nic::capabilities_of<nic::simulated>,
                                                    {.elements = elements,
                                                     .banks = banks,
                                                     .accumulate = how == mode::accumulate,
                                                     .multicast = how == mode::multicast,
                                                     .stream = 17});
                INFO(name << ", goal " << int{Goal::kind} << ", p = " << at.size << ", root " << at.root << ", "
                          << mode_names[static_cast<std::size_t>(how)] << ", " << elements << " elements");
                REQUIRE(made);
                w.elements = elements;
                w.at = how == mode::multicast ? test::places_of(plan, goal::allreduce{}, elements)
                                              : test::places_of(plan, plan.goal(), elements);
                CHECK(compare(made.programs, w, how, bough_test::seed() + number) == "");
            }
    });
}

} // namespace

TEST_CASE("every plan is a NIC program that gives the plan's bits", "[nic]") {
    counts sum;
    for (rank_t p = 1; p <= 17; ++p) {
        const std::uint32_t banks = 1u << (p % 3);
        for (const rank_t root : {rank_t{0}, p / 2}) {
            if (root != 0 && p > 3 && !bough_test::sampled(p, 2)) continue;
            const dimensions at{p, root, natural_blocks};
            try_all<goal::reduce>(sum, at, banks);
            try_all<goal::allreduce>(sum, at, banks);
            try_all<goal::broadcast>(sum, at, banks);
            try_all<goal::barrier>(sum, at, banks);
            try_all<goal::gather>(sum, at, banks);
            try_all<goal::scatter>(sum, at, banks);
            try_all<goal::scan>(sum, at, banks);
            try_all<goal::exscan>(sum, at, banks);
            try_all<goal::reduce_scatter>(sum, at, banks);
            try_all<goal::allgather>(sum, at, banks);
            try_all<goal::alltoall>(sum, at, banks);
        }
    }
    CHECK(sum.plans > 2000);
    for (const std::size_t n : sum.of_mode) CHECK(n > 300);
}

TEST_CASE("trees that cut the vector into blocks are NIC programs too", "[nic]") {
    counts sum;
    for (const rank_t p : {2u, 5u, 8u, 13u}) {
        try_all<goal::reduce>(sum, {p, p - 1, 3}, 2);
        try_all<goal::allreduce>(sum, {p, 0, 4}, 2);
        try_all<goal::broadcast>(sum, {p, 1, 5}, 2);
    }
    CHECK(sum.plans > 200);
    for (const std::size_t n : sum.of_mode) CHECK(n > 50);
}
