// SPDX-License-Identifier: BSL-1.0
// What the parts of one rank of bough::mpi know of their group.
#ifndef BOUGH_TRANSPORT_MPI_GROUP_HPP
#define BOUGH_TRANSPORT_MPI_GROUP_HPP

#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/transport/mpi/options.hpp>

#include <cstdint>
#include <mpi.h>

namespace bough::inline BOUGH_ABI::detail {

struct mpi_group {
    MPI_Comm comm = MPI_COMM_NULL; // the transport's own; its errors are returned
    rank_t rank = 0, size = 0;
    std::uint32_t cores = 1;     // that the ranks share, on all nodes
    bool oversubscribed = false; // this node has more ranks than cores
    mpi_options options{};       // the least of all ranks'
};

} // namespace bough::detail

#endif
