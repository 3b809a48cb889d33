// SPDX-License-Identifier: BSL-1.0
// Why calls of a communicator are passed on to the host. All its ranks find the same.
#ifndef BOUGH_TOOLS_MPI_REASON_HPP
#define BOUGH_TOOLS_MPI_REASON_HPP

#include <cstdint>

namespace under_mpi {

enum class reason : std::uint8_t {
    none, // they are taken
    not_started,
    other_job, // a rank is not in MPI_COMM_WORLD
    too_many,  // no number for another communicator is left
    no_memory, // a rank had none for bough's part of the communicator
    inter,     // an intercommunicator
    alone,     // of one rank
    host_only, // a collective that bough does not have
    of_host,   // the MPI itself may make it
    first,     // it is nonblocking, and there was no blocking one before
    large,     // a count is more than an int holds
    wide,      // it has a count of MPI_Count for each rank
    count_     // how many there are
};
const char* text_of(reason why) noexcept;

} // namespace under_mpi

#endif
