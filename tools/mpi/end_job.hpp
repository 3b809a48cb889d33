// SPDX-License-Identifier: BSL-1.0
// end_job: ends the job after this rank has said why.
#ifndef BOUGH_TOOLS_MPI_END_JOB_HPP
#define BOUGH_TOOLS_MPI_END_JOB_HPP

#include <chrono>
#include <mpi.h>
#include <thread>

namespace under_mpi {

// MPICH's launcher loses what it has not read when it kills the ranks, so it gets a moment.
inline void end_job(MPI_Comm of) noexcept {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    PMPI_Abort(of, 1);
}

} // namespace under_mpi

#endif
