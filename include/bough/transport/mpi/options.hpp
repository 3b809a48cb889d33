// SPDX-License-Identifier: BSL-1.0
// The options of bough::mpi.
#ifndef BOUGH_TRANSPORT_MPI_OPTIONS_HPP
#define BOUGH_TRANSPORT_MPI_OPTIONS_HPP

#include <bough/core/rank.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

struct mpi_options {
    // Most messages from one rank to another that are not used up; 1 to 4096.
    std::uint32_t window = 32;
    // Longer payloads stay with the sender until they are taken; at most 1 MiB.
    std::uint32_t eager_bytes = 2048;
    // If ranks give different numbers, the least counts.
};

} // namespace bough

#endif
