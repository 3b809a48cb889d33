// SPDX-License-Identifier: BSL-1.0
// What the compiled form holds of the communicators over shared_memory. Include bough/transport/shared_memory.hpp;
// it includes this header where the compiled form is used.
#ifndef BOUGH_COMPILED_SHARED_MEMORY_HPP
#define BOUGH_COMPILED_SHARED_MEMORY_HPP

#include <bough/compiled/communicator.hpp>
#include <bough/core/config.hpp>
#include <bough/transport/shared_memory.hpp>

namespace bough::inline BOUGH_ABI {

BOUGH_COMPILED_COMMUNICATOR(shared_memory)

} // namespace bough

#endif
