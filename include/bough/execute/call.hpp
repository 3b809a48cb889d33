// SPDX-License-Identifier: BSL-1.0
// A call: what one operation is given besides its schedule. Data, element size and combine function, without types.
#ifndef BOUGH_EXECUTE_CALL_HPP
#define BOUGH_EXECUTE_CALL_HPP

#include <bough/core/slice.hpp>
#include <bough/op/any_op.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bough {

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
};

} // namespace bough

#endif
