// SPDX-License-Identifier: BSL-1.0
// Soft_float: bit for bit what the floating-point unit does, on edges, random pairs, and all pairs of short formats.
#include "op/soft_oracle.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/op/soft_float.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace {

using bough::bf16_bits;
using bough::f16_bits;
using bough::f32_bits;
using bough::f64_bits;
using bough::f8e5m2_bits;
using bough_test::mixed;

constexpr std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }
constexpr std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

static_assert(f64_bits::add(bits(0.1), bits(0.2)) == bits(0.1 + 0.2) &&
              f32_bits::add(bits(3.f), bits(-4.f)) == bits(-1.f));
static_assert(f64_bits::add(bits(0x1p53), bits(1.0)) == bits(0x1p53) &&
              f64_bits::add(bits(0x1p53), bits(3.0)) == bits(0x1p53 + 4));
static_assert(f64_bits::add(bits(0x1p1023), bits(0x1p1023)) == f64_bits::infinity, "overflow");
static_assert(f64_bits::add(bits(0x1p-1022), bits(-0x1p-1074)) == 0x000f'ffff'ffff'ffffu, "gradual underflow");
static_assert(f64_bits::add(1, 1) == 2 && f64_bits::add(bits(1.0), bits(-1.0)) == 0, "x - x is +0");
static_assert(f64_bits::add(f64_bits::sign_bit, f64_bits::sign_bit) == f64_bits::sign_bit, "-0 + -0");
static_assert(f64_bits::add(f64_bits::infinity, f64_bits::sign_bit | f64_bits::infinity) == f64_bits::quiet_nan);
static_assert(f16_bits::add(0x7bff, 0x4c00) == 0x7c00 && f16_bits::add(0x7bff, 0x4bff) == 0x7bff,
              "half an ulp beyond 65504");
static_assert(bf16_bits::add(0x3f80, 0x3b80) == 0x3f80 && bf16_bits::add(0x3f81, 0x3b80) == 0x3f82, "ties to even");
static_assert(f32_bits::minimum(bits(0.f), bits(-0.f)) == bits(-0.f) && f32_bits::maximum(bits(-0.f), bits(0.f)) == 0);
static_assert(f32_bits::minimum(0x7f80'0001, 0) == 0x7fc0'0000 && f32_bits::minimum_number(0x7f80'0001, 5) == 5);

template <class F>
using with_first_nan = bough::float_bits<typename F::word, F::exponent_bits, bough::first_nan>;
static_assert(with_first_nan<f32_bits>::add(0x7f80'0001, 0xffc0'0002) == 0x7fc0'0001, "quiet, payload kept");
static_assert(with_first_nan<f32_bits>::add(0, 0xff80'0002) == 0xffc0'0002, "the upper one's");

// The processor's own sum, with the operands in this order: compilers may swap them.
#if defined(__x86_64__) && defined(__GNUC__)
constexpr bool hardware_takes_first_nan = true;
template <class T>
T hardware_sum(T a, T b) {
    if constexpr (sizeof(T) == 8) {
        __asm__("addsd %1, %0" : "+x"(a) : "x"(b));
    } else {
        __asm__("addss %1, %0" : "+x"(a) : "x"(b));
    }
    return a;
}
#else
constexpr bool hardware_takes_first_nan = false;
template <class T>
T hardware_sum(T a, T b) {
    return a + b;
}
#endif

template <class F, class T>
struct of_type {
    using word = typename F::word;
    static T value(word x) { return std::bit_cast<T>(x); }
    static bool agrees(word a, word b) {
        const T x = value(a), y = value(b);
        bool ok = F::add(a, b) == std::bit_cast<word>(bough::plus{}(x, y)) &&
                  F::minimum(a, b) == std::bit_cast<word>(bough::min{}(x, y)) &&
                  F::maximum(a, b) == std::bit_cast<word>(bough::max{}(x, y)) &&
                  F::minimum_number(a, b) == std::bit_cast<word>(bough::min_number{}(x, y)) &&
                  F::maximum_number(a, b) == std::bit_cast<word>(bough::max_number{}(x, y));
        if (hardware_takes_first_nan) {
            ok = ok && with_first_nan<F>::add(a, b) == std::bit_cast<word>(hardware_sum(x, y));
        }
        return ok;
    }
};

// Short formats, against sums in double that are rounded once by arithmetic (op/soft_oracle.hpp).
template <class F>
struct of_oracle {
    using word = typename F::word;
    static bool agrees(word a, word b) {
        return F::add(a, b) == test::oracle<F>::add(a, b) && F::minimum(a, b) == test::oracle<F>::minimum(a, b) &&
               F::maximum(a, b) == test::oracle<F>::maximum(a, b) &&
               F::minimum_number(a, b) == test::oracle<F>::minimum_number(a, b) &&
               F::maximum_number(a, b) == test::oracle<F>::maximum_number(a, b);
    }
};

// Both NaN policies differ in nothing but NaN; of two NaN the lower operand's is taken.
template <class F>
bool policies_agree(typename F::word a, typename F::word b) {
    using G = with_first_nan<F>;
    using word = typename F::word;
    const auto nan = static_cast<word>(F::is_nan(a) ? a | F::quiet_bit : b | F::quiet_bit);
    const auto same = [&](word canonical, word first) {
        if (!F::is_nan(canonical)) return first == canonical;
        return first == (F::is_nan(a) || F::is_nan(b) ? nan : static_cast<word>(F::sign_bit | F::quiet_nan));
    };
    return same(F::add(a, b), G::add(a, b)) && same(F::minimum(a, b), G::minimum(a, b)) &&
           same(F::maximum(a, b), G::maximum(a, b)) && same(F::minimum_number(a, b), G::minimum_number(a, b)) &&
           same(F::maximum_number(a, b), G::maximum_number(a, b));
}

// Around every place where something changes: zeros, subnormals, powers of two, the largest, infinities, NaN.
template <class F>
std::vector<typename F::word> edges() {
    using word = typename F::word;
    std::vector<word> v;
    const auto around = [&](unsigned long long x) {
        for (const unsigned long long near : {x - 2, x - 1, x, x + 1, x + 2, x + 3}) {
            v.push_back(static_cast<word>(near));
            v.push_back(static_cast<word>(near | F::sign_bit));
        }
    };
    const unsigned long long one = static_cast<unsigned long long>(F::quiet_bit) * 2; // the lowest exponent
    const unsigned long long bias = (1ull << (F::exponent_bits - 1)) - 1;
    around(2);   // zero and the smallest
    around(one); // the smallest normal one
    around(one * 2);
    around(one * (F::digits + 2)); // where the smallest ones become sticky
    around(one * bias);            // 1
    around(one * (bias + 1));
    around(one * (bias + F::fraction_bits)); // an ulp is 1
    around(one * (bias + F::digits));
    around(one * bias + one / 2);
    around(static_cast<unsigned long long>(F::infinity) - one);
    around(static_cast<unsigned long long>(F::infinity)); // the largest, infinity, signalling NaN
    around(static_cast<unsigned long long>(F::quiet_nan));
    v.push_back(F::magnitude_mask);
    v.push_back(static_cast<word>(~word{0}));
    return v;
}

template <class F, class Check>
void check_edges(Check check) {
    const auto v = edges<F>();
    for (const auto a : v) {
        for (const auto b : v) {
            INFO(std::hex << +a << " and " << +b);
            REQUIRE(check(a, b));
            REQUIRE(policies_agree<F>(a, b));
        }
    }
}

// Pairs of eight strata: exponents far apart, near, equal, one apart; subnormal; near overflow; cancelling; any bits.
template <class F>
struct pair_of {
    typename F::word a, b;
    explicit pair_of(std::uint64_t i) {
        using word = typename F::word;
        const std::uint64_t x = mixed(3 * i + bough_test::seed() * 0x1234'5678'9abcu), y = mixed(x), z = mixed(y);
        const std::uint64_t exponents = 1ull << F::exponent_bits;
        const auto make = [](std::uint64_t random, std::uint64_t exponent) {
            // Long runs of zeros and ones in one fraction of two: carries and ties.
            std::uint64_t fraction = random >> 1;
            if (random & 1u) fraction = (random >> 20 & 1u ? ~std::uint64_t{0} : 0) << (random >> 8) % F::fraction_bits;
            const std::uint64_t mask = (std::uint64_t{1} << F::fraction_bits) - 1;
            return static_cast<word>((fraction & mask) |
                                     (exponent & ((std::uint64_t{1} << F::exponent_bits) - 1)) << F::fraction_bits |
                                     (random >> 40 & 1u ? F::sign_bit : 0));
        };
        const std::uint64_t e = z % exponents;
        a = make(x, e);
        switch (i % 8) {
        case 0: b = make(y, z >> 32); break;
        case 1: b = make(y, e + z / exponents % (F::digits + 5)); break;
        case 2: b = make(y, e); break;
        case 3: b = make(y, e + 1); break;
        case 4: a = make(x, z % 3), b = make(y, z / 3 % 3); break;
        case 5: a = make(x, exponents - 2 - z % 2), b = make(y, exponents - 2 - z / 2 % F::digits); break;
        case 6: b = static_cast<word>((a ^ F::sign_bit) + y % 9 - 4); break;
        default: a = static_cast<word>(x), b = static_cast<word>(y); break;
        }
    }
};

template <class F, class Check>
void check_random(std::uint64_t sampled_count, std::uint64_t full_count, Check check) {
    std::uint64_t faults = 0;
    const std::uint64_t count = bough_test::all() ? full_count : sampled_count;
    for (std::uint64_t i = 0; i != count; ++i) {
        const pair_of<F> p(i);
        if (check(p.a, p.b) && check(p.b, p.a) && policies_agree<F>(p.a, p.b)) continue;
        INFO("pair " << i << ": " << std::hex << +p.a << " and " << +p.b);
        CHECK(false);
        if (++faults == 5) return;
    }
    CHECK(faults == 0);
}

template <class F, class Check>
void check_all_pairs(unsigned step, Check check) {
    const std::uint64_t count = std::uint64_t{1} << F::bits;
    for (std::uint64_t a = step == 1 ? 0 : bough_test::seed() % step; a < count; a += step) {
        for (std::uint64_t b = step == 1 ? a : 0; b < count; ++b) {
            const auto x = static_cast<typename F::word>(a), y = static_cast<typename F::word>(b);
            if (check(x, y) && check(y, x)) continue;
            INFO(std::hex << a << " and " << b);
            REQUIRE(false);
        }
    }
}

} // namespace

TEST_CASE("soft_float: all pairs of edges", "[op]") {
    check_edges<f64_bits>(of_type<f64_bits, double>::agrees);
    check_edges<f32_bits>(of_type<f32_bits, float>::agrees);
    check_edges<f16_bits>(of_oracle<f16_bits>::agrees);
    check_edges<bf16_bits>(of_oracle<bf16_bits>::agrees);
}

TEST_CASE("soft_float: random pairs of all kinds, double and float against the processor", "[op]") {
    check_random<f64_bits>(400'000, 10'000'000, of_type<f64_bits, double>::agrees);
    check_random<f32_bits>(400'000, 10'000'000, of_type<f32_bits, float>::agrees);
}

TEST_CASE("soft_float: random pairs of all kinds, the short formats", "[op]") {
    check_random<f16_bits>(50'000, 10'000'000, of_oracle<f16_bits>::agrees);
    check_random<bf16_bits>(50'000, 10'000'000, of_oracle<bf16_bits>::agrees);
}

TEST_CASE("soft_float: every pair of a format of eight bits", "[op]") {
    check_all_pairs<f8e5m2_bits>(1, of_oracle<f8e5m2_bits>::agrees);
}

// A second oracle, fast enough for every pair: sums of float, rounded again. That is right because 24 digits are at
// least 2 * 11 + 2 (S. A. Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter 30(3), 1995).
TEST_CASE("soft_float: every pair of bfloat16 against float", "[op]") {
    check_all_pairs<bf16_bits>(bough_test::all() ? 1 : 4099, [](std::uint16_t a, std::uint16_t b) {
        const float x = std::bit_cast<float>(std::uint32_t{a} << 16), y = std::bit_cast<float>(std::uint32_t{b} << 16);
        const std::uint32_t sum = bits(bough::plus{}(x, y));
        const std::uint32_t rounded = x + y != x + y ? sum : sum + 0x7fff + (sum >> 16 & 1u);
        return bf16_bits::add(a, b) == rounded >> 16 && bf16_bits::minimum(a, b) == bits(bough::min{}(x, y)) >> 16 &&
               bf16_bits::maximum(a, b) == bits(bough::max{}(x, y)) >> 16 &&
               bf16_bits::minimum_number(a, b) == bits(bough::min_number{}(x, y)) >> 16 &&
               bf16_bits::maximum_number(a, b) == bits(bough::max_number{}(x, y)) >> 16;
    });
}

// (g++ 12 has the format on aarch64, and no type of C++ for it.)
#if defined(__FLT16_MANT_DIG__) && defined(__x86_64__) && (!defined(__clang__) || defined(__AVX512FP16__))
TEST_CASE("soft_float: every pair of halves against _Float16", "[op]") {
    check_all_pairs<f16_bits>(bough_test::all() ? 1 : 16381, [](std::uint16_t a, std::uint16_t b) {
        const _Float16 sum = std::bit_cast<_Float16>(a) + std::bit_cast<_Float16>(b);
        const auto expected = std::bit_cast<std::uint16_t>(sum);
        return f16_bits::add(a, b) == (f16_bits::is_nan(expected) ? f16_bits::quiet_nan : expected);
    });
}
#else
TEST_CASE("soft_float: every pair of halves against the oracle", "[op]") {
    check_all_pairs<f16_bits>(bough_test::all() ? 61 : 65521, of_oracle<f16_bits>::agrees);
}
#endif

TEST_CASE("soft_float: leading zeros without an instruction for them", "[op]") {
    // A type that the builtins do not know takes the steps.
    for (unsigned i = 1; i != 65536; ++i) {
        REQUIRE(f64_bits::leading_zeros(static_cast<std::uint16_t>(i)) ==
                static_cast<unsigned>(std::countl_zero(static_cast<std::uint16_t>(i))));
    }
    for (unsigned i = 0; i != 64; ++i) {
        REQUIRE(f64_bits::leading_zeros(~std::uint64_t{0} >> i) == i);
        if (i < 32) REQUIRE(f64_bits::leading_zeros(0x8000'0000u >> i) == i);
    }
}
