// SPDX-License-Identifier: BSL-1.0
// Limb_sum and limb_state: correctly rounded, in any order, against integers of any length; capacity; all formats.
#include "op/big_integer.hpp"
#include "op/soft_oracle.hpp"
#include "op/sums.hpp"
#include "support/catch.hpp"
#include <bough/concepts/explain_op.hpp>
#include <bough/op/combine.hpp>
#include <bough/op/exact_sum.hpp>
#include <bough/op/lift.hpp>
#include <bough/op/limb_sum.hpp>
#include <bough/testing/op_laws.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <vector>

namespace {

using bough::exact_sum;
using bough::limb_state;
using bough::limb_sum;
using state = limb_state<bough::f64_bits>;
using limits = std::numeric_limits<double>;

static_assert(sizeof(state) == 68 * 8 && sizeof(limb_state<bough::f32_bits>) == 11 * 8);
static_assert(sizeof(limb_state<bough::bf16_bits>) == 11 * 8 && sizeof(limb_state<bough::f16_bits>) == 4 * 8);
static_assert(bough::explain_op<limb_sum, state>() && bough::LiftedOp<limb_sum, double>);
static_assert(!bough::LiftedOp<limb_sum, int> && !bough::Op<limb_sum, double>);
static_assert(bough::is_exact_v<limb_sum, state> && bough::is_commutative_v<limb_sum>);
static_assert(bough::is_integer_only_v<limb_sum, state>);
static_assert(bough::type_id<state> != bough::type_id<limb_state<bough::f32_bits>>);

constexpr double sum_of(std::initializer_list<double> x) {
    state s;
    for (const double v : x) s.add(std::bit_cast<std::uint64_t>(v));
    return limb_sum{}.lower(s);
}
static_assert(sum_of({1e16, 1.0, -1e16}) == 1.0 && sum_of({1e300, 1.0, -1e300}) == 1.0, "doubles one by one: 0");
static_assert(sum_of({0x1p53, 1.0, 0x1p-1000}) == 0x1p53 + 2, "a tie, were it not for the last");
static_assert(sum_of({limits::max(), limits::max(), -limits::max()}) == limits::max());
static_assert(sum_of({limits::min(), -limits::denorm_min()}) == limits::min() - limits::denorm_min());
static_assert(std::bit_cast<std::uint64_t>(sum_of({-0.0, -0.0})) >> 63 == 1 && sum_of({}) == 0);
static_assert(std::bit_cast<std::uint64_t>(sum_of({-0.0, 0.0})) == 0);

// Words are added, and nothing more: what a NIC does to 64-bit integers.
template <class F>
limb_state<F> by_words(const limb_state<F>& a, const limb_state<F>& b) {
    limb_state<F> r;
    for (unsigned i = 0; i != r.size; ++i) r.word[i] = a.word[i] + b.word[i];
    return r;
}

template <class F>
constexpr std::uint64_t amount_bits(unsigned i, const limb_state<F>& s) {
    const auto v = static_cast<std::int64_t>(s.word[i]);
    return static_cast<std::uint64_t>(v < 0 ? -v : v);
}

} // namespace

TEST_CASE("limb_sum: the laws of an op", "[op]") {
    std::vector<state> states;
    for (const double v : {0.0, -0.0, 1.0, -1.0, 1e300, -2.5, limits::max(), 1e-310, limits::infinity(),
                           -limits::infinity(), limits::quiet_NaN()}) {
        states.push_back(limb_sum{}.lift(v));
    }
    CHECK(bough::testing::check_op<state>(limb_sum{}, states) == bough::testing::op_fault{});
}

TEMPLATE_TEST_CASE("limb_sum: correctly rounded, and the same as exact_sum", "[op]", float, double) {
    test::numbers random(bough_test::seed());
    const int rounds = bough_test::all() ? 20000 : 1000;
    for (int i = 0; i != rounds; ++i) {
        const auto x = random.template vector<TestType>(static_cast<unsigned>(i) % 8, 1 + random.next() % 40);
        test::big_integer sum;
        for (const TestType v : x) sum = sum + test::big_integer::of(static_cast<double>(v));
        auto one_by_one = limb_sum{}.lift(x[0]);
        for (std::size_t k = 1; k != x.size(); ++k) one_by_one = by_words(one_by_one, limb_sum{}.lift(x[k]));
        const TestType result = limb_sum{}.lower(one_by_one);
        INFO("kind " << i % 8 << ", case " << i << ", result " << result);
        REQUIRE(test::correctly_rounded(sum, result));
        const std::span<const TestType> all(x);
        REQUIRE(test::bits_of(limb_sum{}.lower(limb_sum{}.lift(all))) == test::bits_of(result));
        REQUIRE(test::bits_of(exact_sum{}.lower(exact_sum{}.lift(all))) == test::bits_of(result));
    }
}

TEMPLATE_TEST_CASE("limb_sum: any order and any bracket give the same words", "[op]", float, double) {
    test::numbers random(bough_test::seed() + 1);
    for (int i = 0; i != (bough_test::all() ? 4000 : 200); ++i) {
        auto x = random.template vector<TestType>(static_cast<unsigned>(i), 1 + random.next() % 60);
        if (i % 10 == 0) x.push_back(-std::numeric_limits<TestType>::infinity());
        if (i % 20 == 0) x.push_back(std::numeric_limits<TestType>::quiet_NaN());
        typename limb_sum::state_type<TestType> in_order;
        for (const TestType v : x) in_order += limb_sum{}.lift(v);
        random.shuffle(x);
        std::vector<typename limb_sum::state_type<TestType>> parts;
        for (const TestType v : x) parts.push_back(limb_sum{}.lift(v));
        while (parts.size() > 1) {
            const std::size_t a = random.next() % parts.size();
            const auto taken = parts[a];
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(a));
            auto& other = parts[random.next() % parts.size()];
            other = random.next() % 2 == 0 ? limb_sum{}(taken, other) : limb_sum{}(other, taken);
        }
        REQUIRE(parts[0] == in_order);
        REQUIRE(in_order.addends() == x.size());
        auto normal = in_order;
        normal.normalise();
        REQUIRE(normal.addends() == 1);
        REQUIRE(normal.rounded() == in_order.rounded());
    }
}

TEST_CASE("limb_sum: special numbers", "[op]") {
    const std::uint64_t nan = 0x7ff8'0000'0000'0000u;
    const double odd = std::bit_cast<double>(std::uint64_t{0xfff0'0000'0000'0042u}); // signalling
    const double infinity = limits::infinity();
    CHECK(test::bits_of(sum_of({infinity, -infinity})) == nan);
    CHECK(test::bits_of(sum_of({1.0, odd, infinity})) == nan);
    CHECK(sum_of({infinity, -limits::max()}) == infinity);
    CHECK(sum_of({-infinity, 1.0, -infinity}) == -infinity);
    CHECK(sum_of({limits::max(), 0x1p969}) == limits::max());
    CHECK(sum_of({limits::max(), 0x1p970}) == infinity);
}

TEST_CASE("limb_sum: one number gives a word at most 32 bits and its sign", "[op]") {
    test::numbers random(bough_test::seed() + 2);
    const auto check = [](double x) {
        const auto s = limb_sum{}.lift(x);
        for (unsigned i = 0; i != s.amounts; ++i) REQUIRE(amount_bits(i, s) <= 0xffff'ffffu);
        REQUIRE(s.addends() == 1);
    };
    for (int i = 0; i != 2000; ++i) check(random.any<double>());
    check(limits::max());
    check(-limits::max());
}

TEST_CASE("limb_sum: a full capacity of the fullest words of one sign, and what is beyond", "[op]") {
    // 2^31 times the same number, by doubling; sums of 2^31 x are x 2^31 exactly.
    test::numbers random(bough_test::seed() + 3);
    for (const double sign : {1.0, -1.0}) {
        for (int i = 0; i != 70; ++i) {
            // All digits set, at each place within a word.
            const double x = i < 64 ? std::ldexp(sign * (0x1p53 - 1), i) : sign * std::fabs(random.near<double>(i));
            state s = limb_sum{}.lift(x);
            for (int k = 0; k != 31; ++k) s += s;
            REQUIRE(s.addends() == state::capacity);
            REQUIRE(limb_sum{}.lower(s) == x * 0x1p31);
            state normal = s;
            normal.normalise();
            REQUIRE(limb_sum{}.lower(normal) == x * 0x1p31);
            // Full states are taken again, once they are normalised.
            for (int k = 0; k != 10; ++k) normal += normal;
            REQUIRE(limb_sum{}.lower(normal) == x * 0x1p41);
            s += limb_sum{}.lift(0.0);
            REQUIRE(test::bits_of(limb_sum{}.lower(s)) == 0x7ff8'0000'0000'0000u);
        }
    }
    // The sums are far beyond the largest number, and come back.
    state top = limb_sum{}.lift(limits::max()), bottom = limb_sum{}.lift(-limits::max());
    for (int k = 0; k != 30; ++k) top += top, bottom += bottom;
    CHECK(limb_sum{}.lower(top) == limits::infinity());
    CHECK(limb_sum{}.lower(bottom) == -limits::infinity());
    CHECK(test::bits_of(limb_sum{}.lower(limb_sum{}(top, bottom))) == 0);
    top.normalise();
    CHECK(limb_sum{}.lower(limb_sum{}(limb_sum{}(limb_sum{}.lift(1.5), top), bottom)) == 1.5);
}

TEST_CASE("limb_sum: many numbers are normalised in time", "[op]") {
    // As if 2^31 numbers had been added one by one; one more would not fit.
    const double x = (0x1p53 - 1) * 0x1p-51;
    state sum = limb_sum{}.lift(x);
    for (int k = 0; k != 31; ++k) sum += sum;
    REQUIRE(sum.addends() == state::capacity);
    const std::vector<double> more{x, x, -0.5, x};
    bough::detail::add_all(sum, std::span<const double>(more));
    CHECK(sum.addends() == 1);
    sum += limb_sum{}.lift(-x * 0x1p31);
    CHECK(limb_sum{}.lower(sum) == 3 * x - 0.5);
    CHECK(limb_sum{}.lift(std::span<const double>()) == state{});
}

// Sums of up to 30 numbers with exponents in a window of 32 are exact in double.
TEST_CASE("limb_sum: halves, bfloat16 and eight bits", "[op]") {
    test::numbers random(bough_test::seed() + 4);
    const auto run = [&]<class F>(F) {
        for (int i = 0; i != (bough_test::all() ? 200000 : 5000); ++i) {
            limb_state<F> s;
            double sum = -0.0;
            const std::uint64_t base = random.next() % (1u << F::exponent_bits);
            for (std::uint64_t k = 1 + random.next() % 30; k != 0; --k) {
                const std::uint64_t bits = random.next();
                const std::uint64_t exponent = std::min<std::uint64_t>(base + bits % 32, (1u << F::exponent_bits) - 1);
                const auto x =
                    static_cast<typename F::word>((bits >> 8 & (F::quiet_bit * 2u - 1u)) |
                                                  exponent << F::fraction_bits | (bits >> 40 & 1 ? F::sign_bit : 0u));
                s += limb_state<F>::of(x);
                sum += test::oracle<F>::value(x);
            }
            REQUIRE(s.rounded() == test::oracle<F>::bits(sum));
        }
    };
    run(bough::f16_bits{});
    run(bough::bf16_bits{});
    run(bough::f8e5m2_bits{});
}
