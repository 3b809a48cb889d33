// SPDX-License-Identifier: BSL-1.0
// What headers state of memory and traffic as multiples of a vector, by the steps: never more, and somewhere reached.
#include "support/catch.hpp"
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/halving_doubling.hpp>
#include <bough/algorithm/levels.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

using namespace bough;

namespace {

// Blocks that a rank sends.
struct sent_blocks {
    std::uint64_t sent = 0;

    void send(rank_t, slice s) { sent += s.count; }
    void send_part(rank_t, slice s) { sent += s.count; }
    void receive(rank_t, slice) {}
    void receive_part(rank_t, slice) {}
    void combine(slice, slice, slice) {}
    void copy(slice, slice) {}
};

// The largest scratch of any rank of these, in vectors.
struct most {
    double staying = 0; // in a fold
    double leaving = 0;
    double others = 0;
};
template <class A>
most most_scratch(const A& algorithm, bool powers) {
    most found;
    for (rank_t p = 2; p <= 400; ++p) {
        if (std::has_single_bit(p) != powers) continue;
        const detail::paired_fold fold(p);
        const dimensions at{.size = p, .root = 0, .blocks = algorithm.natural_blocks(p)};
        for (rank_t r = 0; r != p; ++r) {
            double& one = fold.leaves(r) ? found.leaving : fold.folds(r) ? found.staying : found.others;
            one = std::max(one, static_cast<double>(algorithm.scratch(at, r)) / at.blocks);
        }
    }
    return found;
}

} // namespace

TEST_CASE("stated: scratch of halving and doubling") {
    CHECK(most_scratch(halving_doubling_allreduce{}, true).others == 0.5);
    const most allreduce = most_scratch(halving_doubling_allreduce{}, false);
    CHECK(allreduce.staying == 1.0);
    CHECK(allreduce.leaving == 0.5);
    CHECK(allreduce.others == 0.5);
    CHECK(most_scratch(halving_gather{}, true).others == 1.0);
    CHECK(most_scratch(halving_gather{}, false).staying == 2.0);
    for (const distances d : {distances::doubling, distances::halving}) {
        CHECK(most_scratch(recursive_halving{d}, true).others == 0.75);
        const most scatter = most_scratch(recursive_halving{d}, false);
        CHECK(scatter.staying == 5.0 / 3);
        CHECK(scatter.leaving == 2.0 / 3);
        CHECK(scatter.others < 1);
        CHECK(recursive_halving{d}.scratch({.size = 3, .blocks = 3}, 0) == 5); // 5/3
    }
}

TEST_CASE("stated: traffic of the allgather by recursive doubling") {
    double highest = 0;
    for (rank_t p = 1; p <= 700; ++p)
        for (rank_t r = 0; r != p; ++r) {
            sent_blocks steps;
            recursive_doubling_allgather{}.emit({.size = p, .blocks = p}, r, steps);
            if (5 * steps.sent >= std::uint64_t{12} * p) FAIL("p = " << p << ", rank " << r);
            highest = std::max(highest, static_cast<double>(steps.sent) / p);
            if (std::has_single_bit(p)) CHECK(steps.sent == p - 1);
        }
    CHECK(highest > 2.39); // p = 640: 5/4 of 512
}

TEST_CASE("levels: a radix above all numbers of groups is refused, without a division by zero") {
    constexpr rank_t huge = 0xffff'ffffu;
    static_assert(level{.radix = huge}.left_of(7) == 0);
    static_assert(level{.radix = huge, .eliminated = 1}.left_of(7) == 0);
    static_assert(level{.radix = 7}.left_of(7) == 1 && level{.radix = 8}.left_of(7) == 0);
    CHECK(check_plan(per_level_allreduce{level_list{{.radix = huge}}}, {.size = 7}).code == errc::invalid_argument);
}

TEST_CASE("circulant broadcast and reduce refuse more than one port") {
    for (const rank_t ports : {0u, 2u, 5u}) {
        const circulant family{.ports = ports};
        CHECK(check_plan(family.algorithm_for(goal::broadcast{}), {.size = 7}).code == errc::invalid_argument);
        CHECK(check_plan(family.algorithm_for(goal::reduce{}), {.size = 7}).code == errc::invalid_argument);
    }
    CHECK_FALSE(check_plan(circulant{}.algorithm_for(goal::broadcast{}), {.size = 7}));
    CHECK_FALSE(check_plan(circulant{}.algorithm_for(goal::reduce{}), {.size = 7}));
}
