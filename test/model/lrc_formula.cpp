// SPDX-License-Identifier: BSL-1.0
// Moody's formulas against numbers worked by hand, and against walks of the schedules that they speak of.
#include "support/catch.hpp"
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/lrc_formula.hpp>
#include <bough/model/walk.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>

#include <cmath>

namespace {

using namespace bough::model;
using bough::rank_t;

// Table 2 of the paper: 64-bit floating-point addition of 1, 2, 4, 8 elements.
constexpr lrc moody(double combine_ns) {
    return {.message_latency_ns = 2100, .receive = {420}, .combine = {combine_ns}, .startup_ns = 9200};
}
constexpr double combine_ns[] = {1500, 2950, 5800, 11560};

constexpr auto fnomial_plan(rank_t p, rank_t f) { return bough::plan_reduce(bough::fnomial{.degree = f}, {.size = p}); }
constexpr auto best_by_walk(const lrc& model, rank_t p) {
    return best_degree_by_walk([p](rank_t f) { return fnomial_plan(p, f); }, model, 8, 16);
}

static_assert(log_of(1, 2) == integer_log{0, 0, 1});
static_assert(log_of(16, 4) == integer_log{2, 2, 16});
static_assert(log_of(17, 4) == integer_log{2, 3, 16});
static_assert(log_of(31, 2) == integer_log{4, 5, 16});
static_assert(log_of(3, 4) == integer_log{0, 1, 1});
static_assert(log_of(0xffff'fffeu, 2) == integer_log{31, 32, std::uint64_t{1} << 31});

// By hand, all in multiples of one: L = 100, r + c = 10, C = 1000.
constexpr lrc round_model{.message_latency_ns = 100, .receive = {4}, .combine = {6}, .startup_ns = 1000};
static_assert(serial_ns(round_model, 1, 0) == 1000);
static_assert(serial_ns(round_model, 5, 0) == 1140);
static_assert(fnomial_full_ns(round_model, 1, 3, 0) == 1000);
static_assert(fnomial_full_ns(round_model, 9, 3, 0) == 1000 + 2 * 120);
static_assert(fnomial_ns(round_model, 1, 3, 0) == 1000);
static_assert(fnomial_ns(round_model, 9, 3, 0) == 1240);
static_assert(fnomial_ns(round_model, 16, 3, 0) == 1000 + 300 + 40 + 10); // Figure 8: 3 phases, 2 full, then 1 child
static_assert(fnomial_ns(round_model, 3, 8, 0) == serial_ns(round_model, 3, 0));

// The paper's choice at P = 31 by its formula, and what its own schedules say.
static_assert(best_degree_by_formula(moody(1500), 31, 8, 16) == 4);
static_assert(best_degree_by_formula(moody(2950), 31, 16, 16) == 2);
static_assert(best_degree_by_formula(moody(5800), 31, 32, 16) == 2);
static_assert(best_degree_by_formula(moody(11560), 31, 64, 16) == 2);
static_assert(best_by_walk(moody(1500), 31) == 2);

} // namespace

TEST_CASE("Table 2 at P = 31: binomial is the best f-nomial tree at every size, by the walk") {
    for (const double c : combine_ns) CHECK(best_by_walk(moody(c), 31) == 2);
}

TEST_CASE("the formula is never below the walk, and equal where the last phase is full or nobody in it is early") {
    std::size_t equal = 0, above = 0;
    for (const double c : {0.0, 1500.0, 11560.0})
        for (rank_t f = 2; f <= 8; ++f)
            for (rank_t p = 1; p <= 600; ++p) {
                const lrc model = moody(c);
                const double formula = fnomial_ns(model, p, f, 8);
                const double walked = walk(fnomial_plan(p, f), model, 8).makespan_ns;
                const integer_log log = log_of(p, f);
                CAPTURE(p, f, c, formula, walked);
                REQUIRE(walked <= formula + 1e-6);
                if (p == log.power || p >= 2 * log.power) REQUIRE(walked == Approx(formula).epsilon(1e-12));
                if (p == log.power) REQUIRE(fnomial_full_ns(model, p, f, 8) == Approx(formula).epsilon(1e-12));
                ++(walked < formula - 1e-6 ? above : equal);
            }
    CHECK(equal > above);
    CHECK(above > 1000); // the bound is not the time: a walk that copied the formula would fail here
}

TEST_CASE("the serial formula is the walk of the flat tree") {
    for (rank_t p = 1; p <= 64; ++p)
        CHECK(walk(bough::plan_reduce(bough::flat{}, {.size = p}), moody(1500), 8).makespan_ns ==
              Approx(serial_ns(moody(1500), p, 8)).epsilon(1e-12));
}

TEST_CASE("the continuous optimum solves Appendix B and is where the formula for full trees is least") {
    // Figure 14: with c = 0 between 5 and 6; never above 6; falling as c rises.
    const double free = best_degree_continuous(moody(0), 8);
    CHECK(free > 5);
    CHECK(free < 6);
    double above = free;
    for (double c = 0; c < 1e6; c = c * 1.5 + 10) {
        const lrc model = moody(c);
        const double f = best_degree_continuous(model, 8);
        CAPTURE(c, f);
        REQUIRE(f >= 1);
        REQUIRE(f <= above);
        above = f;
        REQUIRE(f * (std::log(f) - 1) == Approx(2100 / (420 + c) - 1).epsilon(1e-9).margin(1e-9));
        const auto price = [&](double degree) { return (2100 + (degree - 1) * (420 + c)) / std::log(degree); };
        if (f > 1.1) REQUIRE((price(f) <= price(f * 1.001) && price(f) <= price(f * 0.999)));
        // Rounded: no other integer is better for full trees.
        const rank_t rounded = best_degree_full(model, 8);
        for (rank_t other = 2; other <= 8; ++other) REQUIRE(price(rounded) <= price(other) * (1 + 1e-12));
    }
}

TEST_CASE("the continuous optimum at the edges of the model") {
    CHECK(std::isinf(best_degree_continuous({.message_latency_ns = 1}, 8)));
    CHECK(best_degree_continuous({.message_latency_ns = 0, .receive = {1}}, 8) == 1);
    CHECK(best_degree_continuous({.message_latency_ns = 1, .receive = {1}}, 8) == Approx(std::exp(1.0)));
    CHECK(best_degree_full({.message_latency_ns = 0, .receive = {1}}, 8) == 2);
    const double wide = best_degree_continuous({.message_latency_ns = 1e9, .receive = {1}}, 8);
    CHECK(wide * (std::log(wide) - 1) == Approx(1e9));
    CHECK(best_degree_continuous({.message_latency_ns = 1, .receive = {8, 1}}, 1000) <
          best_degree_continuous({.message_latency_ns = 1, .receive = {8, 1}}, 10));
}
