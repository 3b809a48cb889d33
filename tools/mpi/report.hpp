// SPDX-License-Identifier: BSL-1.0
// Counts of BOUGH_MPI=report: what this rank's calls were, and which were passed on.
#ifndef BOUGH_TOOLS_MPI_REPORT_HPP
#define BOUGH_TOOLS_MPI_REPORT_HPP

#include "reason.hpp"

#include <cstddef>
#include <cstdint>

namespace under_mpi {

enum class collective : std::uint8_t {
    allgather,
    allgatherv,
    allreduce,
    alltoall,
    alltoallv,
    alltoallw,
    barrier,
    bcast,
    exscan,
    gather,
    gatherv,
    reduce,
    reduce_scatter,
    reduce_scatter_block,
    scan,
    scatter,
    scatterv,
    count_
};
const char* name_of(collective which) noexcept; // "allgather"

enum class form : std::uint8_t { blocking, nonblocking, persistent, count_ };

void count_taken(collective which, std::size_t bytes, std::uint64_t ns, form how = form::blocking) noexcept;
void count_passed_on(collective which, reason why, form how = form::blocking) noexcept;
// One line for each collective, on standard error.
void print_report() noexcept;

} // namespace under_mpi

#endif
