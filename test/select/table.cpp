// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/select/table.hpp>
#include <bough/tree/chain.hpp>

#include <limits>

using namespace bough;

namespace {

constexpr std::uint8_t kind = goal::allreduce::kind;
const label doubling = label_of(recursive_doubling{});
const label chained = label_of(tree_allreduce{chain{}});

decision_table made() {
    return {{{kind, 4, 8, doubling, 1, 10.0},
             {kind, 4, 1024, doubling, 1, 100.0},
             {kind, 16, 8, doubling, 1, 40.0},
             {kind, 4, 8, chained, 1, 30.0},
             {kind, 4, 1024, chained, 2, 90.0},
             {kind, 4, 1024, chained, 8, 50.0},
             {goal::reduce::kind, 4, 8, doubling, 1, 1.0}}};
}

} // namespace

TEST_CASE("table: the nearest ranks, and between the two nearest sizes", "[select][table]") {
    const decision_table t = made();
    CHECK(t.time_ns(kind, 4, 8, doubling, 1) == 10);
    CHECK(t.time_ns(kind, 4, 1024, doubling, 1) == 100);
    CHECK(t.time_ns(kind, 4, 516, doubling, 1) == 55); // half of the way
    CHECK(t.time_ns(kind, 4, 1, doubling, 1) == 10);
    CHECK(t.time_ns(kind, 4, 1 << 20, doubling, 1) == 100);
    CHECK(t.time_ns(kind, 7, 8, doubling, 1) == 10); // 7 / 4 < 16 / 7
    CHECK(t.time_ns(kind, 8, 8, doubling, 1) == 10); // as near: the lower
    CHECK(t.time_ns(kind, 9, 8, doubling, 1) == 40); // 9 / 4 > 16 / 9
    CHECK(t.time_ns(kind, 1, 8, doubling, 1) == 10);
    CHECK(t.time_ns(kind, 4, 1024, chained, 2) == 90);
    CHECK(t.time_ns(kind, 4, 1024, chained, 8) == 50);
    CHECK(t.time_ns(kind, 4, 1024, chained, 4) == 50); // not measured in 4 blocks: the fastest
    CHECK(t.time_ns(kind, 4, 8, label_of(ring{}), 4) < 0);
    CHECK(t.time_ns(goal::scan::kind, 4, 8, doubling, 1) < 0);
}

TEST_CASE("table: chooses", "[select][table]") {
    auto from = candidates<goal::allreduce>(ring{}, recursive_doubling{});
    from.add(tree_allreduce{chain{}}, 8);
    const decision small = choose(from, {.size = 4}, {.bytes = 8}, made());
    REQUIRE(small);
    CHECK(small.measured);
    CHECK(small.winner().what.algorithm == any_algorithm(recursive_doubling{}));
    CHECK(small.winner().predicted_ns == 10);
    CHECK(small.prospects[1].predicted_ns == 30);
    CHECK(small.prospects[2].excluded == exclusion::not_measured);
    const decision large = choose(from, {.size = 4}, {.bytes = 1024}, made());
    CHECK(large.winner().what.algorithm == any_algorithm(tree_allreduce{chain{}}));
    CHECK(large.winner().predicted_ns == 50);
    CHECK_FALSE(choose(from, {.size = 4}, {.bytes = 8}, decision_table{}));
    // A time that is none does not win.
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        decision_table broken = made();
        for (measured_row& r : broken.rows)
            if (r.algorithm == doubling) r.ns = bad;
        const decision d = choose(from, {.size = 4}, {.bytes = 8}, broken);
        CHECK(d.winner().what.algorithm == any_algorithm(tree_allreduce{chain{}}));
        CHECK(d.prospects[1].excluded == exclusion::not_measured);
        CHECK(d.prospects[2].excluded == exclusion::no_price);
    }
}
