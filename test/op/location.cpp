// SPDX-License-Identifier: BSL-1.0
// Min_location and max_location: ties, NaN, signed zeros, and the wire form without padding.
#include "support/catch.hpp"
#include <bough/concepts/explain_op.hpp>
#include <bough/op/location.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace {

using at = bough::value_location<double>;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

static_assert(bough::explain_op<bough::min_location, at>());
static_assert(bough::min_location{}(at{1, 7}, at{2, 3}) == at{1, 7});
static_assert(bough::max_location{}(at{1, 7}, at{2, 3}) == at{2, 3});
static_assert(bough::min_location{}(at{1, 7}, at{1, 3}) == at{1, 3}, "a tie goes to the lowest location");
static_assert(bough::max_location{}(at{1, 3}, at{1, 7}) == at{1, 3});
static_assert(bough::min_location{}(at{0.0, 1}, at{-0.0, 9}).location == 9, "-0 is less than +0");
static_assert(bough::max_location{}(at{0.0, 9}, at{-0.0, 1}).location == 9);
static_assert(bough::min_location{}(at{nan, 9}, at{-1, 1}).location == 9, "NaN wins");
static_assert(bough::max_location{}(at{5, 1}, at{nan, 9}).location == 9);
static_assert(bough::max_location{}(at{nan, 9}, at{nan, 4}).location == 4);

using small = bough::value_location<std::int8_t, std::uint32_t>;
static_assert(bough::min_location{}(bough::min_location::identity<small>(), small{127, 4}) == small{127, 4});
static_assert(bough::max_location{}(bough::max_location::identity<small>(), small{-128, 4}) == small{-128, 4});

static_assert(bough::travels_as_bytes_v<at> && bough::wire_size_v<at> == 16);
static_assert(!bough::travels_as_bytes_v<small> && bough::wire_size_v<small> == 5 && sizeof(small) == 8);
static_assert(bough::wire_size_v<bough::value_location<float>> == 12);
static_assert(bough::is_integer_only_v<bough::min_location, small> &&
              !bough::is_integer_only_v<bough::min_location, at>);
static_assert(std::is_same_v<decltype(bough::value_location{1.5f, 3}), bough::value_location<float, int>>);

TEST_CASE("the value of a NaN pair is canonical", "[op]") {
    const double odd = std::bit_cast<double>(std::uint64_t{0xfff8'0000'0000'0042u});
    const at r = bough::min_location{}(at{odd, 3}, at{1.0, 0});
    CHECK(std::bit_cast<std::uint64_t>(r.value) == 0x7ff8'0000'0000'0000u);
    CHECK(r.location == 3);
}

TEST_CASE("a padded pair travels packed and comes back", "[op]") {
    std::array<std::byte, 5> bytes{};
    bough::wire<small>::encode(small{-3, 0x01020304u}, bytes);
    CHECK(std::to_integer<int>(bytes[0]) == 0xfd);
    CHECK(bough::wire<small>::decode(bytes) == small{-3, 0x01020304u});
}

} // namespace
