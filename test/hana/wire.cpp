// SPDX-License-Identifier: BSL-1.0
// A struct travels member by member, without padding.
#include "support/catch.hpp"
#include <bough/hana/wire.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace hana_wire {

struct inner {
    std::uint8_t kind;
    std::uint32_t number;
    friend constexpr bool operator==(const inner&, const inner&) = default;
};
struct outer {
    std::uint8_t first;
    double second;
    inner third;
    std::array<std::uint16_t, 3> fourth;
    friend constexpr bool operator==(const outer&, const outer&) = default;
};

} // namespace hana_wire

BOOST_HANA_ADAPT_STRUCT(hana_wire::inner, kind, number);

template <>
struct bough::wire<hana_wire::inner> : bough::packed_wire<hana_wire::inner> {};
template <>
struct bough::wire<hana_wire::outer>
    : bough::packed_wire<hana_wire::outer, &hana_wire::outer::first, &hana_wire::outer::second,
                         &hana_wire::outer::third, &hana_wire::outer::fourth> {};

using hana_wire::inner;
using hana_wire::outer;

static_assert(sizeof(inner) == 8 && bough::wire_size_v<inner> == 5);
static_assert(sizeof(outer) > 20 && bough::wire_size_v<outer> == 1 + 8 + 5 + 6);
static_assert(bough::explain_wire<outer>() && !bough::travels_as_bytes_v<outer>);

TEST_CASE("packed_wire: what is decoded is what was encoded, byte by byte where it belongs", "[hana]") {
    const outer x{1, -2.5, {3, 0x04040404}, {5, 6, 7}};
    std::array<std::byte, 20> bytes{};
    bough::wire<outer>::encode(x, bytes);
    CHECK(bough::wire<outer>::decode(bytes) == x);
    CHECK(bytes[0] == std::byte{1});
    CHECK(bytes[9] == std::byte{3});
    CHECK(bytes[10] == std::byte{4});
    CHECK(bytes[13] == std::byte{4});
    std::uint16_t last = 0;
    __builtin_memcpy(&last, &bytes[18], 2);
    CHECK(last == 7);
    // Padding is not looked at: structs on different memory have the same bytes.
    std::array<std::byte, 20> again{};
    alignas(outer) std::byte memory[sizeof(outer)];
    for (std::byte& b : memory) b = std::byte{0xff};
    auto* y = new (memory) outer;
    y->first = 1, y->second = -2.5, y->third.kind = 3, y->third.number = 0x04040404, y->fourth = {5, 6, 7};
    bough::wire<outer>::encode(*y, again);
    CHECK(again == bytes);
}

static_assert([] {
    const outer x{1, 2, {3, 4}, {5, 6, 7}};
    std::array<std::byte, 20> bytes{};
    bough::wire<outer>::encode(x, bytes);
    return bough::wire<outer>::decode(bytes) == x;
}());
