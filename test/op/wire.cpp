// SPDX-License-Identifier: BSL-1.0
// Wire: bytes for trivially copyable types, a form of their own for others, nothing for the rest.
#include "support/catch.hpp"
#include <bough/op/explain_wire.hpp>
#include <bough/op/wire.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace {

// Not trivially copyable: it owns a text of at most 7 characters.
struct label {
    std::string text;
};

} // namespace

template <>
struct bough::wire<label> {
    static constexpr std::size_t size = 8;
    static void encode(const label& value, std::span<std::byte, size> out) {
        for (std::size_t i = 0; i != size; ++i) out[i] = std::byte(i < value.text.size() ? value.text[i] : '\0');
    }
    static label decode(std::span<const std::byte, size> in) {
        label value;
        for (const std::byte b : in) {
            if (b != std::byte{0}) value.text.push_back(static_cast<char>(b));
        }
        return value;
    }
};

namespace {

struct pair {
    std::uint32_t a;
    std::uint32_t b;
};

static_assert(bough::explain_wire<int>() && bough::explain_wire<pair>() && bough::explain_wire<label>());
static_assert(bough::travels_as_bytes_v<pair> && bough::wire_size_v<pair> == 8);
static_assert(bough::WireType<label> && !bough::travels_as_bytes_v<label>);
static_assert(!bough::WireType<std::string> && !bough::WireType<std::unique_ptr<int>>);
static_assert(!bough::WireType<int*> && !bough::WireType<int&> && !bough::WireType<const int>);
static_assert(!bough::WireType<std::nullptr_t> && !bough::WireType<int pair::*> && !bough::WireType<void>);

template <class T>
constexpr T round_trip(const T& value) {
    std::array<std::byte, bough::wire_size_v<T>> bytes{};
    bough::wire<T>::encode(value, bytes);
    return bough::wire<T>::decode(bytes);
}
static_assert(round_trip(0x0102'0304) == 0x0102'0304 && round_trip(-2.5) == -2.5);
static_assert(round_trip(pair{1, 2}).b == 2);

TEST_CASE("values come back from their wire form", "[op]") {
    CHECK(round_trip(std::int64_t{-7}) == -7);
    CHECK(round_trip(label{"oak"}).text == "oak");
    CHECK(round_trip(label{""}).text.empty());
}

} // namespace
