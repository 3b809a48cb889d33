// SPDX-License-Identifier: BSL-1.0
// Every allgather and reduce_scatter, and allreduces made of them, for 1 to 64 ranks and some up to 256: proved by verify,
// their claims too, and their traits against closed formulas.
#include "blocks.hpp"

#include "support/sample.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

using namespace bough;

namespace {

template <class F>
void for_each_size(F f) {
    for (rank_t p = 1; p <= 64; ++p)
        if (p <= 13 || bough_test::sampled(p, 10)) f(p);
    for (rank_t p = 65; p <= 256; ++p)
        if (bough_test::mixed(bough_test::seed() ^ p) % (bough_test::all() ? 8 : 200) == 0) f(p);
}

// A reduce_scatter's result is its rank's own block: a caller need not have room for the others.
template <Plan P>
bool writes_only_its_block(const P& plan) {
    bool good = true;
    for (rank_t r = 0; r != plan.size(); ++r)
        for (const step& s : plan.schedule_of(r))
            if (s.writes() && s.out.buffer == output && s.out.count != 0)
                good = good && s.out.first == r && s.out.count == 1;
    return good;
}

// The scratch blocks that the page of an algorithm allows it.
template <class A>
std::uint64_t scratch_allowed(const A& algorithm, const plan_traits& traits, rank_t p) {
    if constexpr (requires { algorithm.scratch_limit; }) {
        const bool reduces = traits.combines != 0;
        if (algorithm.scratch_limit != 0) return algorithm.scratch_limit;
        if (algorithm.aggregation_limit == 0) return reduces ? p / 2 * 2 - 1 : 0;
        const std::uint64_t levels = test::ceil_log(2, p);
        const std::uint64_t a = std::min<std::uint64_t>(test::ceil_log(2, algorithm.aggregation_limit + 1) - 1,
                                                        std::max<std::uint64_t>(levels, 1) - 1);
        if (a == 0) return reduces ? levels + 1 : 0;
        return reduces ? (levels - a + 4) << a : std::uint64_t{4} << a;
    } else {
        return 0;
    }
}

} // namespace

TEST_CASE("allgather: proofs, and the traffic of a lower bound") {
    for_each_size([](rank_t p) {
        test::for_each_allgather(p, [&](const char* name, const auto& algorithm, rank_t rounds) {
            CAPTURE(name, p);
            const plan_traits traits = test::prove(plan_allgather(algorithm, {.size = p}));
            if (rounds != test::any_rounds) CHECK(traits.rounds == rounds);
            CHECK(traits.volume_max == p - 1);
            CHECK(traits.volume == std::uint64_t{p} * (p - 1));
            CHECK(traits.combines == 0);
            CHECK(traits.scratch_max <= scratch_allowed(algorithm, traits, p));
            CHECK(traits.bracket == 0);
        });
    });
}

TEST_CASE("reduce_scatter: proofs, and the traffic and the work of a lower bound") {
    for_each_size([](rank_t p) {
        test::for_each_reduce_scatter(p, [&](const char* name, const auto& algorithm, rank_t rounds) {
            CAPTURE(name, p);
            const auto plan = plan_reduce_scatter(algorithm, {.size = p});
            const plan_traits traits = test::prove(plan);
            if (rounds != test::any_rounds) CHECK(traits.rounds == rounds);
            CHECK(traits.volume_max == p - 1);
            CHECK(traits.volume == std::uint64_t{p} * (p - 1));
            CHECK(traits.combines_max == p - 1);
            CHECK(traits.combines == std::uint64_t{p} * (p - 1));
            CHECK(traits.rank_consistent);
            CHECK(writes_only_its_block(plan));
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(algorithm)>, circulant_reduce_scatter>)
                CHECK(traits.scratch_max <= p);
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(algorithm)>, lowest_bit_first_reduce_scatter>)
                CHECK(traits.scratch_max <= scratch_allowed(algorithm, traits, p));
            // Who keeps rank order says so.
            if (p > 2) CHECK(keeps_rank_order(algorithm, plan.at()) == !traits.needs_commutative);
        });
    });
}

TEST_CASE("what is written out is the allgather read backwards") {
    for_each_size([](rank_t p) {
        CAPTURE(p);
        const dimensions at{.size = p};
        const auto same = [&](const auto& direct, const auto& backwards) {
            plan_traits a = verify(plan_reduce_scatter(direct, at)).traits;
            const plan_traits b = test::prove(plan_reduce_scatter(backwards, at));
            CHECK(a.scratch_max <= b.scratch_max + 1);
            a.scratch_max = b.scratch_max; // circulant: the own block is accumulated with its neighbours, in one piece
            a.steps_max = b.steps_max;
            CHECK(a == b);
        };
        same(circulant_reduce_scatter{}, reverse(circulant_allgather{}, 1));
        same(lowest_bit_first_reduce_scatter{}, reverse(lowest_bit_first_allgather{}, 1));
        same(lowest_bit_first_reduce_scatter{.aggregation_limit = 1},
             reverse(lowest_bit_first_allgather{.aggregation_limit = 1}, 1));
    });
}

TEST_CASE("allreduce of two halves: rounds and traffic add, and the output takes the partial results") {
    for_each_size([](rank_t p) {
        const dimensions at{.size = p};
        const auto check = [&](const char* name, const auto& choice, rank_t least, rank_t most) {
            CAPTURE(name, p);
            const auto plan = plan_allreduce(choice, at);
            const plan_traits traits = test::prove(plan);
            const plan_traits first = verify(plan_reduce_scatter(plan.algorithm().reduce_scatter, at)).traits;
            const plan_traits second = verify(plan_allgather(plan.algorithm().allgather, at)).traits;
            CHECK(traits.rounds == first.rounds + second.rounds);
            CHECK(traits.volume_max == 2 * (p - 1));
            CHECK(traits.combines_max == p - 1);
            CHECK(traits.depth == first.depth);
            CHECK(traits.rank_consistent);
            CHECK(traits.needs_commutative == first.needs_commutative);
            CHECK(traits.scratch_max >= least);
            CHECK(traits.scratch_max <= most);
        };
        check("ring", ring{}, p - 1, p - 1);
        check("circulant", circulant{}, p / 2, p / 2);
        check("lowest bit first", lowest_bit_first{}, p / 2, p / 2);
        check("lowest bit first, limited", lowest_bit_first{.aggregation_limit = 2}, 0, 2 * (test::ceil_log(2, p) + 3));
        check("lowest bit first, in 20 blocks", lowest_bit_first{.scratch_limit = 20}, 0, 20);
        check("lowest bit first, in 80 blocks", lowest_bit_first{.scratch_limit = 80}, 0, 80);
        test::prove(plan_allreduce(circulant{.ports = 3}, at));

        const auto ordered = plan_allreduce(reduce_scatter_allgather{pairwise_reduce_scatter{}, circulant{}}, at);
        CAPTURE(p);
        CHECK(keeps_rank_order(ordered.algorithm(), ordered.at()));
        CHECK_FALSE(test::prove(ordered).needs_commutative);
    });
}
