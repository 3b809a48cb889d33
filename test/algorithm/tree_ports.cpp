// SPDX-License-Identifier: BSL-1.0
// Trees as pipelines, and on ranks with several ports: what chain, degree_k and fnomial give.
#include "support/catch.hpp"
#include "support/ports.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/degree_k.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/verify/verify.hpp>

#include <cstdint>

using namespace bough;

namespace {

constexpr std::uint32_t ceil_log(std::uint64_t base, std::uint64_t x) {
    std::uint32_t t = 0;
    for (std::uint64_t power = 1; power < x; power *= base) ++t;
    return t;
}

} // namespace

TEST_CASE("a chain is a pipeline: n blocks take p - 2 + n rounds, broadcast and reduce, any root") {
    static_assert(verify(plan_broadcast(chain{}, {.size = 5, .blocks = 4})).traits.rounds == 7);
    static_assert(verify(plan_reduce(chain{}, {.size = 5, .blocks = 4})).traits.rounds == 7);
    for (rank_t p = 2; p <= 40; ++p)
        for (const block_t n : {1u, 2u, 3u, 8u, 17u})
            for (const rank_t root : {0u, p / 2, p - 1}) {
                CAPTURE(p, n, root);
                const dimensions at{.size = p, .root = root, .blocks = n};
                const verdict there = verify(plan_broadcast(chain{}, at));
                REQUIRE(there);
                CHECK(there.traits.rounds == p - 2 + n);
                CHECK(there.traits.volume_max == n);
                const verdict back = verify(plan_reduce(chain{}, at));
                REQUIRE(back);
                CHECK(back.traits.rounds == p - 2 + n);
                CHECK(back.traits.volume_max == n);
                CHECK(test::rounds_in_order(plan_broadcast(chain{}, at)) == p - 2 + n);
                CHECK(test::rounds_in_order(plan_reduce(chain{}, at)) == p - 2 + n);
            }
}

TEST_CASE("with k ports degree_k takes ceil(log_{k+1} p) rounds, which is optimal") {
    for (rank_t p = 1; p <= 300; ++p) {
        if (p > 100 && !bough_test::sampled(p, 5)) continue;
        for (const rank_t k : {1u, 2u, 3u, 4u, 7u})
            for (const rank_t root : {0u, p / 2}) {
                CAPTURE(p, k, root);
                const dimensions at{.size = p, .root = root};
                const std::uint32_t optimum = ceil_log(k + 1, p);
                CHECK(test::rounds_in_order(plan_broadcast(degree_k{.k = k}, at), k) == optimum);
                CHECK(test::rounds_in_order(plan_reduce(degree_k{.k = k}, at), k) == optimum);
                // degree_k is the (k + 1)-nomial tree.
                CHECK(test::rounds_in_order(plan_broadcast(fnomial{.degree = k + 1}, at), k) == optimum);
                // With fewer ports it takes more rounds, with more never more.
                CHECK(test::rounds_in_order(plan_broadcast(degree_k{.k = k}, at), k + 1) <= optimum);
                CHECK(test::rounds_in_order(plan_broadcast(degree_k{.k = k}, at), 1) <= k * optimum);
            }
    }
}
