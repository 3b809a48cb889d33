// SPDX-License-Identifier: BSL-1.0
// bough run over shared_memory: processes of one node.
#include "party.hpp"

#include "parse.hpp"

#include <utility>

#ifdef BOUGH_TOOL_HAS_SHARED_MEMORY
#include "party_of.hpp"
#include <bough/transport/shared_memory.hpp>

std::unique_ptr<cli::party> cli::join_shared_memory(bough::job job) {
    return std::make_unique<party_of<bough::shared_memory>>(bough::shared_memory{job});
}
#else
std::unique_ptr<cli::party> cli::join_shared_memory(bough::job) {
    throw usage_error("--transport", "this bough was built without shared_memory, which needs Linux");
}
#endif
