// SPDX-License-Identifier: BSL-1.0
// any_op: an op and its element type, chosen at run time, such as an MPI hands over as (MPI_Op,
// MPI_Datatype).
//
// An any_op never owns its op. make_any_op<T>(op) points at `op`, which must outlive the any_op and
// every operation started with it; an op without state is not pointed at, and may end before. A
// runtime may also fill the members itself, around a function of its own; the default traits then
// claim nothing.
#ifndef BOUGH_OP_ANY_OP_HPP
#define BOUGH_OP_ANY_OP_HPP

#include <bough/concepts/op.hpp>
#include <bough/core/contract.hpp>
#include <bough/op/combine.hpp>
#include <bough/op/identity.hpp>
#include <bough/op/traits.hpp>
#include <bough/op/wire.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

// out[i] = op(lower[i], upper[i]) over `count` elements in wire form; `out` may be either operand.
using combine_function = void(const void* state, const std::byte* lower, const std::byte* upper, std::byte* out,
                              std::size_t count);

// out[i] = what the op makes of operands[0][i], ..., operands[size - 1][i], in this order, at once; `out` may
// be any operand. An operand lies at any address.
using combine_many_function = void(const void* state, const std::byte* const* operands, std::size_t size,
                                   std::byte* out, std::size_t count);

// What an op claims about itself on one element type.
struct op_traits {
    bool commutative = false;
    bool exact = false;
    bool idempotent = false;
    bool integer_only = false;
    friend constexpr bool operator==(const op_traits&, const op_traits&) = default;
};

// The traits that O states for T.
template <class O, class T>
requires Op<O, T>
inline constexpr op_traits op_traits_of{is_commutative_v<O>, is_exact_v<O, T>, is_idempotent_v<O>,
                                        is_integer_only_v<O, T>};

struct any_op {
    combine_function* function = nullptr;
    const void* state = nullptr;
    std::size_t element_size = 0; // bytes of one element on the wire; 0: empty
    op_traits traits{};
    std::uint64_t id = 0;  // op_id, with the op's numbers (HoldsNumbers), for the call signature
    type_signature type{}; // type_id, for the call signature

    // False: no op at all; it must not be called. (Not by the function: g++ -fsanitize=undefined
    // refuses to compare the address of one in a constant expression.)
    constexpr explicit operator bool() const noexcept { return element_size != 0; }

    void operator()(const std::byte* lower, const std::byte* upper, std::byte* out, std::size_t count) const {
        function(state, lower, upper, out, count);
    }

    friend constexpr bool operator==(const any_op&, const any_op&) = default;
};

namespace detail {
// What combine_bytes gets as the state of this op.
template <class O>
constexpr const void* op_state_of(const O& op) noexcept {
    return is_stateless_v<O> ? nullptr : static_cast<const void*>(__builtin_addressof(op));
}
} // namespace detail

template <WireType T, Op<T> O>
constexpr any_op make_any_op(const O& op) noexcept {
    if constexpr (std::is_pointer_v<O>) BOUGH_EXPECTS(op != nullptr, "op: its function is null");
    return {&combine_bytes<O, T>,
            detail::op_state_of(op),
            wire_size_v<T>,
            op_traits_of<O, T>,
            detail::with_numbers(op_id<O>, op, wire_size_v<T>),
            type_id<T>};
}

// A temporary with state would be gone before the any_op is used.
template <WireType T, Op<T> O>
requires(!detail::is_stateless_v<O>) constexpr any_op make_any_op(const O&&) = delete;

} // namespace bough

#endif
