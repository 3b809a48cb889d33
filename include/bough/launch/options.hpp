// SPDX-License-Identifier: BSL-1.0
// The options of bough::launch().
#ifndef BOUGH_LAUNCH_OPTIONS_HPP
#define BOUGH_LAUNCH_OPTIONS_HPP

#include <bough/core/deadline.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

struct launch_options {
    std::uint64_t timeout_ns = forever; // for the whole job; then the ranks that still run are killed
    std::uint64_t grace_ns = forever;   // for the others once a rank has failed; then they are killed
    // Each line of a rank's output, up to 64 KiB of it, begins with "[rank] ".
    bool prefix_output = false;
};

} // namespace bough

#endif
