// SPDX-License-Identifier: BSL-1.0
// A call: what one operation is given besides its schedule. Data, element size and combine function, without types.
#ifndef BOUGH_ENGINE_CALL_HPP
#define BOUGH_ENGINE_CALL_HPP

#include <bough/core/slice.hpp>
#include <bough/op/any_op.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI {

struct call {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::uint64_t count = 0; // elements of the whole vector
    std::uint32_t element_bytes = 0;
    combine_function* combine = nullptr; // null: the collective combines nothing
    const void* combine_state = nullptr;
    // Where a rank's memory holds only some blocks of the vector: the block that it begins with.
    block_t input_block = 0;
    block_t output_block = 0;
    // The element at which each block begins, and the end: as many as blocks, plus one; the last is `count`. Empty: the
    // elements are spread evenly. Equal on all ranks. Read until the operation has started.
    std::span<const std::uint64_t> offsets{};
    // Of an alltoall: the blocks are a matrix, `row` of them a row. Input is the row that begins with input_block, output
    // the column that begins with output_block, its blocks one behind the other. 0: no matrix.
    block_t row = 0;
    // And where its blocks differ in length: the elements at which those of the row begin in the input and those of the
    // column in the output, and the ends: row + 1 each. A rank knows no others, so the plan must be direct().
    std::span<const std::uint64_t> row_offsets{}, column_offsets{};
};

} // namespace bough

#endif
