// SPDX-License-Identifier: BSL-1.0
// limb_sum: the exact sum of floats or doubles, as an Op that adds 64-bit integers and carries nothing.
//
//   allreduce(comm, std::span(x), limb_sum{})                  doubles in, doubles out: lifted and lowered inside
//   auto mine = limb_sum{}.lift(std::span(many));              limb_state<f64_bits>
//   allreduce(comm, std::span(&mine, 1), limb_sum{})           a sum over all elements of all ranks
//   double sum = limb_sum{}.lower(mine);
//
// It gives the same result as exact_sum, bit for bit, but uses only what the simplest NIC can do:
// 68 (float: 11) integer additions, which may come in any order. States are twice as large, and
// 2^31 of them can be added (bough/op/limb_state.hpp). limb_state<f16_bits>::of makes states of a
// format without a C++ type.
#ifndef BOUGH_OP_LIMB_SUM_HPP
#define BOUGH_OP_LIMB_SUM_HPP

#include <bough/concepts/op.hpp>
#include <bough/op/detail/fixed_point.hpp>
#include <bough/op/detail/limbs.hpp>
#include <bough/op/limb_state.hpp>
#include <bough/op/soft_ops.hpp>
#include <bough/op/traits.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

namespace detail {
template <class S>
inline constexpr bool is_limb_state_v = false;
template <class F>
inline constexpr bool is_limb_state_v<limb_state<F>> = true;
} // namespace detail

struct limb_sum {
    template <detail::binary_float T>
    using state_type = limb_state<detail::bits_format<T>>;

    template <class F>
    constexpr limb_state<F> operator()(const limb_state<F>& a, const limb_state<F>& b) const noexcept {
        limb_state<F> sum = a;
        sum += b;
        return sum;
    }
    // Without a copy; `out` may be either operand.
    template <class F>
    constexpr void combine(std::span<const limb_state<F>> lower, std::span<const limb_state<F>> upper,
                           std::span<limb_state<F>> out) const noexcept {
        for (std::size_t i = 0; i != out.size(); ++i) {
            for (unsigned k = 0; k != limb_state<F>::size; ++k) out[i].word[k] = lower[i].word[k] + upper[i].word[k];
        }
    }

    template <detail::binary_float T>
    constexpr state_type<T> lift(T x) const noexcept {
        return state_type<T>::of(std::bit_cast<detail::bits_of<T>>(x));
    }
    // The sum of many, normalised: it counts as one where it is added.
    template <class U, std::size_t Extent>
    requires detail::binary_float<std::remove_const_t<U>>
    constexpr auto lift(std::span<U, Extent> many) const noexcept {
        return detail::limbs_of(std::span<const std::remove_const_t<U>>(many));
    }
    // Gives a float or a double, as the state's format says.
    template <class F>
    requires(std::same_as<F, f64_bits> ||
             std::same_as<F, f32_bits>) constexpr auto lower(const limb_state<F>& state) const noexcept {
        return std::bit_cast<std::conditional_t<std::same_as<F, f64_bits>, double, float>>(state.rounded());
    }

    template <class S>
    requires detail::is_limb_state_v<S>
    static constexpr S identity() noexcept { return {}; }

    friend constexpr bool operator==(limb_sum, limb_sum) = default;
};

template <>
inline constexpr bool is_commutative_v<limb_sum> = true;
template <class S>
inline constexpr bool is_exact_v<limb_sum, S> = detail::is_limb_state_v<S>;
template <class S>
inline constexpr bool is_integer_only_v<limb_sum, S> = detail::is_limb_state_v<S>;
template <>
inline constexpr std::uint64_t op_id<limb_sum> = hash_name("bough.limb_sum");
template <class F>
inline constexpr type_signature type_id<limb_state<F>> = {sizeof(limb_state<F>), type_category::other,
                                                          hash_name("bough.limb_state") ^ detail::format_id<F>};

} // namespace bough

#endif
