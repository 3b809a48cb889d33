// SPDX-License-Identifier: BSL-1.0
// bough run over composite: shared memory within nodes, TCP between them.
#include "party.hpp"

#include "parse.hpp"

#include <string>
#include <utility>

#if defined BOUGH_TOOL_HAS_TCP && defined BOUGH_TOOL_HAS_SHARED_MEMORY
#include "party_of.hpp"
#include <bough/transport/composite_tcp.hpp>

std::unique_ptr<cli::party> cli::join_composite(bough::job job, bough::rank_t nodes) {
    bough::composite_options options;
    if (nodes != 0) options.node = "node " + std::to_string(std::uint64_t{job.rank()} * nodes / job.size());
    return std::make_unique<party_of<bough::shared_memory_tcp>>(bough::make_composite(job, options));
}
#else
std::unique_ptr<cli::party> cli::join_composite(bough::job, bough::rank_t) {
    throw usage_error("--transport", "this bough was built without composite, which needs Linux, Boost and OpenSSL");
}
#endif
