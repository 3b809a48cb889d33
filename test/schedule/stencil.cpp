// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/schedule/stencil.hpp>

#include <algorithm>
#include <vector>

using namespace bough;

static_assert(box_offsets(3).size() == 26 && box_offsets(2, 2).size() == 24 && box_offsets(3, 0).empty());
static_assert(star_offsets(3).size() == 6 && star_offsets(2, 3).size() == 12 && star_offsets(0).empty());
static_assert(box_offsets(2) ==
              std::vector<grid_offset>{{-1, -1}, {0, -1}, {1, -1}, {-1}, {1}, {-1, 1}, {0, 1}, {1, 1}});
static_assert(star_offsets(2) == std::vector<grid_offset>{{-1}, {1}, {0, -1}, {0, 1}});
static_assert(grid_offset{1, 0} == grid_offset{1} && !(grid_offset{1} == grid_offset{0, 1}));

TEST_CASE("stencil: each offset of a box once, and back as often as forth") {
    for (std::uint32_t d = 1; d <= 6; ++d) {
        const std::vector<grid_offset> all = box_offsets(d);
        for (const grid_offset& o : all) {
            grid_offset back;
            for (std::uint32_t i = 0; i != d; ++i) back.by[i] = -o.by[i];
            CHECK(std::count(all.begin(), all.end(), o) == 1);
            CHECK(std::count(all.begin(), all.end(), back) == 1);
        }
    }
}
