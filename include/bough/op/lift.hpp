// SPDX-License-Identifier: BSL-1.0
// LiftedOp: an op whose messages are not what the user holds: values are lifted into states, states
// are combined.
//
//   typename O::template state_type<T>    what travels; O is an Op on it
//   op.lift(x)      -> state_type<T>      one value
//   op.lower(state) -> T                  the result
// A front door given such an op and a span of T lifts, combines and lowers. If you keep states of
// your own, call it with a span of them: there the op is an ordinary one.
//
// BlockwiseOp: an op whose messages are blocks of encoded values, which all ranks contribute and their owner
// combines at once (quantised_sum, bough/op/quantised_sum.hpp):
//   O::block_values, O::block_bytes, O::blocks_of(n)     a block: so many values, as so many bytes; how many
//                                                        blocks n values need
//   op.encode(values, blocks)
//   op.decode(blocks, values, alone)                     alone: nothing was combined
//   op.combine_blocks(operands, size, out, n)            what `size` ranks contribute to n blocks
//   op.hash_of_values()                                  HoldsNumbers (bough/op/identity.hpp)
// None of them throws.
#ifndef BOUGH_OP_LIFT_HPP
#define BOUGH_OP_LIFT_HPP

#include <bough/concepts/op.hpp>
#include <bough/op/identity.hpp>
#include <bough/op/wire.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI {

template <class O, class T>
concept LiftedOp = !Op<O, T> && requires(const O& op, const T& x, const typename O::template state_type<T>& state) {
    requires Op<O, typename O::template state_type<T>>;
    requires WireType<typename O::template state_type<T>>;
    { op.lift(x) } -> std::convertible_to<typename O::template state_type<T>>;
    { op.lower(state) } -> std::convertible_to<T>;
};

template <class O, class T>
concept BlockwiseOp = !Op<O, T> && requires(const O& op, std::span<const T> in, std::span<T> out, std::byte* blocks,
                                            const std::byte* const* operands, std::size_t n) {
    requires O::block_values >= 1 && O::block_bytes >= 1;
    { O::blocks_of(n) } -> std::same_as<std::size_t>;
    requires HoldsNumbers<O>;
    { op.encode(in, blocks) }
    noexcept;
    { op.decode(blocks, out, true) }
    noexcept;
    { op.combine_blocks(operands, n, blocks, n) }
    noexcept;
};

// The state that O has for elements of type T.
template <class O, class T>
requires LiftedOp<O, T>
using state_of = typename O::template state_type<T>;

} // namespace bough

#endif
