// SPDX-License-Identifier: BSL-1.0
// No result depends on the order in which anything comes: proved while this compiles for small trees, swept for others.
#include "nic/run.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/check.hpp>
#include <bough/nic/listing.hpp>
#include <bough/nic/prove.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/kary.hpp>

#include <cstdint>
#include <span>
#include <vector>

using namespace bough;
using test::value;

namespace {

constexpr auto brought = [](rank_t r, std::span<value> mine) {
    for (std::size_t i = 0; i != mine.size(); ++i) mine[i] = test::input_value(0, r, i);
};
constexpr nic::needs kept_apart{
    .element = nic::element::uint64, .element_bytes = 8, .commutative = false, .exact = false};

constexpr std::vector<nic::program> reduction(rank_t f, rank_t p) {
    return nic::assemble_all(plan_reduce(fnomial{.degree = f}, {.size = p}), kept_apart,
                             nic::capabilities_of<nic::host>)
        .programs;
}
template <rank_t F, rank_t P>
constexpr nic::limits room = nic::limits_of(reduction(F, P));
template <rank_t F, rank_t P>
constexpr nic::order_proof proof = nic::prove_every_order<value, room<F, P>>(reduction(F, P), test::bracket_op{},
                                                                             brought);

static_assert(proof<2, 8> && nic::check(reduction(2, 8)));
static_assert(proof<3, 9> && nic::check(reduction(3, 9)));
static_assert(proof<4, 8> && nic::check(reduction(4, 8)));
// The root of the 3-nomial tree has four children and its bell: 5! orders of 2^5 sets.
static_assert(proof<3, 9>.orders == 120 + 2 * 6 + 6 * 1);

std::vector<nic::program> made_of(const auto& plan, const nic::needs& op, nic::assemble_options options = {}) {
    const auto made = nic::assemble_all(plan, op, nic::capabilities_of<nic::host>, options);
    REQUIRE(made);
    return made.programs;
}

} // namespace

static_assert(!nic::prove_every_order<value>({}, test::bracket_op{}, brought)); // of nothing, nothing is proved

TEST_CASE("every order of arrival gives the same: f-nomial trees of up to 40 ranks", "[nic]") {
    std::uint64_t orders = 0, deliveries = 0;
    for (rank_t f = 2; f <= 6; ++f)
        for (rank_t p = 1; p <= 40; ++p) {
            INFO("f = " << f << ", p = " << p);
            const auto reduce = nic::prove_every_order<value>(reduction(f, p), test::bracket_op{}, brought);
            CHECK(reduce);
            const auto allreduce = nic::prove_every_order<value>(
                made_of(plan_allreduce(fnomial{.degree = f}, {.size = p}), kept_apart), test::bracket_op{}, brought);
            CHECK(allreduce);
            orders += reduce.orders + allreduce.orders;
            deliveries += reduce.deliveries + allreduce.deliveries;
        }
    CHECK(orders > 1'000'000'000);
    CHECK(deliveries < 10'000'000);
}

TEST_CASE("every order of arrival gives the same: other plans, blocks, multicast", "[nic]") {
    const auto holds = [](const std::vector<nic::program>& programs) {
        return bool(nic::prove_every_order<value>(programs, test::bracket_op{}, brought));
    };
    for (rank_t p = 1; p <= 13; ++p) {
        INFO("p = " << p);
        CHECK(holds(made_of(plan_reduce(chain{}, {.size = p, .blocks = 3}), test::any_order, {.elements = 5})));
        CHECK(holds(made_of(plan_reduce(kary{3}, {.size = p}), test::any_order, {.elements = 2})));
        CHECK(holds(made_of(plan_allreduce(recursive_doubling{}, {.size = p}), test::any_order)));
        CHECK(holds(made_of(plan_reduce(fnomial{4}, {.size = p}), kept_apart, {.multicast = true})));
    }
}

TEST_CASE("accumulating is independent of the order for exact ops, and for others it is caught", "[nic]") {
    for (const rank_t p : {4u, 8u, 13u}) {
        const auto programs = made_of(plan_reduce(fnomial{4}, {.size = p}), test::any_order, {.accumulate = true});
        CHECK(nic::check(programs));
        CHECK(nic::prove_every_order<value>(programs, test::sum_op{}, brought));
        CHECK_FALSE(nic::prove_every_order<value>(programs, test::bracket_op{}, brought));
    }
}

TEST_CASE("a step that does not wait for all that it needs is found by an order that shows it", "[nic]") {
    std::vector<nic::program> programs = reduction(2, 4);
    REQUIRE(nic::prove_every_order<value>(programs, test::bracket_op{}, brought));
    // The second child's message is combined when it comes, whether or not the first one has been.
    REQUIRE(programs[0].steps[1].what == nic::kind::combine);
    programs[0].steps[0].bump = nic::no_index;
    programs[0].steps[1].threshold = programs[0].counters[programs[0].steps[1].wait].increment = 1;
    const auto proof_of = nic::prove_every_order<value>(programs, test::bracket_op{}, brought);
    CHECK_FALSE(proof_of);
    CHECK(proof_of.reason == nic::proof_reason::order);
    CHECK(proof_of.rank == 0);
}

TEST_CASE("what was not tried is told apart from what was disproved", "[nic]") {
    const auto reason_of = [](const std::vector<nic::program>& programs) {
        return nic::prove_every_order<value>(programs, test::bracket_op{}, brought).reason;
    };
    const auto star = [](rank_t p) { return made_of(plan_reduce(flat{}, {.size = p}), kept_apart); };
    CHECK(reason_of(star(10)) == nic::proof_reason::none);
    CHECK(reason_of({}) == nic::proof_reason::no_programs);
    const auto many = nic::prove_every_order<value>(star(20), test::bracket_op{}, brought);
    CHECK(many.reason == nic::proof_reason::too_many_messages);
    CHECK(nic::to_string(many) == "rank 0: not tried: a rank has more messages than 16, the bell included");
    std::vector<nic::program> silent = star(3);
    for (nic::step& s : silent[1].steps)
        if (s.what == nic::kind::send) s.what = nic::kind::count;
    CHECK(reason_of(silent) == nic::proof_reason::not_ended);
}
