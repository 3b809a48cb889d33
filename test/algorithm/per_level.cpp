// SPDX-License-Identifier: BSL-1.0
// Levels: proofs of any sequence in any form, one bracket, the bounds of 3-2 elimination, and the choice by costs against an
// exhaustive search and against figures worked out beforehand.
#include "blocks.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/best_levels.hpp>
#include <bough/algorithm/halving_doubling.hpp>
#include <bough/algorithm/per_level.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace bough;

namespace {

// What the ranks do in step, level by level: counted from the description of the steps, not from the steps.
struct in_step {
    double rounds = 0, sent = 0, combined = 0; // rounds; vectors
};
in_step allreduce_in_step(const level_list& levels) {
    in_step sum;
    double v = 1;
    for (const level& l : levels) {
        const double f = l.radix;
        const bool some = l.eliminated != 0;
        if (l.form == level_form::exchange) {
            // Everybody to everybody; before it one to its neighbour, after it back.
            sum.rounds += f - 1 + (some ? 2 : 0);
            sum.sent += v * (f - 1 + (some ? 2 : 0));
            sum.combined += v * (f - 1 + (some ? 1 : 0));
            continue;
        }
        if (l.radix == 1) { // halves, a half, and the whole back
            sum.rounds += 3;
            sum.sent += v / 2 + v / 2 + v;
            sum.combined += v / 2;
        } else if (l.radix == 2 && some) { // two rounds of halves, and two back
            sum.rounds += 4;
            sum.sent += 4 * v / 2;
            sum.combined += 2 * v / 2;
        } else {
            sum.rounds += 2 * (f - 1);
            sum.sent += 2 * (f - 1) * v / f;
            sum.combined += (f - 1) * v / f;
        }
        v /= f;
    }
    return sum;
}
double time_in_step(const level_list& levels, const level_costs& costs, double bytes) {
    const in_step sum = allreduce_in_step(levels);
    return sum.rounds * costs.alpha + bytes * (sum.sent * costs.beta + sum.combined * costs.gamma);
}

// A sequence of levels, drawn at random.
level_list drawn(rank_t size, std::uint64_t& draw, bool forms) {
    level_list levels;
    for (rank_t left = size; left != 1;) {
        std::vector<level> possible;
        for (rank_t f = 1; f <= left; ++f)
            for (rank_t e = 0; e <= left / 2; ++e)
                if (const level l{f, e}; l.left_of(left) != 0) possible.push_back(l);
        draw = bough_test::mixed(draw);
        level l = possible[draw % possible.size()];
        if (forms && draw >> 60 < 6) l.form = level_form::exchange;
        // Folds make little progress: only a few in a row.
        if (levels.count >= 20) l = {.radix = left};
        levels.push_back(l);
        left = l.left_of(left);
    }
    return levels;
}

// The least time of any sequence, by trying all.
double least_time(rank_t groups, double v, double spent, const level_costs& costs, level_forms forms) {
    if (groups == 1) return spent;
    double least = std::numeric_limits<double>::infinity();
    for (rank_t f = 1; f <= groups; ++f)
        for (rank_t e = 0; e <= groups / 2; ++e)
            for (const level_form form : {level_form::halving, level_form::exchange}) {
                if (!(form == level_form::halving ? forms.halving : forms.exchange)) continue;
                const level l{f, e, form};
                if (l.left_of(groups) == 0) continue;
                if (f == 1 && (l.left_of(groups) & (l.left_of(groups) - 1)) != 0) continue; // folds to a power of two
                const double time = spent + time_in_step({l}, costs, v);
                const double share = form == level_form::halving ? f : 1;
                least = std::min(least, least_time(l.left_of(groups), v / share, time, costs, forms));
            }
    return least;
}

std::string written(const level_list& levels) { return std::string(detail::levels_label("levels", levels).c_str()); }

} // namespace

TEST_CASE("levels: any sequence in any form is a plan, in rank order, of one bracket") {
    std::uint64_t draw = bough_test::seed();
    for (rank_t p = 2; p <= 40; ++p)
        for (int i = 0; i != (bough_test::all() ? 30 : 3); ++i) {
            const level_list levels = drawn(p, draw, true);
            CAPTURE(p, written(levels));
            REQUIRE(levels.complete_for(p));
            const block_t parts = levels.parts();
            const plan_traits mixed = test::prove(plan_allreduce(per_level{.levels = levels}, {.size = p}));
            CHECK((!mixed.needs_commutative && mixed.position_invariant && mixed.rank_consistent));
            // The same levels in other forms, and as a reduce: the same bits.
            const level_list halving = levels.in_form(level_form::halving);
            const auto split = plan_allreduce(per_level{.levels = halving}, {.size = p});
            const plan_traits of_split = test::prove(split);
            CHECK(of_split.bracket == mixed.bracket);
            const in_step expected = allreduce_in_step(halving);
            // A fold cuts an odd number of blocks into unequal halves.
            CHECK(static_cast<double>(of_split.volume_max) <= expected.sent * split.blocks() + levels.count);
            CHECK(static_cast<double>(of_split.combines_max) <= expected.combined * split.blocks() + levels.count);
            const auto whole = plan_allreduce(per_level{levels, level_form::exchange}, {.size = p});
            CHECK(whole.blocks() == 1);
            CHECK(test::prove(whole).bracket == mixed.bracket);
            CHECK(claims_of(whole.algorithm(), whole.at()).bracket == claims_of(split.algorithm(), split.at()).bracket);
            const rank_t root = static_cast<rank_t>(draw >> 8) % p;
            const plan_traits one = test::prove(plan_reduce(per_level{.levels = halving}, {.size = p, .root = root}));
            CHECK(one.bracket == mixed.bracket);
            CHECK(one.combines == of_split.combines);
            // Blocks that do not fit the parts.
            for (const block_t blocks : {0u, 1u, parts / 2, parts + 1}) {
                CHECK(verify(plan_allreduce(per_level{.levels = levels}, {.size = p, .blocks = blocks})));
                CHECK(verify(plan_reduce(per_level{.levels = halving}, {.size = p, .root = root, .blocks = blocks})));
            }
        }
}

TEST_CASE("levels: those that do not make one group are refused") {
    CHECK(check_plan(per_level_allreduce{{{2}, {2}}}, {.size = 5}));
    CHECK_FALSE(check_plan(per_level_allreduce{{{2, 1}, {2}}}, {.size = 5}));
    CHECK(check_plan(per_level_reduce{{{3}}}, {.size = 4}));
    CHECK(check_plan(per_level_reduce{{{3, 0, level_form::exchange}}}, {.size = 3}));
    CHECK(written({{3}, {2, 1}, {2, 0, level_form::exchange}}) == "levels{3, 2-1, 2x}");
}

TEST_CASE("3-2 elimination: at most 3 vectors sent, 1.5 combined, 2 (q + 1) rounds; one bracket in rank order") {
    for (rank_t p = 2; p <= 1024; ++p) {
        CAPTURE(p);
        const level_list levels = steady_levels(p);
        REQUIRE(levels.complete_for(p));
        const double q = std::ceil(std::log2(p));
        const in_step sum = allreduce_in_step(levels);
        CHECK(sum.rounds <= 2 * (q + 1));
        CHECK(sum.sent <= 3);
        CHECK(sum.combined <= 1.5);
        rank_t odd = p;
        while (odd % 2 == 0) odd /= 2;
        if (odd == 1 || odd == 3) CHECK(sum.rounds == 2 * q);
        const bool thorough =
            p <= 64 || bough_test::mixed(bough_test::seed() ^ p) % (bough_test::all() ? 40 : 400) == 0;
        if (!thorough || (p > 17 && p <= 64 && !bough_test::sampled(p, 4))) continue;
        const auto plan = plan_allreduce(per_level{}, {.size = p});
        const plan_traits traits = test::prove(plan);
        CHECK(traits.volume_max <= 3 * std::uint64_t{plan.blocks()});
        CHECK(2 * traits.combines_max <= 3 * std::uint64_t{plan.blocks()});
        CHECK(traits.rounds >= sum.rounds);
        CHECK(traits.rounds <= sum.rounds + 2); // first come, first served is not always the best order
        CHECK((!traits.needs_commutative && traits.position_invariant && traits.rank_consistent));
        CHECK(verify(plan_allreduce(per_level{.form = level_form::exchange}, {.size = p})).traits.bracket ==
              traits.bracket);
        CHECK(verify(plan_reduce(per_level{}, {.size = p, .root = p / 3})).traits.bracket == traits.bracket);
    }
}

TEST_CASE("levels: the fold's are recursive doubling, and halving and doubling") {
    for (rank_t p = 1; p <= 33; ++p) {
        const per_level_allreduce whole{fold_levels(p), level_form::exchange};
        for (rank_t r = 0; r != p; ++r)
            CHECK(plan_allreduce(whole, {.size = p}).schedule_of(r) ==
                  plan_allreduce(recursive_doubling{}, {.size = p}).schedule_of(r));
        const dimensions at{.size = p};
        CHECK(recursive_doubling{}.bracket(at) == halving_doubling_allreduce{}.bracket(at));
        CHECK(recursive_doubling{}.bracket(at) == whole.bracket(at));
        CHECK(recursive_doubling{}.bracket(at) == recursive_halving{}.bracket(at));
    }
    CHECK_FALSE(recursive_doubling{}.bracket({.size = 7}) == per_level_allreduce{}.bracket({.size = 7}));
}

TEST_CASE("best_levels: no sequence takes less time, by trying all") {
    std::uint64_t draw = bough_test::seed();
    for (rank_t p = 1; p <= 20; ++p)
        for (int i = 0; i != 4; ++i) {
            draw = bough_test::mixed(draw);
            const level_costs costs{.alpha = static_cast<double>(draw % 10'000),
                                    .beta = static_cast<double>((draw >> 20) % 100) / 50,
                                    .gamma = static_cast<double>((draw >> 40) % 100) / 100};
            const double bytes = std::pow(10, static_cast<double>(draw >> 62) + 2);
            for (const level_forms forms : {level_forms{true, false}, level_forms{false, true}, level_forms{}}) {
                const level_list found = best_levels(p, costs, bytes, forms);
                CAPTURE(p, costs.alpha, costs.beta, costs.gamma, bytes, written(found));
                REQUIRE(found.complete_for(p));
                const double time = time_in_step(found, costs, bytes);
                CHECK(time == Approx(least_time(p, bytes, 0, costs, forms)));
                CHECK(time == Approx(detail::price_levels(found, costs, bytes)));
            }
        }
}

// alpha 5 us, beta 1 ns/B, gamma 0.25 ns/B, full duplex: times in us.
TEST_CASE("best_levels: the figures of the rank-ordered choice, and what both forms together add") {
    const level_costs costs{.alpha = 5, .beta = 1e-3, .gamma = 0.25e-3};
    struct row {
        rank_t p;
        double bytes, halving_doubling, in_halving, in_both;
    };
    const double mib = 1 << 20;
    for (const row& r :
         {row{15, 8192, 78.5, 70.0, 65.1}, row{24, 8192, 89.7, 67.7, 56.5}, row{48, mib, 4200, 2370, 2370},
          row{127, mib, 4800, 3594, 3592}, row{540, mib, 4688, 2475, 2470}}) {
        CAPTURE(r.p, r.bytes);
        const auto time = [&](level_forms forms) {
            return time_in_step(best_levels(r.p, costs, r.bytes, forms), costs, r.bytes);
        };
        CHECK(time({true, false}) == Approx(r.in_halving).margin(r.in_halving < 1000 ? 0.05 : 0.5));
        CHECK(time({}) == Approx(r.in_both).margin(r.in_both < 1000 ? 0.05 : 0.5));
        CHECK(time({}) <= time({true, false}));
        CHECK(time({true, false}) < time_in_step(fold_levels(r.p), costs, r.bytes));
    }
    // Of few bytes the best is recursive doubling's number of rounds, for any number of ranks.
    for (rank_t p = 2; p <= 100; ++p) {
        const rank_t power = std::bit_floor(p);
        const double rounds = std::bit_width(power) - 1 + (power == p ? 0 : 2);
        CHECK(allreduce_in_step(best_levels(p, costs, 8)).rounds <= rounds);
    }
    CHECK(best_levels(1'000'003, costs, mib).complete_for(1'000'003));
}

// g++ 12 may begin arrays at run time with what a constant evaluation has left in them.
namespace {
constexpr std::size_t right_levels(std::uint32_t count) {
    level_list all;
    for (std::uint32_t i = 0; i != count; ++i) all.push_back({.radix = 7});
    std::size_t right = 0;
    for (std::uint32_t i = 0; i != level_list::capacity; ++i) right += all.entries[i].radix == (i < count ? 7 : 2);
    return right;
}
static_assert(right_levels(3) == level_list::capacity && right_levels(32) == level_list::capacity);
} // namespace
TEST_CASE("per_level: a list of levels begins alike at run time and in constant evaluation") {
    for (std::uint32_t count = 0; count <= level_list::capacity; ++count)
        CHECK(right_levels(count) == level_list::capacity);
}
