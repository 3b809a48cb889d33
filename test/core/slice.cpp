// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/core/slice.hpp>

using namespace bough;

static_assert(!is_scratch(input) && !is_scratch(output) && is_scratch(scratch(0)));
static_assert(scratch_plane(scratch(5)) == 5 && scratch(0) != scratch(1) && input != output);
static_assert(storage_of(input) == storage_of(output) && storage_of(scratch(0)) == 1 && storage_of(scratch(7)) == 8);
static_assert(slice{input, 3, 2}.last() == 5 && slice{input, 3, 2}.in(scratch(1)) == slice{scratch(1), 3, 2});

static_assert(overlap({input, 0, 2}, {input, 1, 2}) && !overlap({input, 0, 2}, {input, 2, 2}));
static_assert(overlap({input, 0, 1}, {output, 0, 1}));
static_assert(!overlap({input, 0, 1}, {scratch(0), 0, 1}) && !overlap({scratch(1), 0, 1}, {scratch(0), 0, 1}));
// Nothing overlaps with nothing, wherever it lies.
static_assert(!overlap({input, 2, 0}, {input, 0, 5}) && !overlap({input, 0, 5}, {input, 2, 0}));
static_assert(!overlap({input, 2, 0}, {input, 2, 0}));

TEST_CASE("overlap: two slices share a block") {
    for (block_t a = 0; a != 5; ++a)
        for (block_t a_count = 0; a_count != 5; ++a_count)
            for (block_t b = 0; b != 5; ++b)
                for (block_t b_count = 0; b_count != 5; ++b_count) {
                    bool shared = false;
                    for (block_t k = 0; k != 10; ++k) shared |= k >= a && k < a + a_count && k >= b && k < b + b_count;
                    REQUIRE(overlap({scratch(2), a, a_count}, {scratch(2), b, b_count}) == shared);
                }
}
