// SPDX-License-Identifier: BSL-1.0
// Op: what combines two values of T. `op(lower, upper)`: the left operand comes from the lower rank.
//
//   op(a, b) -> convertible to T          required; associative up to rounding
// Optional:
//   op.identity<T>() -> T                 (as `template <class T> static constexpr T identity()`)
//   op.combine(lower, upper, out)         a kernel over spans of equal length; `out` may be either operand
// and the traits is_commutative_v<O>, is_exact_v<O, T>, is_idempotent_v<O>, is_integer_only_v<O>: false unless
// specialised, since bough cannot see into a callable and a wrong guess would be a wrong result.
#ifndef BOUGH_CONCEPTS_OP_HPP
#define BOUGH_CONCEPTS_OP_HPP

#include <bough/core/config.hpp>

#include <concepts>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

namespace detail {
// What an Op needs, by name; explain_op uses the same names.
template <class O, class T>
concept TakesTwo = std::is_invocable_v<const O&, const T&, const T&>;
template <class O, class T>
concept GivesElement = std::convertible_to<std::invoke_result_t<const O&, const T&, const T&>, T>;
} // namespace detail

template <class O, class T>
concept Op = detail::TakesTwo<O, T> && detail::GivesElement<O, T>;

// An Op with a span kernel of its own.
template <class O, class T>
concept KernelOp = Op<O, T> &&
    requires(const O& op, std::span<const T> lower, std::span<const T> upper, std::span<T> out) {
    op.combine(lower, upper, out);
};

// op(a, b) == op(b, a), bit for bit: the plan may swap operands.
template <class O>
inline constexpr bool is_commutative_v = false;
// Associative bit for bit on T (integers, min, max, and, or): any bracket gives the same bits.
template <class O, class T>
inline constexpr bool is_exact_v = false;
// op(a, a) == a: a contribution may be counted twice.
template <class O>
inline constexpr bool is_idempotent_v = false;
// Needs no floating point: can run on a NIC without an FPU.
template <class O, class T>
inline constexpr bool is_integer_only_v = false;

} // namespace bough

#endif
