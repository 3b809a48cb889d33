// SPDX-License-Identifier: BSL-1.0
// The census allreduce: ceil(log2 p) rounds for any number of ranks, and what that costs in order.
#include "blocks.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/allreduce/census.hpp>
#include <bough/allreduce.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/transport/in_process.hpp>

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

using namespace bough;

namespace {
// The front door takes it for exact ops, and by another name for all that commute.
static_assert(detail::needs_exact_v<census> && !detail::needs_exact_v<inexact_census>);
static_assert(detail::needs_exact_v<decltype(plan_allreduce(census{}, {}))>);
static_assert(detail::explain_exact<census, plus, int>() && detail::explain_exact<census, bough::min, double>());
static_assert(detail::explain_exact<inexact_census, plus, double>());
} // namespace

TEST_CASE("census: proofs; the least rounds for any number of ranks") {
    for (rank_t p = 1; p <= 300; ++p) {
        if (p > 40 && !bough_test::sampled(p, 10)) continue;
        CAPTURE(p);
        const plan_traits traits = test::prove(plan_allreduce(census{}, {.size = p}));
        const auto q = static_cast<std::uint32_t>(std::bit_width(p - 1));
        CHECK(traits.rounds == q);
        CHECK(traits.volume_max == q);
        CHECK(traits.volume == std::uint64_t{p} * q);
        // Each round after the first combines what comes; each 1 after the first, what goes; the result, once.
        const auto ones = static_cast<std::uint32_t>(std::popcount(p - 1));
        CHECK(traits.combines_max == (p == 1 ? 0 : q - 1 + ones - 1 + 1));
        CHECK(traits.needs_commutative == (p != 1));
        CHECK(traits.rank_consistent == (p == 1));
        for (const block_t blocks : {0u, 1u, 5u})
            CHECK(verify(plan_allreduce(inexact_census{}, {.size = p, .blocks = blocks})));
    }
}

TEST_CASE("census: on real ranks") {
    bough::in_process world{6};
    std::vector<int> sums(6, 0);
    world.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        std::vector<int> data(3, 1 << comm.rank());
        bough::allreduce(comm, std::span(data), plus{}, census{});
        sums[comm.rank()] = data[2];
    });
    CHECK(sums == std::vector<int>(6, 63));
}
