// SPDX-License-Identifier: BSL-1.0
// exact_sum: the sum of floats or doubles without any rounding on the way, so the same bits from
// every plan and order.
//
//   allreduce(comm, std::span(x), exact_sum{})            doubles in, doubles out: lifted and lowered
//                                                         inside
//   exact_accumulator<double> mine = exact_sum{}.lift(std::span(many));
//   allreduce(comm, std::span(&mine, 1), exact_sum{})     a sum over all elements of all ranks
//   double sum = exact_sum{}.lower(mine);
//
// What travels is the sum itself as an integer multiple of the smallest subnormal, in two's
// complement: 34 words and one of marks for double (280 bytes), 6 and one for float (56 bytes).
// Adding integers is associative and commutative, and equal sums have equal states. `lower` rounds
// once, to nearest even: the correctly rounded sum, gradual underflow included; a sum too large for
// T is infinite.
//   NaN, or infinities of both signs     the canonical NaN
//   infinities of one sign               that infinity, whatever the finite numbers are
//   exact zero                           -0 if nothing but -0 was added (or nothing at all), else +0
// Finite intermediate sums never overflow: there is room for 2^63 numbers of the largest size.
// Source: the idea of a fixed-point accumulator as wide as the format is Kulisch's; adding with
// deferred carries is R. M. Neal, "Fast Exact Summation Using Small and Large Superaccumulators",
// arXiv:1505.05571, 2015, section 3. What travels here has no overlap between words: half of Neal's
// bytes, and one form per sum.
#ifndef BOUGH_OP_EXACT_SUM_HPP
#define BOUGH_OP_EXACT_SUM_HPP

#include <bough/concepts/op.hpp>
#include <bough/op/detail/fixed_point.hpp>
#include <bough/op/detail/limbs.hpp>
#include <bough/op/limb_state.hpp>
#include <bough/op/traits.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

// Value-initialised: the sum of nothing.
template <detail::binary_float T>
struct exact_accumulator {
    // The width of the largest finite number, a sign, and 63 bits for the number of summands.
    static constexpr std::size_t size = (detail::float_format<T>::width + 64 + 63) / 64;
    std::array<std::uint64_t, size> words{}; // two's complement, lowest first
    std::uint64_t marks = 0;                 // detail::seen_...

    constexpr exact_accumulator& operator+=(T x) noexcept {
        const detail::amount u = detail::unpack(x);
        marks |= u.marks;
        detail::add_at(words, u);
        return *this;
    }
    constexpr exact_accumulator& operator+=(const exact_accumulator& other) noexcept {
        std::uint64_t carry = 0;
        for (std::size_t i = 0; i != size; ++i) {
            const std::uint64_t sum = words[i] + other.words[i];
            const std::uint64_t carried = sum + carry;
            carry = (sum < other.words[i] ? 1u : 0u) | (carried < sum ? 1u : 0u);
            words[i] = carried;
        }
        marks |= other.marks;
        return *this;
    }

    friend constexpr bool operator==(const exact_accumulator&, const exact_accumulator&) = default;
};

namespace detail {

// Limbs of 32 bits, the last one with its sign, side by side in words.
template <binary_float T>
constexpr exact_accumulator<T> packed(limb_state<bits_format<T>> limbs) noexcept {
    constexpr unsigned last = limb_state<bits_format<T>>::amounts - 1;
    limbs.normalise();
    exact_accumulator<T> sum;
    sum.marks = limbs.marks();
    for (unsigned i = 0; i != last; ++i) sum.words[i / 2] |= limbs.word[i] << (32 * (i % 2));
    sum.words[last / 2] |= limbs.word[last] << (32 * (last % 2));
    const auto above = static_cast<std::int64_t>(limbs.word[last]) >> 32;
    for (std::size_t i = last / 2 + 1; i != sum.size; ++i) sum.words[i] = static_cast<std::uint64_t>(above >> 31);
    if constexpr (last % 2 == 1) sum.words[last / 2 + 1] = static_cast<std::uint64_t>(above);
    return sum;
}

template <class S>
inline constexpr bool is_exact_accumulator_v = false;
template <class T>
inline constexpr bool is_exact_accumulator_v<exact_accumulator<T>> = true;

} // namespace detail

struct exact_sum {
    template <detail::binary_float T>
    using state_type = exact_accumulator<T>;

    template <detail::binary_float T>
    constexpr exact_accumulator<T> operator()(const exact_accumulator<T>& a,
                                              const exact_accumulator<T>& b) const noexcept {
        exact_accumulator<T> sum = a;
        sum += b;
        return sum;
    }
    // Without a copy; `out` may be either operand.
    template <detail::binary_float T>
    constexpr void combine(std::span<const exact_accumulator<T>> lower, std::span<const exact_accumulator<T>> upper,
                           std::span<exact_accumulator<T>> out) const noexcept {
        for (std::size_t i = 0; i != out.size(); ++i) {
            if (out.data() == upper.data()) {
                out[i] += lower[i];
            } else {
                if (out.data() != lower.data()) out[i] = lower[i];
                out[i] += upper[i];
            }
        }
    }

    template <detail::binary_float T>
    constexpr exact_accumulator<T> lift(T x) const noexcept {
        exact_accumulator<T> state;
        state += x;
        return state;
    }
    // The sum of many, faster than one by one.
    template <class U, std::size_t Extent>
    requires detail::binary_float<std::remove_const_t<U>>
    constexpr auto lift(std::span<U, Extent> many) const noexcept {
        using T = std::remove_const_t<U>;
        return detail::packed<T>(detail::limbs_of<T>(std::span<const T>(many)));
    }
    template <detail::binary_float T>
    constexpr T lower(const exact_accumulator<T>& state) const noexcept {
        return detail::round_to_nearest<T>(state.words, state.marks);
    }

    template <class S>
    requires detail::is_exact_accumulator_v<S>
    static constexpr S identity() noexcept { return {}; }

    friend constexpr bool operator==(exact_sum, exact_sum) = default;
};

template <>
inline constexpr bool is_commutative_v<exact_sum> = true;
template <class S>
inline constexpr bool is_exact_v<exact_sum, S> = detail::is_exact_accumulator_v<S>;
// Additions with carry of words: no floating-point unit is needed.
template <class S>
inline constexpr bool is_integer_only_v<exact_sum, S> = detail::is_exact_accumulator_v<S>;
template <>
inline constexpr std::uint64_t op_id<exact_sum> = hash_name("bough.exact_sum");
template <>
inline constexpr type_signature type_id<exact_accumulator<float>> = {
    sizeof(exact_accumulator<float>), type_category::other, hash_name("bough.exact_accumulator.float")};
template <>
inline constexpr type_signature type_id<exact_accumulator<double>> = {
    sizeof(exact_accumulator<double>), type_category::other, hash_name("bough.exact_accumulator.double")};

} // namespace bough

#endif
