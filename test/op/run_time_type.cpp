// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/op/run_time_type.hpp>

#include <cstddef>
#include <cstdint>

using namespace bough;

static_assert(detail::extent_of({.size = 8}) == 8 && detail::extent_of({.size = 8, .extent = -24}) == -24);
static_assert(detail::unit_of({.size = 40}) == 40 && detail::unit_of({.size = 40, .unit = 4}) == 4);
static_assert(detail::alignment_of({.size = 12}, 12) == 4 && detail::alignment_of({.size = 12}, 16) == 16);
static_assert(detail::alignment_of({.size = 64}, 64) == 16 && detail::alignment_of({.size = 3}, 3) == 1);
static_assert(detail::alignment_of({.size = 64, .alignment = 32}, 64) == 32);

// The size is part of what ranks compare; the extent is not.
static_assert(identity_of(run_time_type{.size = 8, .identity = 5}) ==
              identity_of(run_time_type{.size = 8, .extent = 16, .identity = 5}));
static_assert(identity_of(run_time_type{.size = 8, .identity = 5}) !=
              identity_of(run_time_type{.size = 4, .identity = 5}));
static_assert(identity_of(run_time_type{.size = 8, .identity = 5}) !=
              identity_of(run_time_type{.size = 8, .identity = 6}));
static_assert(identity_of(run_time_type{.size = 40, .identity = 5, .unit = 4}) ==
              identity_of(run_time_type{.size = 4, .identity = 5}));

namespace {
struct point {
    double x, y;
};
} // namespace

TEST_CASE("run-time type: that of a C++ type has its identity") {
    CHECK(identity_of(run_time_type_of<double>()) == type_identity<double>());
    CHECK(identity_of(run_time_type_of<std::int16_t>()) == type_identity<std::int16_t>());
    CHECK(identity_of(run_time_type_of<point>()) == type_identity<point>());
    CHECK(run_time_type_of<point>().size == sizeof(point));
    CHECK(run_time_type_of<point>().alignment == alignof(point));
}

TEST_CASE("run-time type: the bounds of its pieces") {
    const run_time_piece pieces[] = {{8, 4}, {-16, 8}, {0, 2}};
    const detail::element_bounds bounds = detail::bounds_of({.size = 14, .pieces = pieces});
    CHECK(bounds.begin == -16);
    CHECK(bounds.end == 12);
    CHECK(bounds.bytes() == 28);
    CHECK(detail::bounds_of({.size = 14}).bytes() == 14);
}
