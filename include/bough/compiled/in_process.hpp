// SPDX-License-Identifier: BSL-1.0
// What the compiled form holds of communicators of ranks that are threads. bough/transport/in_process.hpp includes it.
#ifndef BOUGH_COMPILED_IN_PROCESS_HPP
#define BOUGH_COMPILED_IN_PROCESS_HPP

#include <bough/compiled/communicator.hpp>
#include <bough/core/config.hpp>
#include <bough/transport/in_process.hpp>

namespace bough::inline BOUGH_ABI {

BOUGH_COMPILED_COMMUNICATOR(in_process::endpoint)

} // namespace bough

#endif
