// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/schedule/grid_extents.hpp>

using bough::grid_extents;

static_assert(grid_extents{4, 3}.coordinate(7, 0) == 3 && grid_extents{4, 3}.coordinate(7, 1) == 1);
static_assert(grid_extents{4, 3}.moved(7, 0, 0) == 4 && grid_extents{4, 3}.moved(7, 1, 2) == 11);
static_assert(grid_extents{4, 3, 5}.weight(0) == 1 && grid_extents{4, 3, 5}.weight(2) == 12);
static_assert(grid_extents{4, 3}.serve(12) && !grid_extents{4, 3}.serve(13) && grid_extents{}.serve(13));
static_assert(!grid_extents{65536, 65536, 65536}.serve(0) && !grid_extents{65536, 65536}.serve(1));
static_assert(!grid_extents{0, 4}.serve(4) && !grid_extents{0}.serve(0) && !grid_extents{4, 0}.serve(4));
static_assert(grid_extents{4, 0}.has_none() && !grid_extents{4, 1}.has_none() && !grid_extents{}.has_none());
static_assert(grid_extents{}.of(7) == grid_extents{7} && grid_extents{4, 3}.of(12) == grid_extents{4, 3});

TEST_CASE("grid_extents: the text") {
    CHECK(grid_extents{8, 6}.text() == bough::label("{8, 6}"));
    CHECK(grid_extents{}.text() == bough::label("{}"));
}
