// SPDX-License-Identifier: BSL-1.0
// What the compiled form holds of the communicators over in_process. Include bough/transport/in_process.hpp;
// it includes this header where the compiled form is used.
#ifndef BOUGH_COMPILED_IN_PROCESS_HPP
#define BOUGH_COMPILED_IN_PROCESS_HPP

#include <bough/compiled/communicator.hpp>
#include <bough/core/config.hpp>
#include <bough/transport/in_process.hpp>

namespace bough::inline BOUGH_ABI {

BOUGH_COMPILED_COMMUNICATOR(in_process::endpoint)

#if defined(BOUGH_COMPILED_TEMPLATE)
BOUGH_COMPILED_TEMPLATE void in_process::run_ranks<0>(void*, void (*)(void*, endpoint&&));
BOUGH_COMPILED_TEMPLATE void in_process::endpoint::leave<0>();
#endif

} // namespace bough

#endif
