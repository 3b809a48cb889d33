// SPDX-License-Identifier: BSL-1.0
// The names of collectives, by the kind that stands in call signatures and in a status.
#ifndef BOUGH_CORE_COLLECTIVE_NAME_HPP
#define BOUGH_CORE_COLLECTIVE_NAME_HPP

#include <bough/core/config.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

inline constexpr std::uint8_t collective_kinds = 16; // kinds are less than this; 0 is none

// The name of a kind: "allreduce" for goal::allreduce::kind. Empty if there is no such kind.
constexpr const char* collective_name(std::uint8_t kind) noexcept {
    constexpr const char* names[collective_kinds] = {"",
                                                     "reduce",
                                                     "allreduce",
                                                     "broadcast",
                                                     "barrier",
                                                     "gather",
                                                     "scatter",
                                                     "multicast",
                                                     "scan",
                                                     "exscan",
                                                     "reduce_scatter",
                                                     "allgather",
                                                     "alltoall",
                                                     "multicasts",
                                                     "neighbour_allgather",
                                                     "neighbour_alltoall"};
    return kind < collective_kinds ? names[kind] : "";
}

// Where others have a collective, an instance of a NIC program has this kind. The number of the
// operation names the program and the instance.
inline constexpr std::uint8_t program_kind = 255;
struct program_instance {
    std::uint32_t stream = 0, instance = 0; // their low 11 and 20 bits

    constexpr std::uint32_t packed() const noexcept {
        return 0x8000'0000u | (stream & 0x7ffu) << 20 | (instance & 0xf'ffffu);
    }
    static constexpr program_instance unpacked(std::uint32_t operation) noexcept {
        return {operation >> 20 & 0x7ffu, operation & 0xf'ffffu};
    }
};

} // namespace bough

#endif
