// SPDX-License-Identifier: BSL-1.0
// small_float: every value of every format is what its definition says; conversions round to nearest, ties
// to even; the kernels of all vector units give the bits of the plain ops, and those of integer arithmetic.
#include "support/catch.hpp"
#include <bough/op/arithmetic.hpp>
#include <bough/op/combine.hpp>
#include <bough/op/min_max.hpp>
#include <bough/op/small_float.hpp>
#include <bough/op/soft_float.hpp>
#include <bough/op/wire.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace {

using bough::bf16;
using bough::fp16;
using bough::fp8_e4m3;
using bough::fp8_e5m2;
using bough::detail::vector_unit;

static_assert(bough::wire_size_v<bf16> == 2 && bough::travels_as_bytes_v<bf16>);
static_assert(bough::wire_size_v<fp8_e4m3> == 1 && sizeof(fp8_e5m2) == 1);
static_assert(float(bf16{1.5f}) == 1.5f && bf16{1.5f}.bits() == 0x3fc0);
static_assert(fp16{65504.f}.bits() == 0x7bff && fp16{65519.f}.bits() == 0x7bff && fp16{65520.f}.bits() == 0x7c00);
static_assert(fp8_e5m2{57344.f}.bits() == 0x7b && fp8_e5m2{61440.f}.bits() == 0x7c);
static_assert(float(fp8_e4m3{1e9f}) == 448 && float(fp8_e4m3{-1e9f}) == -448 && float(fp8_e4m3{300.f}) == 288);
static_assert(bough::plus{}(bf16{1.f}, bf16{2.f}) == 3.f);
static_assert(bough::is_commutative_v<bough::plus> && !bough::is_exact_v<bough::plus, bf16> &&
              bough::is_exact_v<bough::min, fp8_e4m3>);
static_assert(bough::type_id<bf16> != bough::type_id<fp16>);

template <class T>
T with_bits(std::uint32_t bits) {
    return T::from_bits(static_cast<typename T::word>(bits));
}
template <class T>
constexpr std::uint32_t patterns = 1u << (8 * sizeof(T));

struct shape {
    int exponent_bits, fraction_bits;
    bool infinite;
};
template <class T>
constexpr shape shape_of = std::is_same_v<T, bf16>       ? shape{8, 7, true}
                           : std::is_same_v<T, fp16>     ? shape{5, 10, true}
                           : std::is_same_v<T, fp8_e5m2> ? shape{5, 2, true}
                                                         : shape{4, 3, false};

// What the definition says that the bits mean.
template <class T>
double meaning(std::uint32_t bits) {
    constexpr shape s = shape_of<T>;
    const int bias = (1 << (s.exponent_bits - 1)) - 1;
    const auto fraction = static_cast<int>(bits & ((1u << s.fraction_bits) - 1));
    const auto exponent = static_cast<int>(bits >> s.fraction_bits & ((1u << s.exponent_bits) - 1));
    const double sign = (bits >> (s.exponent_bits + s.fraction_bits) & 1u) != 0 ? -1 : 1;
    if (s.infinite && exponent == (1 << s.exponent_bits) - 1)
        return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::quiet_NaN();
    if (!s.infinite &&
        (bits & ((1u << (s.exponent_bits + s.fraction_bits)) - 1)) == (1u << (s.exponent_bits + s.fraction_bits)) - 1)
        return std::numeric_limits<double>::quiet_NaN();
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - s.fraction_bits);
    return sign * std::ldexp(fraction + (1 << s.fraction_bits), exponent - bias - s.fraction_bits);
}

const std::vector<vector_unit>& units() {
    static const std::vector<vector_unit> all = [] {
        std::vector<vector_unit> made;
        for (const vector_unit u : {vector_unit::portable, vector_unit::avx2, vector_unit::avx512})
            if (u <= bough::detail::best_vector_unit()) made.push_back(u);
        return made;
    }();
    return all;
}

// Floats of all kinds: for each pair of neighbours of T, their middle and the floats beside it.
template <class T>
std::vector<float> hard_floats() {
    std::vector<float> made;
    for (std::uint32_t c = 0; c != patterns<T>; ++c) {
        const float x = with_bits<T>(c);
        made.push_back(x);
        if (!std::isfinite(x)) continue;
        const double next = meaning<T>(c + 1);
        // In the format with more range the middle above the largest would be half way to the next power.
        const double beyond = std::isfinite(next) ? next : 2.0 * x - meaning<T>(c - 1);
        const auto middle = static_cast<float>((double(x) + beyond) / 2);
        made.push_back(middle);
        made.push_back(std::nextafter(middle, std::numeric_limits<float>::infinity()));
        made.push_back(std::nextafter(middle, -std::numeric_limits<float>::infinity()));
    }
    for (const std::uint32_t bits :
         {0x7f80'0000u, 0xff80'0000u, 0x7f80'0001u, 0x7fc0'0000u, 0xffff'ffffu, 0x7fa0'0000u, 0x0000'0001u,
          0x8000'0001u, 0x007f'ffffu, 0x7f7f'ffffu, 0xff7f'ffffu, 0x8000'0000u})
        made.push_back(std::bit_cast<float>(bits));
    std::mt19937 random(7);
    for (int i = 0; i != 20000; ++i) made.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    return made;
}

// All kernels of one op on these operands, in place and not, with a remainder, at odd addresses.
template <class T, class O>
void check_kernels(const std::vector<T>& a, const std::vector<T>& b) {
    const O op{};
    std::vector<T> expected(a.size());
    for (std::size_t i = 0; i != a.size(); ++i) expected[i] = op(a[i], b[i]);
    const std::size_t bytes = a.size() * sizeof(T);
    for (const vector_unit u : units()) {
        std::vector<std::byte> low(bytes + 1), high(bytes + 1), out(bytes + 1);
        std::memcpy(low.data() + 1, a.data(), bytes);
        std::memcpy(high.data() + 1, b.data(), bytes);
        auto* const kernel = bough::detail::combiner_for<typename T::format, O>(u);
        kernel(low.data() + 1, high.data() + 1, out.data() + 1, bytes);
        INFO("vector unit " << int(u));
        REQUIRE(std::memcmp(out.data() + 1, expected.data(), bytes) == 0);
        kernel(low.data() + 1, high.data() + 1, low.data() + 1, bytes);
        REQUIRE(std::memcmp(low.data() + 1, expected.data(), bytes) == 0);
    }
    std::vector<T> out = b;
    bough::combine(op, a.data(), out.data(), out.data(), out.size());
    REQUIRE(std::memcmp(out.data(), expected.data(), bytes) == 0);
}

template <class T>
void check_all_ops(const std::vector<T>& a, const std::vector<T>& b) {
    check_kernels<T, bough::plus>(a, b);
    check_kernels<T, bough::multiplies>(a, b);
    check_kernels<T, bough::min>(a, b);
    check_kernels<T, bough::max>(a, b);
    check_kernels<T, bough::min_number>(a, b);
    check_kernels<T, bough::max_number>(a, b);
}

} // namespace

TEMPLATE_TEST_CASE("every value means what its format says", "[small_float]", bf16, fp16, fp8_e4m3, fp8_e5m2) {
    using T = TestType;
    for (std::uint32_t c = 0; c != patterns<T>; ++c) {
        const T x = with_bits<T>(c);
        const double wanted = meaning<T>(c);
        CAPTURE(c);
        if (std::isnan(wanted)) {
            if (!std::isnan(float(x))) FAIL("not a NaN");
            if (!std::isnan(float(T(float(x))))) FAIL("the NaN is lost");
            if (std::signbit(float(x)) != std::signbit(wanted) && (shape_of<T>.infinite || c != 0xff) &&
                std::signbit(float(x)) != (c >> (8 * sizeof(T) - 1) != 0))
                FAIL("the sign of the NaN is lost");
        } else {
            if (double(float(x)) != wanted || std::signbit(float(x)) != (c >> (8 * sizeof(T) - 1) != 0))
                FAIL("means " << float(x) << ", not " << wanted);
            if (T(float(x)).bits() != x.bits()) FAIL("does not come back");
        }
    }
    CHECK(double(float(T::largest())) == (std::is_same_v<T, bf16>       ? std::ldexp(255, 120)
                                          : std::is_same_v<T, fp16>     ? 65504
                                          : std::is_same_v<T, fp8_e5m2> ? 57344
                                                                        : 448));
}

TEMPLATE_TEST_CASE("a float becomes the nearest value, ties to even", "[small_float]", bf16, fp16, fp8_e4m3, fp8_e5m2) {
    using T = TestType;
    constexpr std::uint32_t largest = T::largest().bits();
    for (std::uint32_t c = 0; c != largest; ++c) { // the sign is kept apart
        const double low = meaning<T>(c), high = meaning<T>(c + 1);
        const auto middle = static_cast<float>((low + high) / 2);
        REQUIRE(double(middle) == (low + high) / 2); // so a float shows a tie
        const float above = std::nextafter(middle, std::numeric_limits<float>::infinity());
        const float below = std::nextafter(middle, -std::numeric_limits<float>::infinity());
        const std::uint32_t even = c + (c & 1u);
        if (T(middle).bits() != even || T(-middle).bits() != (even | T::format::sign)) FAIL("tie above " << low);
        if (T(above).bits() != c + 1 || T(below).bits() != c) FAIL("beside the tie above " << low);
    }
    // Beyond the largest: as if there were another one, and that is infinity.
    const double step = meaning<T>(largest) - meaning<T>(largest - 1);
    const std::uint32_t beyond = T::greatest().bits();
    const double middle = meaning<T>(largest) + step / 2;
    if (!std::is_same_v<T, bf16>) CHECK(T(static_cast<float>(middle)).bits() == beyond); // ties to even: away
    CHECK(T(std::nextafter(static_cast<float>(middle), 0.f)).bits() == largest);
    CHECK(T(std::numeric_limits<float>::max()).bits() == beyond);
    CHECK(T(std::numeric_limits<float>::infinity()).bits() == beyond);
    CHECK(T(-std::numeric_limits<float>::infinity()).bits() == (beyond | T::format::sign));
    CHECK(T(std::numeric_limits<float>::denorm_min()).bits() == 0);
    CHECK(T(-0.f).bits() == T::format::sign);
}

TEST_CASE("a NaN keeps its sign and what fits of its payload", "[small_float]") {
    CHECK(bf16(std::bit_cast<float>(0x7f81'0000u)).bits() == 0x7fc1); // made quiet
    CHECK(bf16(std::bit_cast<float>(0xffd5'1234u)).bits() == 0xffd5);
    CHECK(bf16(std::bit_cast<float>(0x7f80'0001u)).bits() == 0x7fc0); // a payload that does not fit: still a NaN
    CHECK(fp16(std::bit_cast<float>(0xffc0'2000u)).bits() == 0xfe01);
    CHECK(std::bit_cast<std::uint32_t>(float(with_bits<fp16>(0x7c01))) == 0x7fc0'2000u);
    CHECK(fp8_e4m3(std::bit_cast<float>(0xff80'0001u)).bits() == 0xff);
    // Ops have one NaN.
    CHECK(bough::plus{}(with_bits<bf16>(0xffd5), bf16(1.f)).bits() == 0x7fc0);
    CHECK(bough::plus{}(bf16::greatest(), -bf16::greatest()).bits() == 0x7fc0);
    CHECK(bough::min{}(with_bits<fp16>(0xfe01), fp16(1.f)).bits() == 0x7e00);
    CHECK(bough::min_number{}(with_bits<fp16>(0xfe01), fp16(1.f)).bits() == fp16(1.f).bits());
    CHECK(bough::max_number{}(with_bits<fp8_e4m3>(0xff), with_bits<fp8_e4m3>(0x7f)).bits() == 0x7f);
}

TEMPLATE_TEST_CASE("conversions of spans have the bits of single ones in every vector unit", "[small_float]", bf16,
                   fp16, fp8_e4m3, fp8_e5m2) {
    using T = TestType;
    const std::vector<float> floats = hard_floats<T>();
    std::vector<T> values(patterns<T>);
    for (std::uint32_t c = 0; c != patterns<T>; ++c) values[c] = with_bits<T>(c);
    for (const vector_unit u : units()) {
        INFO("vector unit " << int(u));
        std::vector<T> narrow(floats.size());
        bough::detail::encoder_for<typename T::format>(u)(reinterpret_cast<const std::byte*>(floats.data()),
                                                          reinterpret_cast<std::byte*>(narrow.data()), floats.size(),
                                                          1.f);
        for (std::size_t i = 0; i != floats.size(); ++i)
            if (narrow[i].bits() != T(floats[i]).bits())
                FAIL("float " << std::bit_cast<std::uint32_t>(floats[i]) << " becomes " << int(narrow[i].bits())
                              << ", not " << int(T(floats[i]).bits()));
        std::vector<float> wide(values.size());
        bough::detail::decoder_for<typename T::format>(u)(reinterpret_cast<const std::byte*>(values.data()),
                                                          reinterpret_cast<std::byte*>(wide.data()), values.size(),
                                                          1.f);
        for (std::size_t i = 0; i != values.size(); ++i) {
            // The product with the scale makes a signalling NaN of bf16 quiet.
            const std::uint32_t got = std::bit_cast<std::uint32_t>(wide[i]);
            const std::uint32_t wanted = std::bit_cast<std::uint32_t>(float(values[i]));
            if (got != wanted && !(std::isnan(wide[i]) && got == (wanted | 0x0040'0000u))) FAIL("value " << i);
        }
    }
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{31}}) {
        std::vector<float> some(count, 3.f), back(count + 1, -7.f);
        std::vector<T> narrow(count + 1, T(-1.f));
        bough::convert(std::span<const float>(some), std::span(narrow).first(count), 0.5f);
        bough::convert(std::span<const T>(narrow).first(count), std::span(back).first(count), 2.f);
        for (std::size_t i = 0; i != count; ++i) CHECK((narrow[i] == 1.5f && back[i] == 3.f));
        CHECK((narrow[count] == -1.f && back[count] == -7.f)); // nothing beyond the end
    }
}

TEMPLATE_TEST_CASE("all pairs of 8 bits, in every vector unit", "[small_float]", fp8_e4m3, fp8_e5m2) {
    using T = TestType;
    std::vector<T> a, b;
    for (std::uint32_t x = 0; x != 256; ++x)
        for (std::uint32_t y = 0; y != 256; ++y) a.push_back(with_bits<T>(x)), b.push_back(with_bits<T>(y));
    a.pop_back(), b.pop_back(); // so that the last vector is not full
    check_all_ops(a, b);
}

TEMPLATE_TEST_CASE("pairs of 16 bits, in every vector unit", "[small_float]", bf16, fp16) {
    using T = TestType;
    std::mt19937 random(11);
    std::vector<T> a, b;
    for (std::uint32_t c = 0; c != patterns<T>; ++c) { // each value with itself, its negative and others
        for (const std::uint32_t other : {c, c ^ 0x8000u, c ^ 1u, std::uint32_t(random()) & 0xffffu, 0x7f80u, 0x7c00u,
                                          0x8000u, 0x0001u, 0x7fc1u, 0xfe01u})
            a.push_back(with_bits<T>(c)), b.push_back(with_bits<T>(other));
    }
    a.push_back(T(1.f)), b.push_back(T(2.f));
    check_all_ops(a, b);
}

namespace {
// The same by integers alone, which knows nothing of floats.
template <class T, class Bits>
void check_against_integers(std::uint32_t at_most) {
    std::mt19937 random(13);
    for (std::uint32_t c = 0; c != at_most; ++c) {
        const bool all = at_most == 1u << 16;
        const auto x = static_cast<typename T::word>(all && sizeof(T) == 1 ? c >> 8 : random());
        const auto y = static_cast<typename T::word>(all && sizeof(T) == 1 ? c : random());
        const T a = T::from_bits(x), b = T::from_bits(y);
        if (bough::plus{}(a, b).bits() != Bits::add(x, y) || bough::min{}(a, b).bits() != Bits::minimum(x, y) ||
            bough::max{}(a, b).bits() != Bits::maximum(x, y) ||
            bough::min_number{}(a, b).bits() != Bits::minimum_number(x, y) ||
            bough::max_number{}(a, b).bits() != Bits::maximum_number(x, y))
            FAIL("operands " << int(x) << " and " << int(y));
    }
}
} // namespace

TEST_CASE("ops have the bits of integer arithmetic", "[small_float]") {
    check_against_integers<bf16, bough::bf16_bits>(1'000'000);
    check_against_integers<fp16, bough::f16_bits>(1'000'000);
    check_against_integers<fp8_e5m2, bough::f8e5m2_bits>(1u << 16);
}

TEST_CASE("identities leave every result as it is", "[small_float]") {
    const auto check = []<class T>(T) {
        for (std::uint32_t c = 0; c != patterns<T>; ++c) {
            const T x = with_bits<T>(c);
            const auto neutral = [&](auto op) {
                const T r = op(x, x); // what the op returns
                const T id = op.template identity<T>();
                return op(id, r).bits() == r.bits() && op(r, id).bits() == r.bits();
            };
            if (!neutral(bough::plus{}) || !neutral(bough::multiplies{}) || !neutral(bough::min{}) ||
                !neutral(bough::max{}) || !neutral(bough::min_number{}) || !neutral(bough::max_number{}))
                FAIL("value " << c);
        }
    };
    check(bf16{});
    check(fp16{});
    check(fp8_e4m3{});
    check(fp8_e5m2{});
}
