// SPDX-License-Identifier: BSL-1.0
// rounded_once: what it lifts, combines and lowers; its traits and its name.
#include "support/catch.hpp"
#include <bough/op/arithmetic.hpp>
#include <bough/op/identity.hpp>
#include <bough/op/lift.hpp>
#include <bough/op/min_max.hpp>
#include <bough/op/rounded_once.hpp>
#include <bough/op/small_float.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

namespace {

using namespace bough;

static_assert(LiftedOp<rounded_once<>, bf16> && LiftedOp<rounded_once<>, fp8_e4m3>);
static_assert(LiftedOp<rounded_once<plus, double>, float> && !LiftedOp<rounded_once<plus, double>, bf16>);
static_assert(!LiftedOp<rounded_once<>, double> && !LiftedOp<rounded_once<>, int>);
static_assert(Op<rounded_once<>, float> && !Op<rounded_once<>, bf16> && !LiftedOp<rounded_once<>, float>);
static_assert(std::is_same_v<state_of<rounded_once<min>, fp16>, float>);
static_assert(is_commutative_v<rounded_once<>> && !is_exact_v<rounded_once<>, float> &&
              is_exact_v<rounded_once<max>, float> && is_idempotent_v<rounded_once<min>>);
static_assert(std::bit_cast<std::uint32_t>(rounded_once<>::identity<float>()) == 0x8000'0000u);

TEST_CASE("rounded_once lifts, combines and rounds at the end", "[rounded_once]") {
    // 256 + 1 is no bf16, and neither is 256 + 1 + 1 if it is rounded between: ties go to even.
    const bf16 large{256.f}, one{1.f};
    CHECK(float(plus{}(plus{}(large, one), one)) == 256);
    constexpr rounded_once<> sum;
    const bf16 result = sum.lower(sum(sum(sum.lift(large), sum.lift(one)), sum.lift(one)));
    CHECK(float(result) == 258);

    constexpr rounded_once<> average{.after = 0.25f}, scaled{.before = 0.5f};
    const fp16 mean = average.lower(average(average.lift(fp16{1.f}), average.lift(fp16{2.f})));
    CHECK(float(mean) == 0.75f);
    CHECK(scaled.lift(bf16{3.f}) == 1.5f);

    constexpr rounded_once<plus, double> wide;
    const float tiny = wide.lower(wide(wide.lift(16777216.f), wide(wide.lift(1.f), wide.lift(1.f))));
    CHECK(tiny == 16777218.f);
    const bf16 nan = sum.lower(sum.lift(bf16::from_bits(0xffd5)));
    CHECK(nan.bits() == 0xffd5); // only a combine makes it canonical
}

TEST_CASE("rounded_once lifts and lowers many as it does one", "[rounded_once]") {
    const rounded_once<> op{.before = 3.f, .after = 0.1f};
    std::vector<fp8_e5m2> values(100), back(100);
    for (std::size_t i = 0; i != 100; ++i) values[i] = fp8_e5m2(static_cast<float>(i) - 50.f);
    std::vector<float> states(100);
    op.lift_all(std::span<const fp8_e5m2>(values), std::span(states));
    op.lower_all(std::span<const float>(states), std::span(back));
    for (std::size_t i = 0; i != 100; ++i) {
        const fp8_e5m2 one = op.lower(op.lift(values[i]));
        if (states[i] != op.lift(values[i]) || one.bits() != back[i].bits()) FAIL("element " << i);
    }
}

template <class T>
bool same_bits(const T& a, const T& b) {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// Combines many at once, from any address and into one of the operands, and does the same one by one.
template <class T, class O>
void many_is_one_by_one(const O& op) {
    using state = state_of<O, T>;
    for (const std::size_t size : {2u, 3u, 9u}) {
        for (const std::size_t count : {0u, 1u, 63u, 64u, 1023u, 1024u, 1025u, 3000u}) {
            for (const std::size_t shift : {std::size_t{0}, std::size_t{1}}) {
                std::vector<std::vector<std::byte>> lists(size, std::vector<std::byte>(count * sizeof(T) + 1));
                std::vector<const std::byte*> operands;
                std::vector<T> expected(count);
                for (std::size_t i = 0; i != count; ++i) {
                    state sum{};
                    for (std::size_t k = 0; k != size; ++k) {
                        const float value = static_cast<float>((i * 7 + k * 13) % 101) / 64 + 1;
                        T x = T(i % 3 == 0 ? -value : value);
                        if (i % 50 == 49 && k == i % size) x = T(std::numeric_limits<float>::quiet_NaN());
                        std::memcpy(lists[k].data() + shift + i * sizeof(T), &x, sizeof x);
                        sum = k == 0 ? op.lift(x) : op(sum, op.lift(x));
                    }
                    expected[i] = op.lower(sum);
                }
                for (std::vector<std::byte>& one : lists) operands.push_back(one.data() + shift);
                std::byte* const into = lists[size / 2].data() + shift;
                op.template combine_many<T>(operands.data(), size, into, count);
                for (std::size_t i = 0; i != count; ++i) {
                    T made;
                    std::memcpy(&made, into + i * sizeof(T), sizeof made);
                    if (!same_bits(made, expected[i]))
                        FAIL("element " << i << " of " << count << ", from " << size << ", shift " << shift);
                }
            }
        }
    }
}

TEST_CASE("rounded_once combines many at once as it does one by one", "[rounded_once]") {
    many_is_one_by_one<bf16>(rounded_once<>{.before = 3.f, .after = 0.1f});
    many_is_one_by_one<fp16>(rounded_once{});
    many_is_one_by_one<fp16>(rounded_once<max>{.after = 0.5f});
    many_is_one_by_one<fp8_e5m2>(rounded_once{});
    many_is_one_by_one<fp8_e4m3>(rounded_once<multiplies>{});
    many_is_one_by_one<float>(rounded_once<plus, double>{.after = 0.1});
}

TEST_CASE("rounded_once is named by its op and its state", "[rounded_once]") {
    CHECK(op_identity<rounded_once<>>() != op_identity<plus>());
    CHECK(op_identity<rounded_once<>>() != op_identity<rounded_once<multiplies>>());
    CHECK(op_identity<rounded_once<>>() != op_identity<rounded_once<plus, double>>());
    CHECK(rounded_once<>{}.rounds_once_anyway(2));
    CHECK_FALSE(rounded_once<>{}.rounds_once_anyway(3));
    CHECK_FALSE(rounded_once<>{.after = 0.5f}.rounds_once_anyway(2));
}

} // namespace
