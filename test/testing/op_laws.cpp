// SPDX-License-Identifier: BSL-1.0
// The laws of Op on every shipped op and on user callables; and broken ops, each of which must be caught by name.
#include "support/catch.hpp"
#include <bough/op/builtin_op.hpp>
#include <bough/op/location.hpp>
#include <bough/testing/op_archetype.hpp>
#include <bough/testing/op_laws.hpp>

#include <array>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

// Ops that claim what is not so.
struct claims_to_commute {
    int operator()(int a, int) const { return a; }
};
struct claims_to_be_exact {
    float operator()(float a, float b) const { return a + b; }
};
struct claims_to_be_idempotent {
    int operator()(int a, int b) const { return a + b; }
};
struct claims_an_identity {
    int operator()(int a, int b) const { return a + b; }
    template <class T>
    static constexpr T identity() {
        return T(1);
    }
};
struct wrong_kernel {
    int operator()(int a, int b) const { return a + b; }
    void combine(std::span<const int> lower, std::span<const int>, std::span<int> out) const {
        for (std::size_t i = 0; i != out.size(); ++i) out[i] = lower[i];
    }
};
template <>
inline constexpr bool bough::is_commutative_v<claims_to_commute> = true;
template <>
inline constexpr bool bough::is_exact_v<claims_to_be_exact, float> = true;
template <>
inline constexpr bool bough::is_idempotent_v<claims_to_be_idempotent> = true;

namespace {

using bough::testing::check_op;
using bough::testing::op_fault;
using bough::testing::op_law;

constexpr std::array<int, 4> few{0, 1, -7, std::numeric_limits<int>::max()};
static_assert(check_op<int>(bough::plus{}, few) == op_fault{});
static_assert(check_op<int>(bough::bit_and{}, few) == op_fault{});
static_assert(check_op<int>([](int, int b) { return b; }, few) == op_fault{});

template <class T>
std::vector<T> samples() {
    using limits = std::numeric_limits<T>;
    if constexpr (std::floating_point<T>) {
        const T nan = limits::quiet_NaN();
        using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
        const T odd = std::bit_cast<T>(static_cast<bits>(std::bit_cast<bits>(-nan) | 0x55u));
        return {T(0),
                -T(0),
                T(1),
                T(-1),
                T(0.1),
                T(1e30),
                limits::max(),
                limits::lowest(),
                limits::min(),
                limits::denorm_min(),
                limits::infinity(),
                -limits::infinity(),
                nan,
                odd};
    } else {
        return {T(0), T(1), T(2), T(7), static_cast<T>(-1), limits::max(), limits::lowest()};
    }
}

template <class T, class... O>
void check_all(O... op) {
    const auto one = [](auto o) {
        if constexpr (bough::Op<decltype(o), T>) CHECK(check_op<T>(o, samples<T>()).law == op_law::none);
    };
    (one(op), ...);
}

TEMPLATE_TEST_CASE("the shipped ops keep the laws", "[op]", std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                   std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, float, double) {
    using namespace bough;
    check_all<TestType>(plus{}, multiplies{}, bough::min{}, bough::max{}, min_number{}, max_number{}, logical_and{},
                        logical_or{}, logical_xor{}, bough::bit_and{}, bough::bit_or{}, bough::bit_xor{});
}

template <class P>
std::vector<P> located() {
    std::vector<P> all;
    for (const auto value : samples<decltype(P::value)>()) {
        all.push_back({value, 3});
        all.push_back({value, 8});
    }
    return all;
}

TEST_CASE("the laws hold for locations, complex numbers, bool and bytes", "[op]") {
    using wide = bough::value_location<double>;
    using padded = bough::value_location<float>;
    CHECK(check_op<wide>(bough::min_location{}, located<wide>()).law == op_law::none);
    CHECK(check_op<wide>(bough::max_location{}, located<wide>()).law == op_law::none);
    CHECK(check_op<padded>(bough::min_location{}, located<padded>()).law == op_law::none);
    CHECK(check_op<padded>(bough::max_location{}, located<padded>()).law == op_law::none);

    std::vector<std::complex<double>> complex;
    for (const double re : samples<double>()) complex.emplace_back(re, re * 0.7 + 0.1);
    CHECK(check_op<std::complex<double>>(bough::plus{}, complex).law == op_law::none);
    CHECK(check_op<std::complex<double>>(bough::multiplies{}, complex).law == op_law::none);

    const std::array<bool, 2> truth{false, true};
    CHECK(check_op<bool>(bough::logical_xor{}, truth).law == op_law::none);
    CHECK(check_op<bool>(bough::bit_and{}, truth).law == op_law::none);
    const std::array<std::byte, 2> bytes{std::byte{0x5a}, std::byte{0xff}};
    CHECK(check_op<std::byte>(bough::bit_xor{}, bytes).law == op_law::none);
}

TEST_CASE("callables of users keep the laws", "[op]") {
    int modulus = 97;
    const auto stateful = [modulus](int a, int b) { return (a + b) % modulus; };
    CHECK(check_op<int>(stateful, std::array<int, 3>{1, 50, 96}) == op_fault{});
    CHECK(check_op<int>(
              +[](int a, int b) { return a ^ b; }, few) == op_fault{});
    using element = bough::testing::element_archetype;
    const bough::testing::op_archetype op(1);
    CHECK(check_op<element>(op, std::array<element, 2>{element(2, 3), element(5, 7)}) == op_fault{});
    CHECK(check_op<int>(bough::plus{}, std::span<const int>{}) == op_fault{});
}

TEST_CASE("a broken law is named", "[op]") {
    CHECK(check_op<int>(claims_to_commute{}, few).law == op_law::commutative);
    CHECK(check_op<float>(claims_to_be_exact{}, std::array<float, 3>{1.0f, 1e8f, -1e8f}).law == op_law::exact);
    CHECK(check_op<int>(claims_to_be_idempotent{}, std::array<int, 2>{1, 2}).law == op_law::idempotent);
    CHECK(check_op<int>(claims_an_identity{}, std::array<int, 2>{1, 2}).law == op_law::identity);
    CHECK(check_op<int>(wrong_kernel{}, std::array<int, 2>{1, 2}).law == op_law::kernel_result);
    int calls = 0;
    const auto drifts = [&calls](int a, int b) { return a + b + calls++; };
    CHECK(check_op<int>(drifts, std::array<int, 2>{1, 2}).law == op_law::pure);
}

} // namespace
