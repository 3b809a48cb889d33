// SPDX-License-Identifier: BSL-1.0
// What mpich_counts.cpp needs to know of a communicator before it looks at a call's arguments.
#ifndef BOUGH_TOOLS_MPI_MPICH_COUNTS_HPP
#define BOUGH_TOOLS_MPI_MPICH_COUNTS_HPP

#include <mpi.h>

namespace under_mpi {

// Of size 0: its calls go to MPICH, and so do those of one with two groups.
struct seen_comm {
    int rank = 0, size = 0;
};
seen_comm seen(MPI_Comm comm) noexcept;

} // namespace under_mpi

#endif
