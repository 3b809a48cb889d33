// SPDX-License-Identifier: BSL-1.0
// Builtin_op: the whole table, each entry against the typed op; illegal pairs are empty.
#include "support/catch.hpp"
#include <bough/op/builtin_op.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

using bough::builtin_op;
using bough::element_type;
using bough::op_kind;

static_assert(builtin_op(op_kind::plus, element_type::f64) == bough::make_any_op<double>(bough::plus{}));
static_assert(!builtin_op(op_kind::band, element_type::f64) && !builtin_op(op_kind::lor, element_type::f32));
static_assert(builtin_op(op_kind::min_number, element_type::i8));
static_assert(!builtin_op(op_kind(200), element_type::i8) && !builtin_op(op_kind::plus, element_type(200)));

template <class T, class O>
void check_entry(op_kind kind, element_type type, O op) {
    const bough::any_op any = builtin_op(kind, type);
    CAPTURE(int(kind), int(type));
    if constexpr (!bough::Op<O, T>) {
        CHECK(!any);
    } else {
        REQUIRE(any);
        CHECK(any.element_size == sizeof(T));
        CHECK(any.traits == bough::op_traits_of<O, T>);
        std::array<T, 37> a{};
        std::array<T, 37> b{};
        std::array<T, 37> expected{};
        for (std::size_t i = 0; i != 37; ++i) {
            a[i] = static_cast<T>(7 * i % 19);
            b[i] = static_cast<T>(11 * i % 23);
            expected[i] = op(a[i], b[i]);
        }
        std::array<std::byte, sizeof(a)> out{};
        any(reinterpret_cast<const std::byte*>(a.data()), reinterpret_cast<const std::byte*>(b.data()), out.data(), 37);
        CHECK(std::memcmp(out.data(), expected.data(), sizeof(a)) == 0);
    }
}

template <class O>
void check_row(op_kind kind, O op) {
    check_entry<std::int8_t>(kind, element_type::i8, op);
    check_entry<std::int16_t>(kind, element_type::i16, op);
    check_entry<std::int32_t>(kind, element_type::i32, op);
    check_entry<std::int64_t>(kind, element_type::i64, op);
    check_entry<std::uint8_t>(kind, element_type::u8, op);
    check_entry<std::uint16_t>(kind, element_type::u16, op);
    check_entry<std::uint32_t>(kind, element_type::u32, op);
    check_entry<std::uint64_t>(kind, element_type::u64, op);
    check_entry<float>(kind, element_type::f32, op);
    check_entry<double>(kind, element_type::f64, op);
}

TEST_CASE("every entry of the table is the typed op", "[op]") {
    check_row(op_kind::plus, bough::plus{});
    check_row(op_kind::multiplies, bough::multiplies{});
    check_row(op_kind::min, bough::min{});
    check_row(op_kind::max, bough::max{});
    check_row(op_kind::min_number, bough::min_number{});
    check_row(op_kind::max_number, bough::max_number{});
    check_row(op_kind::land, bough::logical_and{});
    check_row(op_kind::lor, bough::logical_or{});
    check_row(op_kind::lxor, bough::logical_xor{});
    check_row(op_kind::band, bough::bit_and{});
    check_row(op_kind::bor, bough::bit_or{});
    check_row(op_kind::bxor, bough::bit_xor{});
}

} // namespace
