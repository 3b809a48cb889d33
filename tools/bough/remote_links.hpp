// SPDX-License-Identifier: BSL-1.0
// Two ranks that write into each other's memory, over a medium that is chosen by name, and what is measured between them.
#ifndef BOUGH_TOOLS_REMOTE_LINKS_HPP
#define BOUGH_TOOLS_REMOTE_LINKS_HPP

#include <bough/measure/one_sided.hpp>
#include <bough/measure/remote_writes.hpp>

#include <string>

namespace cli {

// Of remote writes: in_process (threads), shared_memory, fabric (processes). `provider` as fi_info names it; empty: libfabric's
// choice. Throws usage_error for a name that there is not, or that this bough was built without, and for a provider that does
// not go with it; bough::error if a rank fails.
struct remote_medium {
    std::string transport = "shared_memory";
    std::string provider{};
    const char* argument = "--transport"; // which names the transport
};

// What rank 0 gets; without an error.
bough::remote_write_timing measure_over(const remote_medium&, const bough::remote_write_timing_options& = {});
bough::one_sided_tuning tune_over(const remote_medium&, const bough::one_sided_options&,
                                  const bough::one_sided_tune_options& = {});

} // namespace cli

#endif
