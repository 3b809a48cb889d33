// SPDX-License-Identifier: BSL-1.0
// A call: what one operation is given besides its schedule. Data, element size and combine function, without types.
#ifndef BOUGH_EXECUTE_CALL_HPP
#define BOUGH_EXECUTE_CALL_HPP

#include <bough/op/any_op.hpp>

#include <cstddef>
#include <cstdint>

namespace bough {

struct call {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::uint64_t count = 0; // elements of the whole vector
    std::uint32_t element_bytes = 0;
    combine_function* combine = nullptr; // null: the collective combines nothing
    const void* combine_state = nullptr;
};

} // namespace bough

#endif
