// SPDX-License-Identifier: BSL-1.0
// Plus and multiplies: wrapping integers, one NaN, signed zeros, complex numbers, other types with +.
#include "support/catch.hpp"
#include <bough/concepts/explain_op.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/combine.hpp>

#include <bit>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>

namespace {

static_assert(bough::explain_op<bough::plus, int>() && bough::explain_op<bough::plus, std::complex<float>>());
static_assert(bough::Op<bough::plus, std::string>, "anything with + is welcome");
static_assert(!bough::Op<bough::plus, bool>, "or on bool is logical_or");
static_assert(!bough::Op<bough::plus, int*> && !bough::Op<bough::multiplies, std::string>);

template <class T>
constexpr bool wraps() {
    constexpr T high = std::numeric_limits<T>::max();
    constexpr T low = std::numeric_limits<T>::lowest();
    constexpr T two = 2;
    return bough::plus{}(high, T(1)) == low && bough::plus{}(low, high) == static_cast<T>(low + high) &&
           bough::multiplies{}(high, two) == static_cast<T>(T(0) - two) && bough::multiplies{}(high, high) == T(1);
}
static_assert(wraps<std::int8_t>() && wraps<std::int16_t>() && wraps<std::int32_t>() && wraps<std::int64_t>());
static_assert(wraps<std::uint8_t>() && wraps<std::uint16_t>() && wraps<std::uint32_t>() && wraps<std::uint64_t>());
static_assert(bough::plus{}(std::int8_t{127}, std::int8_t{1}) == -128);
static_assert(bough::multiplies{}(std::int8_t{-128}, std::int8_t{-1}) == -128);
static_assert(bough::multiplies{}(std::uint16_t{65535}, std::uint16_t{65535}) == 1);

constexpr std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }
constexpr std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

// -0 is the identity: it keeps both zeros.
static_assert(bits(bough::plus{}(bough::plus::identity<double>(), 0.0)) == bits(0.0));
static_assert(bits(bough::plus{}(bough::plus::identity<double>(), -0.0)) == bits(-0.0));
static_assert(bough::has_identity_v<bough::plus, int> && bough::has_identity_v<bough::multiplies, float>);
static_assert(!bough::has_identity_v<bough::plus, std::string>);

static_assert(bough::is_commutative_v<bough::plus> && bough::is_commutative_v<bough::multiplies>);
static_assert(bough::is_exact_v<bough::plus, int> && !bough::is_exact_v<bough::plus, float>);
static_assert(!bough::is_idempotent_v<bough::plus> && bough::is_integer_only_v<bough::plus, long>);

constexpr std::uint64_t canonical64 = 0x7ff8'0000'0000'0000u;
constexpr std::uint32_t canonical32 = 0x7fc0'0000u;

TEST_CASE("plus and multiplies return one NaN whatever came in", "[op]") {
    const double quiet[] = {std::bit_cast<double>(std::uint64_t{0x7ff8'0000'dead'beefu}),
                            std::bit_cast<double>(std::uint64_t{0xfff8'0000'0000'0001u}),
                            std::bit_cast<double>(std::uint64_t{0x7ff0'0000'0000'0001u}), // signalling
                            1.0};
    for (const double a : quiet) {
        for (const double b : quiet) {
            if (a == a && b == b) continue;
            CHECK(bits(bough::plus{}(a, b)) == canonical64);
            CHECK(bits(bough::multiplies{}(a, b)) == canonical64);
        }
    }
    const double infinity = std::numeric_limits<double>::infinity();
    CHECK(bits(bough::plus{}(infinity, -infinity)) == canonical64); // x86 would give a negative NaN
    CHECK(bits(bough::multiplies{}(infinity, 0.0)) == canonical64);
    const float odd = std::bit_cast<float>(std::uint32_t{0xffc0'1234u});
    CHECK(bits(bough::plus{}(odd, 1.0f)) == canonical32);
    CHECK(bits(bough::multiplies{}(2.0f, odd)) == canonical32);
}

TEST_CASE("the vector loop of plus canonicalises every element", "[op]") {
    double a[67];
    double b[67];
    for (std::size_t i = 0; i != 67; ++i) {
        a[i] = i % 3 == 0 ? std::bit_cast<double>(0xfff8'0000'0000'0000u + i) : double(i);
        b[i] = i % 5 == 0 ? std::bit_cast<double>(0x7ff8'0000'0000'1000u + i) : -double(i);
    }
    bough::combine<double>(bough::plus{}, a, b, a, 67);
    for (std::size_t i = 0; i != 67; ++i) CHECK(bits(a[i]) == (i % 3 == 0 || i % 5 == 0 ? canonical64 : 0u));
}

// Out of line, so that the compiler cannot see that the two calls below are one product.
[[gnu::noinline]] std::complex<double> product(const std::complex<double>& a, const std::complex<double>& b) {
    return bough::multiplies{}(a, b);
}

TEST_CASE("complex numbers are combined by parts and commute bit for bit", "[op]") {
    using complex = std::complex<double>;
    CHECK(bough::plus{}(complex(1, 2), complex(3, -5)) == complex(4, -3));
    CHECK(bough::multiplies{}(complex(1, 2), complex(3, 4)) == complex(-5, 10));
    const complex odd(std::bit_cast<double>(std::uint64_t{0xfff8'0000'0000'0077u}), 1);
    CHECK(bits(bough::plus{}(odd, complex(1, 1)).real()) == canonical64);
    CHECK(bough::plus{}(odd, complex(1, 1)).imag() == 2);
    // Holds with fused multiply-add, too: both products are rounded before they are added.
    double x = 0.1;
    for (int i = 0; i != 1000; ++i) {
        x = 3.9 * x * (1 - x);
        const complex a(x, 1 / (x + 3));
        const complex b(1 / (x + 0.7), x * x);
        const complex ab = product(a, b);
        const complex ba = product(b, a);
        CHECK((bits(ab.real()) == bits(ba.real()) && bits(ab.imag()) == bits(ba.imag())));
    }
}

TEST_CASE("plus takes any type with operator+", "[op]") {
    CHECK(bough::plus{}(std::string("ab"), std::string("cd")) == "abcd");
}

} // namespace
