// SPDX-License-Identifier: BSL-1.0
// A call: what one operation needs besides its schedule: data, element size and combine function,
// without types.
#ifndef BOUGH_ENGINE_CALL_HPP
#define BOUGH_ENGINE_CALL_HPP

#include <bough/core/config.hpp>
#include <bough/core/slice.hpp>
#include <bough/op/any_op.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI {

// A block of the output, and its place there: how many blocks lie before it.
struct placed_block {
    block_t block = 0, place = 0;
    friend constexpr bool operator==(const placed_block&, const placed_block&) = default;
};

struct call {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::uint64_t count = 0; // elements of the whole vector
    std::uint32_t element_bytes = 0;
    combine_function* combine = nullptr; // null: the collective combines nothing
    const void* combine_state = nullptr;
    // If given, it combines what all ranks contribute to a block at once, in place of `combine`. Pre: the
    // plan combines in series (bough/schedule/series.hpp).
    combine_many_function* combine_many = nullptr;
    // The first block in each memory, if it holds only some blocks of the vector.
    block_t input_block = 0;
    block_t output_block = 0;
    // The elements at which the blocks begin, and the end: one more than there are blocks; the last
    // is `count`. Empty: the elements are spread evenly. Equal on all ranks. Read until the
    // operation has started.
    std::span<const std::uint64_t> offsets{};
    // If not 0: the offsets are those of so many blocks, and further blocks have the same lengths, again
    // and again. So a rank knows the lengths of the blocks of others.
    block_t repeat = 0;
    // For an alltoall, the blocks are a matrix with `row` blocks in a row. The input is the row
    // that begins with input_block. The output is the column that begins with output_block, its
    // blocks one behind the other. 0: no matrix.
    block_t row = 0;
    // If the blocks of an alltoall differ in length: the elements at which the blocks of the row
    // begin in the input, and those of the column in the output, each with the end: row + 1 numbers
    // each. Unless they repeat, a rank knows no other lengths, so the plan must be direct().
    // row_offsets alone, in the place of `offsets`: those of a vector whose lengths are right on this
    // rank only for the blocks that it has itself. The plan must be direct() here, too.
    std::span<const std::uint64_t> row_offsets{}, column_offsets{};
    // For a neighbourhood collective: the input is the row that begins with input_block, and these are
    // the blocks of the output, each once, in the order of their numbers. Offsets as above,
    // column_offsets by place. Other places of the output are not touched. Read until the operation has
    // started.
    std::span<const placed_block> placed{};
    // The blocks of a matrix are slots, in which blocks of other lengths lie: matches no other alltoall.
    bool in_slots = false;
};

// Where the blocks of the vector begin; empty: spread evenly.
constexpr std::span<const std::uint64_t> offsets_of(const call& c) noexcept {
    return c.column_offsets.empty() && !c.row_offsets.empty() ? c.row_offsets : c.offsets;
}

// How a call combines.
struct combine_call {
    combine_function* function = nullptr;
    const void* state = nullptr;
    std::uint32_t element_bytes = 0;
    combine_many_function* many = nullptr;

    // Combines `bytes` bytes of elements. Nothing, if there are none.
    BOUGH_ALWAYS_INLINE void operator()(const std::byte* lower, const std::byte* upper, std::byte* out,
                                        std::uint64_t bytes) const {
        if (bytes != 0) function(state, lower, upper, out, static_cast<std::size_t>(bytes / element_bytes));
    }
};
// The part of a call that combines elements.
constexpr combine_call combine_of(const call& c) noexcept {
    return {c.combine, c.combine_state, c.element_bytes, c.combine_many};
}

} // namespace bough

#endif
