// SPDX-License-Identifier: BSL-1.0
// Bitwise ops: on integers of any width, bool and std::byte; never on floating numbers.
#include "support/catch.hpp"
#include <bough/concepts/explain_op.hpp>
#include <bough/op/bitwise.hpp>

#include <cstddef>
#include <cstdint>

namespace {

template <class T>
constexpr bool tables() {
    const T a = static_cast<T>(12);
    const T b = static_cast<T>(10);
    return bough::bit_and{}(a, b) == static_cast<T>(8) && bough::bit_or{}(a, b) == static_cast<T>(14) &&
           bough::bit_xor{}(a, b) == static_cast<T>(6) && bough::bit_and{}(bough::bit_and::identity<T>(), a) == a &&
           bough::bit_or{}(bough::bit_or::identity<T>(), a) == a &&
           bough::bit_xor{}(bough::bit_xor::identity<T>(), a) == a;
}
static_assert(tables<std::int8_t>() && tables<std::uint8_t>() && tables<int>() && tables<std::uint64_t>());
static_assert(tables<std::byte>());
static_assert(bough::bit_and::identity<bool>() && bough::bit_xor{}(true, true) == false);
static_assert(bough::explain_op<bough::bit_and, std::byte>() && !bough::Op<bough::bit_and, double>);
static_assert(bough::is_integer_only_v<bough::bit_or, int> && bough::is_exact_v<bough::bit_or, std::byte>);

TEST_CASE("negative operands keep their sign bit", "[op]") {
    CHECK(bough::bit_and{}(std::int8_t{-1}, std::int8_t{-128}) == -128);
    CHECK(bough::bit_or{}(std::int16_t{-32768}, std::int16_t{1}) == -32767);
}

} // namespace
