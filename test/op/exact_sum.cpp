// SPDX-License-Identifier: BSL-1.0
// Exact_sum: correctly rounded, in any order, against integers of any length.
#include "op/big_integer.hpp"
#include "op/sums.hpp"
#include "support/catch.hpp"
#include <bough/concepts/explain_op.hpp>
#include <bough/op/canonical.hpp>
#include <bough/op/exact_sum.hpp>
#include <bough/op/lift.hpp>
#include <bough/testing/op_laws.hpp>

#include <array>
#include <limits>
#include <span>
#include <vector>

namespace {

using bough::exact_accumulator;
using bough::exact_sum;
using limits = std::numeric_limits<double>;
using state = exact_accumulator<double>;

template <class T, std::size_t N>
constexpr T sum_of(const std::array<T, N>& x) {
    return exact_sum{}.lower(exact_sum{}.lift(std::span<const T>(x)));
}
template <class T>
constexpr bool is_minus_zero(T x) {
    return x == 0 && bough::detail::is_negative(x);
}

static_assert(sizeof(state) == 280 && sizeof(exact_accumulator<float>) == 56);
static_assert(bough::explain_op<exact_sum, state>() && bough::travels_as_bytes_v<state>);
static_assert(bough::LiftedOp<exact_sum, double> && bough::LiftedOp<exact_sum, float>);
static_assert(!bough::LiftedOp<exact_sum, int> && !bough::LiftedOp<exact_sum, state> && !bough::Op<exact_sum, double>);
static_assert(bough::is_exact_v<exact_sum, state> && bough::is_commutative_v<exact_sum>);
static_assert(bough::is_integer_only_v<exact_sum, state> && !bough::is_exact_v<exact_sum, double>);

// The proof is in the compiler: these need no floating-point unit.
static_assert(sum_of(std::array{1e100, 1.0, -1e100}) == 1.0, "doubles one by one: 0");
static_assert(sum_of(std::array{0x1p53, 1.0}) == 0x1p53 && sum_of(std::array{0x1p53, 1.0, 1.0}) == 0x1p53 + 2);
static_assert(sum_of(std::array{0x1p53, 1.0, 0x1p-1000}) == 0x1p53 + 2, "a tie, were it not for the last");
static_assert(sum_of(std::array{limits::denorm_min(), limits::denorm_min()}) == 2 * limits::denorm_min());
static_assert(sum_of(std::array{limits::min(), -limits::denorm_min()}) == limits::min() - limits::denorm_min());
static_assert(sum_of(std::array{limits::max(), limits::max(), -limits::max()}) == limits::max());
static_assert(sum_of(std::array{limits::max(), limits::max()}) == limits::infinity());
static_assert(sum_of(std::array{limits::max(), 0x1p969}) == limits::max());
static_assert(sum_of(std::array{limits::max(), 0x1p970}) == limits::infinity(), "half an ulp beyond: to even");
static_assert(sum_of(std::array{limits::infinity(), -1e308}) == limits::infinity());
static_assert(sum_of(std::array{1.0, -limits::infinity()}) == -limits::infinity());
static_assert(is_minus_zero(sum_of(std::array{-0.0, -0.0})) && !is_minus_zero(sum_of(std::array{-0.0, 0.0})));
static_assert(!is_minus_zero(sum_of(std::array{1.0, -1.0})) && is_minus_zero(exact_sum{}.lower(state{})));
static_assert(sum_of(std::array{0x1p24f, 1.0f, 0x1p-149f}) == 0x1p24f + 2);

TEST_CASE("exact_sum: infinities of both signs, and any NaN, are the canonical NaN", "[op]") {
    const std::uint64_t nan = 0x7ff8'0000'0000'0000u;
    const double odd = std::bit_cast<double>(std::uint64_t{0xfff8'0000'0000'0042u});
    CHECK(test::bits_of(sum_of(std::array{limits::infinity(), -limits::infinity()})) == nan);
    CHECK(test::bits_of(sum_of(std::array{1.0, odd, limits::infinity()})) == nan);
}

TEST_CASE("exact_sum: the laws of an op", "[op]") {
    const std::vector<double> x{0.0,
                                -0.0,
                                1.0,
                                -1.0,
                                1e300,
                                -2.5,
                                limits::max(),
                                1e-310,
                                limits::infinity(),
                                -limits::infinity(),
                                limits::quiet_NaN()};
    std::vector<state> states;
    for (const double v : x) states.push_back(exact_sum{}.lift(v));
    CHECK(bough::testing::check_op<state>(exact_sum{}, states) == bough::testing::op_fault{});
}

TEMPLATE_TEST_CASE("exact_sum: correctly rounded", "[op]", float, double) {
    test::numbers random(bough_test::seed());
    const int rounds = bough_test::all() ? 20000 : 1000;
    for (int i = 0; i != rounds; ++i) {
        const unsigned kind = static_cast<unsigned>(i) % 8;
        const auto x = random.template vector<TestType>(kind, 1 + random.next() % 40);
        test::big_integer sum;
        for (const TestType v : x) sum = sum + test::big_integer::of(static_cast<double>(v));
        const TestType result = exact_sum{}.lower(exact_sum{}.lift(std::span<const TestType>(x)));
        INFO("kind " << kind << ", case " << i << ", result " << result);
        REQUIRE(test::correctly_rounded(sum, result));
    }
}

TEST_CASE("exact_sum: carries are not late", "[op]") {
    // The fullest high chunks there are, all of one sign: the last digit lies at bit 31 of a chunk.
    for (const double sign : {1.0, -1.0}) {
        const std::vector<double> x(6001, sign * (0x1p53 - 1) * 0x1p-51);
        REQUIRE(bough::detail::unpack(x[0]).position % 32 == 31);
        test::big_integer sum;
        for (const double v : x) sum = sum + test::big_integer::of(v);
        CHECK(test::correctly_rounded(sum, exact_sum{}.lower(exact_sum{}.lift(std::span<const double>(x)))));
    }
}

TEMPLATE_TEST_CASE("exact_sum: any order and any bracket give the same state", "[op]", float, double) {
    test::numbers random(bough_test::seed() + 1);
    for (int i = 0; i != (bough_test::all() ? 4000 : 200); ++i) {
        auto x =
            random.template vector<TestType>(static_cast<unsigned>(i), 3000 * (i % 16 == 0) + 1 + random.next() % 60);
        const auto whole = exact_sum{}.lift(std::span<const TestType>(x)); // deferred carries, also more than once
        random.shuffle(x);
        std::vector<exact_accumulator<TestType>> parts;
        for (const TestType v : x) parts.push_back(exact_sum{}.lift(v)); // no deferred carries
        while (parts.size() > 1) {
            const std::size_t a = random.next() % parts.size();
            const auto taken = parts[a];
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(a));
            auto& other = parts[random.next() % parts.size()];
            other = random.next() % 2 == 0 ? exact_sum{}(taken, other) : exact_sum{}(other, taken);
        }
        REQUIRE(parts[0] == whole);
    }
}

} // namespace

TEST_CASE("exact_sum: lifts spans of const and not const, of any extent") {
    std::vector<double> many{1.5, -0.25, 3e100, -3e100, 4};
    const auto expected = exact_sum{}.lift(std::span<const double>(many));
    CHECK(exact_sum{}.lift(std::span(many)) == expected);
    CHECK(exact_sum{}.lift(std::span<double, 5>(many.data(), 5)) == expected);
    CHECK(exact_sum{}.lower(exact_sum{}.lift(std::span(many))) == 5.25);
}
