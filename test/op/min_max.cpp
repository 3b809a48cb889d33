// SPDX-License-Identifier: BSL-1.0
// Min, max and their *_number variants: NaN, payloads, signed zeros, infinities.
#include "support/catch.hpp"
#include <bough/concepts/explain_op.hpp>
#include <bough/op/combine.hpp>
#include <bough/op/min_max.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

static_assert(bough::explain_op<bough::min, float>() && bough::explain_op<bough::max_number, std::uint8_t>());
static_assert(!bough::Op<bough::min, int*>);

template <class T>
constexpr auto bits(T x) {
    if constexpr (sizeof(T) == 8) {
        return std::bit_cast<std::uint64_t>(x);
    } else {
        return std::bit_cast<std::uint32_t>(x);
    }
}

template <class T>
constexpr bool as_ieee() {
    const T quiet = std::numeric_limits<T>::quiet_NaN();
    const T infinity = std::numeric_limits<T>::infinity();
    const auto is = [](T x, T y) { return bits(x) == bits(y); };
    const T payload = std::bit_cast<T>(static_cast<decltype(bits(quiet))>(bits(quiet) | 0x77u));
    const T negative = std::bit_cast<T>(static_cast<decltype(bits(quiet))>(bits(-quiet) | 0x1u));
    bool ok = true;
    for (const T odd : {quiet, payload, negative}) {
        for (const T x : {T(1), -infinity, infinity, T(0), payload, negative}) {
            ok = ok && is(bough::min{}(odd, x), quiet) && is(bough::min{}(x, odd), quiet);
            ok = ok && is(bough::max{}(odd, x), quiet) && is(bough::max{}(x, odd), quiet);
            const T expected = x == x ? x : quiet;
            ok = ok && is(bough::min_number{}(odd, x), expected) && is(bough::min_number{}(x, odd), expected);
            ok = ok && is(bough::max_number{}(odd, x), expected) && is(bough::max_number{}(x, odd), expected);
        }
    }
    for (const T zero : {T(0), -T(0)}) {
        ok = ok && is(bough::min{}(zero, -T(0)), -T(0)) && is(bough::min{}(-T(0), zero), -T(0));
        ok = ok && is(bough::max{}(zero, T(0)), T(0)) && is(bough::max{}(T(0), zero), T(0));
        ok = ok && is(bough::min_number{}(zero, -T(0)), -T(0)) && is(bough::max_number{}(T(0), zero), T(0));
        ok = ok && is(bough::min{}(zero, T(1)), zero) && is(bough::max{}(T(-1), zero), zero);
    }
    ok = ok && bough::min{}(T(1.5), T(-2)) == -2 && bough::max{}(T(1.5), T(-2)) == T(1.5);
    ok = ok && bough::min{}(-infinity, T(3)) == -infinity && bough::max{}(T(3), infinity) == infinity;
    ok = ok && is(bough::min{}(bough::min::identity<T>(), payload), quiet);
    ok = ok && bough::max{}(bough::max::identity<T>(), -infinity) == -infinity;
    ok = ok && is(bough::min_number{}(bough::min_number::identity<T>(), infinity), infinity);
    return ok;
}
static_assert(as_ieee<float>() && as_ieee<double>());

static_assert(bough::min{}(std::int8_t{-128}, std::int8_t{127}) == -128);
static_assert(bough::max{}(std::uint64_t{0}, ~std::uint64_t{0}) == ~std::uint64_t{0});
static_assert(!bough::min{}(true, false) && bough::max{}(true, false));
static_assert(bough::min{}(2.0L, -0.0L) == 0 && bough::max{}(2.0L, -0.0L) == 2);
static_assert(bough::is_exact_v<bough::min, double> && bough::is_idempotent_v<bough::max_number>);
static_assert(bough::is_integer_only_v<bough::min, int> && !bough::is_integer_only_v<bough::min, float>);

TEST_CASE("what holds at compile time holds at run time", "[op]") {
    CHECK(as_ieee<float>());
    CHECK(as_ieee<double>());
}

TEST_CASE("the vector loops of min and max agree with the call", "[op]") {
    const double quiet = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> some{0.0,
                                   -0.0,
                                   1.0,
                                   -1.0,
                                   quiet,
                                   std::bit_cast<double>(bits(-quiet) | 5u),
                                   std::numeric_limits<double>::infinity(),
                                   -std::numeric_limits<double>::infinity()};
    std::vector<double> a;
    std::vector<double> b;
    for (const double x : some) {
        for (const double y : some) {
            a.push_back(x);
            b.push_back(y);
        }
    }
    const auto agree = [&](auto op) {
        std::vector<double> out(a.size());
        bough::combine<double>(op, a.data(), b.data(), out.data(), a.size());
        for (std::size_t i = 0; i != a.size(); ++i) {
            if (bits(out[i]) != bits(op(a[i], b[i]))) return false;
        }
        return true;
    };
    CHECK(agree(bough::min{}));
    CHECK(agree(bough::max{}));
    CHECK(agree(bough::min_number{}));
    CHECK(agree(bough::max_number{}));
}

} // namespace
