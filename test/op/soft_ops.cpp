// SPDX-License-Identifier: BSL-1.0
// Soft ops and integer_bits: the laws of an Op, on bits and on values; ids; what they refuse.
#include "support/catch.hpp"
#include <bough/concepts/explain_op.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/op/soft_ops.hpp>
#include <bough/testing/op_laws.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <set>
#include <type_traits>
#include <vector>

namespace {

using namespace bough;
using x86 = float_bits<std::uint64_t, 11, first_nan>;

static_assert(explain_op<soft_plus<f64_bits>, std::uint64_t>() && explain_op<soft_plus<f64_bits>, double>());
static_assert(explain_op<soft_min<f16_bits>, std::uint16_t>() && explain_op<soft_max<i8_bits>, std::uint8_t>());
// A number would be converted to bits, and be another number.
static_assert(!Op<soft_plus<f64_bits>, float> && !Op<soft_plus<f64_bits>, int> && !Op<soft_plus<f32_bits>, double>);
static_assert(!Op<soft_plus<i64_bits>, double> && !Op<soft_plus<i64_bits>, std::int64_t>);

static_assert(soft_plus<f64_bits>{}(0.1, 0.2) == 0.1 + 0.2 && soft_max<f32_bits>{}(-2.0f, -1.0f) == -1.0f);
static_assert(is_commutative_v<soft_plus<f64_bits>> && !is_commutative_v<soft_plus<x86>>);
static_assert(is_exact_v<soft_min<f32_bits>, float> && is_exact_v<soft_plus<u64_bits>, std::uint64_t>);
static_assert(!is_exact_v<soft_plus<f64_bits>, double> && is_integer_only_v<soft_plus<f64_bits>, double>);
static_assert(!is_integer_only_v<soft_plus<f64_bits>, int>);
static_assert(has_identity_v<soft_min_number<f64_bits>, double> && !has_identity_v<soft_min_number<x86>, double>);
static_assert(op_id<soft_plus<f64_bits>> != op_id<soft_plus<x86>> && op_id<soft_plus<f64_bits>> != op_id<plus>);

static_assert(i8_bits::minimum(0x80, 0x7f) == 0x80 && u8_bits::minimum(0x80, 0x7f) == 0x7f);
static_assert(i8_bits::maximum(0x80, 0x7f) == 0x7f && i64_bits::add(~std::uint64_t{0}, 3) == 2);

template <class T>
std::vector<T> samples() {
    std::vector<T> v;
    if constexpr (std::is_floating_point_v<T>) {
        using limits = std::numeric_limits<T>;
        const T infinity = limits::infinity(), nan = limits::quiet_NaN();
        v = {T(0), -T(0), T(1), T(-1.5), limits::max(), limits::denorm_min(), infinity, -infinity, nan, -nan};
    } else {
        for (unsigned i = 0; i != 64; ++i) v.push_back(static_cast<T>(i * 0x9e37'79b9'7f4a'7c15u));
        for (const unsigned x : {0u, 1u, 0x7bffu, 0x7c00u, 0x7c01u, 0x8000u, 0xfe00u}) v.push_back(static_cast<T>(x));
    }
    return v;
}

template <class Format, class T>
void check_laws() {
    const testing::op_fault none{};
    const auto v = samples<T>();
    CHECK(testing::check_op<T>(soft_plus<Format>{}, v) == none);
    CHECK(testing::check_op<T>(soft_min<Format>{}, v) == none);
    CHECK(testing::check_op<T>(soft_max<Format>{}, v) == none);
    CHECK(testing::check_op<T>(soft_min_number<Format>{}, v) == none);
    CHECK(testing::check_op<T>(soft_max_number<Format>{}, v) == none);
}

} // namespace

TEST_CASE("soft ops: the laws, on values and on bits, with either NaN", "[op]") {
    check_laws<f64_bits, double>();
    check_laws<f64_bits, std::uint64_t>();
    check_laws<x86, double>();
    check_laws<x86, std::uint64_t>();
    check_laws<f32_bits, float>();
    check_laws<f16_bits, std::uint16_t>();
    check_laws<bf16_bits, std::uint16_t>();
    check_laws<f8e5m2_bits, std::uint8_t>();
    check_laws<i8_bits, std::uint8_t>();
    check_laws<u32_bits, std::uint32_t>();
    check_laws<i64_bits, std::uint64_t>();
}

TEST_CASE("soft ops: integers of eight bits, every pair", "[op]") {
    for (int a = -128; a != 128; ++a) {
        for (int b = -128; b != 128; ++b) {
            const auto x = static_cast<std::int8_t>(a), y = static_cast<std::int8_t>(b);
            const auto p = static_cast<std::uint8_t>(a), q = static_cast<std::uint8_t>(b);
            REQUIRE(i8_bits::add(p, q) == static_cast<std::uint8_t>(plus{}(x, y)));
            REQUIRE(i8_bits::minimum(p, q) == static_cast<std::uint8_t>(min{}(x, y)));
            REQUIRE(i8_bits::maximum_number(p, q) == static_cast<std::uint8_t>(max{}(x, y)));
            REQUIRE(u8_bits::add(p, q) == plus{}(p, q));
            REQUIRE(u8_bits::minimum_number(p, q) == min{}(p, q));
            REQUIRE(u8_bits::maximum(p, q) == max{}(p, q));
        }
    }
}

TEST_CASE("soft ops: every op of every format has an id of its own", "[op]") {
    std::set<std::uint64_t> ids;
    const auto add = [&]<class F>(F) {
        ids.insert({op_id<soft_plus<F>>, op_id<soft_min<F>>, op_id<soft_max<F>>, op_id<soft_min_number<F>>,
                    op_id<soft_max_number<F>>});
    };
    add(f64_bits{}), add(f32_bits{}), add(f16_bits{}), add(bf16_bits{}), add(f8e5m2_bits{}), add(x86{});
    add(i8_bits{}), add(u8_bits{}), add(i16_bits{}), add(u16_bits{}), add(i32_bits{}), add(u32_bits{});
    add(i64_bits{}), add(u64_bits{});
    CHECK(ids.size() == 14 * 5);
}
