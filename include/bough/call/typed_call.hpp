// SPDX-License-Identifier: BSL-1.0
// typed_call: one collective call as the front doors pass it on, its arguments checked; on_bytes() and
// call_of() make it one on bytes.
#ifndef BOUGH_CALL_TYPED_CALL_HPP
#define BOUGH_CALL_TYPED_CALL_HPP

#include <bough/concepts/plan.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/engine/call.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/wire.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// Some blocks of a vector.
struct part {
    block_t first_block = 0;
    std::size_t count = 0; // elements
};

// One collective call, typed: the arguments of a front door without its choice of plan.
template <class T>
struct typed_call {
    dimensions at{};
    const T* in = nullptr;
    T* out = nullptr;
    std::size_t count = 0;
    any_op op{};
    bool commutative = true;
    call_signature signature{};
    rank_t ranks = 0; // how many take part, if the call says so; otherwise 0
    // For gather and scatter: `in` and `out` hold only some blocks.
    bool in_parts = false;
    part in_part{}, out_part{};
    std::span<const std::uint64_t> offsets{}; // where blocks begin, if they differ in length
    bool exact = false;                       // the op is exact on this type
    // For alltoall (bough/engine/call.hpp).
    block_t row = 0;
    std::span<const std::uint64_t> row_offsets{}, column_offsets{};
    // For a neighbourhood collective, besides: what the operation keeps of its places.
    std::span<const placed_block> placed{};
    bool in_slots = false; // the call is one of slots (bough/call/in_slots.hpp)
    block_t repeat = 0;    // the lengths of so many blocks repeat (bough/engine/call.hpp)
    // If the type is known at run time only, T is std::byte, and an element has so many of them.
    std::uint32_t element_bytes = static_cast<std::uint32_t>(wire_size_v<T>);
    // Of an op that combines in series (bough/call/in_series.hpp).
    combine_many_function* combine_many = nullptr;

    // The same call on the bytes of these elements.
    typed_call<std::byte> on_bytes() const noexcept {
        return {at,
                reinterpret_cast<const std::byte*>(in),
                reinterpret_cast<std::byte*>(out),
                count,
                op,
                commutative,
                signature,
                ranks,
                in_parts,
                in_part,
                out_part,
                offsets,
                exact,
                row,
                row_offsets,
                column_offsets,
                placed,
                in_slots,
                repeat,
                element_bytes,
                combine_many};
    }
};

// Is a call on these elements run as one on their bytes? What chooses and runs its plan is compiled once
// for all such types.
template <class T>
inline constexpr bool runs_on_bytes_v = travels_as_bytes_v<T> && !std::same_as<T, std::byte>;

// The untyped form of a typed call, on the same memory: for elements that travel as bytes.
template <class T>
call call_of(const typed_call<T>& typed) noexcept {
    call c;
    c.input = reinterpret_cast<const std::byte*>(typed.in);
    c.output = reinterpret_cast<std::byte*>(typed.out);
    c.count = typed.count;
    c.element_bytes = typed.element_bytes;
    c.combine = typed.op.function;
    c.combine_state = typed.op.state;
    c.combine_many = typed.combine_many;
    c.input_block = typed.in_part.first_block;
    c.output_block = typed.out_part.first_block;
    c.offsets = typed.offsets;
    c.row = typed.row;
    c.row_offsets = typed.row_offsets;
    c.column_offsets = typed.column_offsets;
    c.placed = typed.placed;
    c.in_slots = typed.in_slots;
    c.repeat = typed.repeat;
    return c;
}

} // namespace bough::detail

#endif
