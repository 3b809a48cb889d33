// SPDX-License-Identifier: BSL-1.0
// Places for the blocks that steps touch: each has one of its own, and there are no more than needed.
#include "support/catch.hpp"
#include <bough/schedule/block_places.hpp>

#include <cstddef>
#include <vector>

using namespace bough;

namespace {

struct touched {
    std::size_t buffer;
    block_t first, last;
};
// The places of all blocks, as they are named, from `begin` on; then the end.
constexpr std::vector<std::size_t> places_of(const std::vector<touched>& all, std::size_t begin = 0) {
    detail::block_places<> places;
    for (const touched& t : all) places.add(t.buffer, t.first, t.last);
    const std::size_t end = places.settle(begin);
    std::vector<std::size_t> found;
    for (const touched& t : all)
        for (block_t b = t.first; b != t.last; ++b) found.push_back(places.at(t.buffer, b));
    found.push_back(end);
    return found;
}
using numbers = std::vector<std::size_t>;

static_assert(places_of({}) == numbers{0} && places_of({}, 7) == numbers{7});
// From the first block to the last, in whatever order they come; a gap has places, too.
static_assert(places_of({{0, 5, 6}, {0, 2, 3}}) == numbers{3, 0, 4});
// Buffers lie one behind the other; those between that nobody touches have no place.
static_assert(places_of({{3, 100, 102}, {1, 9, 10}}) == numbers{1, 2, 0, 3});
static_assert(places_of({{3, 100, 102}, {1, 9, 10}}, 50) == numbers{51, 52, 50, 53});
// Nothing is no block.
static_assert(places_of({{0, 4, 5}, {0, 0, 0}, {2, 8, 8}}) == numbers{0, 1});

// A plane for each peer, with one block in it.
TEST_CASE("places are for the blocks that are touched", "[schedule]") {
    constexpr std::size_t planes = 4000;
    constexpr block_t block = 3'000'000'000;
    detail::block_places<> places;
    for (std::size_t p = 0; p != planes; ++p) places.add(p, block, block + 1);
    REQUIRE(places.settle() == planes);
    REQUIRE(places.settle(5) == planes + 5); // again, elsewhere
    for (std::size_t p = 0; p != planes; ++p) REQUIRE(places.at(p, block) == p + 5);
    places.clear();
    REQUIRE(places.settle() == 0);
}

} // namespace
