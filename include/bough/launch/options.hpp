// SPDX-License-Identifier: BSL-1.0
// What may be said about a launch.
#ifndef BOUGH_LAUNCH_OPTIONS_HPP
#define BOUGH_LAUNCH_OPTIONS_HPP

#include <bough/core/deadline.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

struct launch_options {
    std::uint64_t timeout_ns = forever; // of the whole job: then the ranks that are left are killed
    std::uint64_t grace_ns = forever;   // once a rank has failed: then the others are killed
    bool prefix_output = false;         // each line of a rank's output begins with "[rank] "; at most 64 KiB of it
};

} // namespace bough

#endif
