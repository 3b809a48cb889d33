// SPDX-License-Identifier: BSL-1.0
// Reduce by the ring with increasing strides: proofs, in rank order, at the paper's cost.
#include "blocks.hpp"
#include "support/catch.hpp"
#include "support/play.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/reduce/ring.hpp>

#include <cstdint>
#include <string>
#include <vector>

using namespace bough;

TEST_CASE("ring reduce: proofs, rounds, volume and combines by the paper's formula") {
    for (rank_t p = 1; p <= 130; ++p) {
        if (p > 9 && !bough_test::sampled(p, 20)) continue;
        for (rank_t root = 0; root != p; ++root) {
            if (root != 0 && root != p - 1 && (p > 40 ? root != p / 2 : !bough_test::sampled(root, 1 + p / 4)))
                continue;
            CAPTURE(p, root);
            const plan_traits traits = test::prove(plan_reduce(ring_reduce{}, {.size = p, .root = root}));
            CHECK(traits.rounds == 2 * (p - 1));
            CHECK(traits.volume == std::uint64_t{p} * (p - 1) + (p - 1));
            CHECK(traits.volume_max == (p == 1 ? 0 : p - 1 + 1));
            CHECK(traits.combines_max == p - 1);
            CHECK(traits.combines == std::uint64_t{p} * (p - 1));
            CHECK_FALSE(traits.needs_commutative);
        }
        for (const block_t blocks : {0u, 1u, p / 2, p + 1, 3 * p})
            CHECK(verify(plan_reduce(ring_reduce{}, {.size = p, .root = p / 2, .blocks = blocks})));
    }
}

TEST_CASE("ring reduce: concatenation comes out in rank order") {
    for (rank_t p = 1; p <= 13; ++p)
        for (rank_t root = 0; root != p; ++root) {
            std::vector<std::vector<std::string>> inputs(p);
            std::string all;
            for (rank_t r = 0; r != p; ++r) {
                inputs[r].assign(p, std::string(1, static_cast<char>('a' + r)));
                all += inputs[r][0];
            }
            const auto outputs = test::play(test::steps_of(plan_reduce(ring_reduce{}, {.size = p, .root = root})),
                                            inputs, [](const std::string& a, const std::string& b) { return a + b; });
            CHECK(outputs[root] == std::vector<std::string>(p, all));
        }
}
