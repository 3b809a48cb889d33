// SPDX-License-Identifier: BSL-1.0
// Binned_sum: the same state in any order, within the error that its comment states, against integers of any length.
#include "op/big_integer.hpp"
#include "op/sums.hpp"
#include "support/catch.hpp"
#include <bough/concepts/explain_op.hpp>
#include <bough/op/binned_sum.hpp>
#include <bough/op/lift.hpp>
#include <bough/testing/op_laws.hpp>

#include <array>
#include <limits>
#include <span>
#include <vector>

namespace {

using bough::binned_accumulator;
using bough::binned_sum;
using limits = std::numeric_limits<double>;

template <std::size_t K, class T, std::size_t N>
constexpr T sum_of(const std::array<T, N>& x) {
    return binned_sum<K>{}.lower(binned_sum<K>{}.lift(std::span<const T>(x)));
}

static_assert(sizeof(binned_accumulator<double, 2>) == 32 && sizeof(binned_accumulator<double, 3>) == 48);
static_assert(bough::explain_op<binned_sum<2>, binned_accumulator<double, 2>>());
static_assert(bough::LiftedOp<binned_sum<2>, double> && bough::LiftedOp<binned_sum<5>, float>);
static_assert(!bough::LiftedOp<binned_sum<2>, int> && !bough::Op<binned_sum<2>, double>);
static_assert(!bough::Op<binned_sum<2>, binned_accumulator<double, 3>>);
static_assert(bough::is_exact_v<binned_sum<2>, binned_accumulator<double, 2>> &&
              !bough::is_exact_v<binned_sum<2>, binned_accumulator<double, 3>>);
static_assert(bough::op_id<binned_sum<2>> != bough::op_id<binned_sum<3>>);

static_assert(sum_of<2>(std::array{0x1p53, 1.0, 1.0, -0x1p53}) == 2.0);
static_assert(sum_of<2>(std::array{0x1p70, 1.0, -0x1p70}) == 1.0, "in doubles one by one: 0");
static_assert(sum_of<2>(std::array{1e100, 1.0, -1e100}) == 0.0 && sum_of<7>(std::array{1e100, 1.0, -1e100}) == 1.0);
static_assert(sum_of<2>(std::array{limits::max(), limits::max(), -limits::max()}) == limits::max());
static_assert(sum_of<2>(std::array{limits::denorm_min(), -1.5, 1.5}) == 0.0);
static_assert(sum_of<2>(std::array{limits::denorm_min(), limits::denorm_min()}) == 2 * limits::denorm_min());
static_assert(sum_of<2>(std::array{-limits::infinity(), 1.0}) == -limits::infinity());
static_assert(sum_of<2>(std::array{-1.0f, 0.25f}) == -0.75f);

TEST_CASE("binned_sum: NaN and zeros", "[op]") {
    CHECK(test::bits_of(sum_of<2>(std::array{limits::infinity(), -limits::infinity()})) == 0x7ff8'0000'0000'0000u);
    CHECK(test::bits_of(sum_of<2>(std::array{-limits::quiet_NaN(), 1.0})) == 0x7ff8'0000'0000'0000u);
    CHECK(test::bits_of(sum_of<2>(std::array{-0.0, -0.0})) == 0x8000'0000'0000'0000u);
    CHECK(test::bits_of(sum_of<2>(std::array{-0.0, 0.0})) == 0);
    CHECK(test::bits_of(sum_of<2>(std::array{1.0, -1.0})) == 0);
}

TEST_CASE("binned_sum: the laws of an op", "[op]") {
    const std::vector<double> x{0.0,
                                -0.0,
                                1.0,
                                -1.0,
                                1e300,
                                1e-20,
                                limits::max(),
                                1e-310,
                                limits::infinity(),
                                -limits::infinity(),
                                limits::quiet_NaN()};
    std::vector<binned_accumulator<double, 2>> states;
    for (const double v : x) states.push_back(binned_sum<2>{}.lift(v));
    CHECK(bough::testing::check_op<binned_accumulator<double, 2>>(binned_sum<2>{}, states) ==
          bough::testing::op_fault{});
}

// n max|x| 2^(-64 (K-1)) as a multiple of 2^-1074, rounded up.
template <class T>
test::big_integer dropped(const std::vector<T>& x, std::size_t k) {
    double most = 0;
    for (const T v : x) most = std::max(most, std::fabs(static_cast<double>(v)));
    test::big_integer bound;
    for (std::size_t i = 0; i != x.size(); ++i) bound = bound + test::big_integer::of(most);
    const std::size_t words = 2 * (k - 1);
    bound.digits.erase(bound.digits.begin(),
                       bound.digits.begin() + static_cast<std::ptrdiff_t>(std::min(words, bound.digits.size())));
    return bound + test::big_integer::power(1, 0, false);
}

template <std::size_t K, class T>
void check_error(std::uint64_t seed) {
    test::numbers random(seed);
    for (int i = 0; i != (bough_test::all() ? 20000 : 600); ++i) {
        const auto x = random.template vector<T>(static_cast<unsigned>(i), 1 + random.next() % 40);
        test::big_integer sum;
        for (const T v : x) sum = sum + test::big_integer::of(static_cast<double>(v));
        const T result = binned_sum<K>{}.lower(binned_sum<K>{}.lift(std::span<const T>(x)));
        INFO("K " << K << ", case " << i << ", result " << result);
        if (test::correctly_rounded(sum, result)) continue;
        // Else it is the nearest number to something within the bound of the sum: not beyond the nearest of its ends.
        const test::big_integer bound = dropped(x, K);
        REQUIRE(std::isfinite(result));
        const test::big_integer value = test::big_integer::of(static_cast<double>(result));
        const bool above = test::big_integer::compare(value, sum) > 0;
        const test::big_integer end = above ? sum + bound : sum - bound;
        const T inward =
            std::nextafter(result, above ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity());
        const test::big_integer beside = test::big_integer::of(static_cast<double>(inward));
        // The end is at least half way from the number beside to the result.
        const test::big_integer twice = end + end, middle = value + beside;
        REQUIRE(
            (above ? test::big_integer::compare(twice, middle) >= 0 : test::big_integer::compare(twice, middle) <= 0));
    }
}

TEST_CASE("binned_sum: the error is within its bound", "[op]") {
    check_error<2, double>(bough_test::seed());
    check_error<3, double>(bough_test::seed());
    check_error<2, float>(bough_test::seed());
}

TEST_CASE("binned_sum: as many bins as the format has are the exact sum", "[op]") {
    test::numbers random(bough_test::seed());
    for (unsigned i = 0; i != 600; ++i) {
        const auto x = random.vector<float>(i, 1 + random.next() % 40);
        test::big_integer sum;
        for (const float v : x) sum = sum + test::big_integer::of(static_cast<double>(v));
        REQUIRE(test::correctly_rounded(sum, binned_sum<5>{}.lower(binned_sum<5>{}.lift(std::span<const float>(x)))));
    }
}

TEMPLATE_TEST_CASE("binned_sum: any order and any bracket give the same state", "[op]", float, double) {
    test::numbers random(bough_test::seed() + 1);
    for (int i = 0; i != (bough_test::all() ? 8000 : 400); ++i) {
        auto x = random.template vector<TestType>(static_cast<unsigned>(i), 1 + random.next() % 60);
        const auto whole = binned_sum<2>{}.lift(std::span<const TestType>(x));
        random.shuffle(x);
        std::vector<binned_accumulator<TestType, 2>> parts;
        for (const TestType v : x) parts.push_back(binned_sum<2>{}.lift(v));
        while (parts.size() > 1) {
            const std::size_t a = random.next() % parts.size();
            const auto taken = parts[a];
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(a));
            auto& other = parts[random.next() % parts.size()];
            other = random.next() % 2 == 0 ? binned_sum<2>{}(taken, other) : binned_sum<2>{}(other, taken);
        }
        REQUIRE(parts[0] == whole);
    }
}

} // namespace

TEST_CASE("binned_sum: lifts spans of const and not const, of any extent") {
    std::vector<double> many{1.5, -0.25, 3e10, -3e10, 4};
    const auto expected = binned_sum<2>{}.lift(std::span<const double>(many));
    CHECK(binned_sum<2>{}.lift(std::span(many)) == expected);
    CHECK(binned_sum<2>{}.lift(std::span<double, 5>(many.data(), 5)) == expected);
    CHECK(binned_sum<2>{}.lower(binned_sum<2>{}.lift(std::span(many))) == 5.25);
}
