// SPDX-License-Identifier: BSL-1.0
#include "claims.hpp"
#include "proof.hpp"
#include "support/catch.hpp"
#include "support/mutants.hpp"
#include "support/ports.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/allgather/bruck.hpp>
#include <bough/algorithm/allgather/circulant.hpp>
#include <bough/algorithm/allgather/lowest_bit_first.hpp>
#include <bough/algorithm/allgather/recursive_doubling.hpp>
#include <bough/algorithm/broadcast/scatter_allgather.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/kary.hpp>

#include <bit>
#include <cstdint>
#include <set>
#include <string>

using namespace bough;

namespace {

template <rank_t Root>
constexpr auto by_ring = [](rank_t size) {
    return plan_broadcast(scatter_allgather{binomial{}, ring{}}, {.size = size, .root = Root % size});
};
template <rank_t Root>
constexpr auto by_circulant = [](rank_t size) {
    return plan_broadcast(scatter_allgather{tree_scatter{ordered{binomial{}}}, circulant_allgather{}},
                          {.size = size, .root = Root % size});
};
static_assert(test::proven_for<by_ring<0>, 1, 2, 3, 7, 8>());
static_assert(test::proven_for<by_ring<4>, 5, 7>());
static_assert(test::proven_for<by_circulant<0>, 1, 2, 3, 7>());
static_assert(test::proven_for<by_circulant<4>, 5, 7>());

static_assert(check_plan(scatter_allgather{binomial{}, ring{}}, {.size = 3, .blocks = 4}));
static_assert(check_plan(scatter_allgather{kary{.arity = 0}, ring{}}, {.size = 3}));
static_assert(!check_plan(scatter_allgather{kary{.arity = 2}, ring{}}, {.size = 3, .blocks = 3}));

constexpr std::uint32_t ceil_log2(std::uint64_t x) {
    std::uint32_t t = 0;
    for (std::uint64_t power = 1; power < x; power *= 2) ++t;
    return t;
}

template <class A>
plan_traits prove(const A& algorithm, const dimensions& at) {
    const auto plan = plan_broadcast(algorithm, at);
    CAPTURE(at.size, at.root);
    for (const step& s : plan.schedule_of(at.root))
        REQUIRE_FALSE((s.communicates() && s.verb == verb::receive)); // it has everything
    return test::prove_with_claims(plan);
}

} // namespace

TEST_CASE("scatter, then allgather: any of both, any root") {
    std::uint64_t number = 0;
    for (rank_t p = 1; p <= 64; ++p)
        for (const rank_t root : std::set<rank_t>{0, 1 % p, p / 2, p - 1}) {
            if (!bough_test::sampled(++number, 4)) continue;
            const dimensions at{.size = p, .root = root};
            const plan_traits by_ring_of = prove(scatter_allgather{binomial{}, ring{}}, at);
            CHECK(by_ring_of.scratch_max == 0);
            prove(scatter_allgather{flat{}, ring{}}, at);
            prove(scatter_allgather{ordered{binomial{}}, circulant_allgather{}}, at);
            prove(scatter_allgather{tree_scatter{kary{.arity = 2}}, circulant_allgather{}}, at);
            prove(scatter_allgather{binomial{}, bruck_allgather{}}, at);
            // What is put together for the root alone is not copied either.
            const lowest_bit_first_allgather limited{.aggregation_limit = 4};
            CHECK(prove(scatter_allgather{binomial{}, limited}, at).scratch_max <= limited.scratch(at, 0));
            if (std::has_single_bit(p)) prove(scatter_allgather{binomial{}, recursive_doubling_allgather{}}, at);
        }
}

TEST_CASE("scatter, then allgather: rounds and traffic of both, less what the root has") {
    for (rank_t p = 2; p <= 64; ++p) {
        if (p > 16 && !bough_test::sampled(p, 4)) continue;
        CAPTURE(p);
        const std::uint32_t q = ceil_log2(p);
        const dimensions at{.size = p};
        const auto with_ring = plan_broadcast(scatter_allgather{binomial{}, ring{}}, at);
        CHECK(test::rounds_in_order(with_ring) <= q + p - 1);
        // A block goes to every rank behind the scatter, but not to the root; the binomial tree moves it once a level.
        const std::uint64_t scattered = verify(plan_scatter(binomial{}, at)).traits.volume;
        CHECK(verify(with_ring).traits.volume == scattered + std::uint64_t{p - 1} * (p - 1));
        const auto with_circulant = plan_broadcast(scatter_allgather{binomial{}, circulant_allgather{}}, at);
        CHECK(test::rounds_in_order(with_circulant) <= 2 * q);
        CHECK(verify(with_circulant).traits.volume == scattered + std::uint64_t{p - 1} * (p - 1));
        // The busiest rank is the root: it sends everything but its own block, and shares of all.
        CHECK(verify(with_circulant).traits.volume_max <= 2 * (p - 1));
    }
}

TEST_CASE("scatter, then allgather: its label names both") {
    const scatter_allgather both{binomial{}, ring{}};
    CHECK(std::string(label_of(both).c_str()) == "scatter_allgather{binomial, ring}");
}

TEST_CASE("no mutant of scatter, then allgather passes for it") {
    for (const rank_t p : {2u, 3u, 5u}) {
        CAPTURE(p);
        CHECK(test::spoil(plan_broadcast(scatter_allgather{binomial{}, ring{}}, {.size = p, .root = p / 2})) != 0);
        CHECK(test::spoil(plan_broadcast(scatter_allgather{binomial{}, circulant_allgather{}}, {.size = p})) != 0);
    }
}
