// SPDX-License-Identifier: BSL-1.0
// The names of collectives, by the kind that stands in call signatures and in a status.
#ifndef BOUGH_CORE_COLLECTIVE_NAME_HPP
#define BOUGH_CORE_COLLECTIVE_NAME_HPP

#include <bough/core/config.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

inline constexpr std::uint8_t collective_kinds = 14; // kinds are less than this; 0 is none

// "allreduce" of goal::allreduce::kind; empty if there is no such kind.
constexpr const char* collective_name(std::uint8_t kind) noexcept {
    constexpr const char* names[collective_kinds] = {
        "",          "reduce", "allreduce", "broadcast",      "barrier",   "gather",   "scatter",
        "multicast", "scan",   "exscan",    "reduce_scatter", "allgather", "alltoall", "multicasts"};
    return kind < collective_kinds ? names[kind] : "";
}

} // namespace bough

#endif
