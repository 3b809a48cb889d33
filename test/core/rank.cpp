// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/core/rank.hpp>

using namespace bough;

namespace {

// The definition: rank - root and rank + root, modulo size.
constexpr bool relabels(rank_t size, rank_t root) {
    const auto modulo = [&](std::uint64_t n) { return static_cast<rank_t>(n % size); };
    for (rank_t r = 0; r != size; ++r) {
        const rank_t v = to_virtual(r, root, size);
        if (v != modulo(std::uint64_t{r} + size - root) || from_virtual(v, root, size) != r) return false;
        if (from_virtual(r, root, size) != modulo(std::uint64_t{r} + root)) return false;
    }
    return to_virtual(root, root, size) == 0 && from_virtual(0, root, size) == root;
}
static_assert(relabels(1, 0) && relabels(2, 1) && relabels(7, 0) && relabels(7, 3) && relabels(7, 6));

// The largest group: nothing wraps around 32 bits.
constexpr rank_t most = no_rank - 1;
static_assert(to_virtual(most - 1, 0, most) == most - 1 && to_virtual(0, most - 1, most) == 1);
static_assert(from_virtual(most - 1, most - 1, most) == most - 2 && from_virtual(1, most - 1, most) == 0);

static_assert(root{} == root{0} && root{3} != root{4});

} // namespace

TEST_CASE("virtual ranks: a round trip for every root") {
    for (rank_t size = 1; size != 40; ++size)
        for (rank_t root = 0; root != size; ++root) REQUIRE(relabels(size, root));
}
