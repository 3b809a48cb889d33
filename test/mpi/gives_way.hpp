// SPDX-License-Identifier: BSL-1.0
// Between MPICH and UCX, whose functions it calls by name. Open MPI gives the processor away while it waits, if told to
// (mpi_yield_when_idle); MPICH does not: ranks that outnumber the processors wait for each other's time slices, minutes.
#ifndef BOUGH_TEST_MPI_GIVES_WAY_HPP
#define BOUGH_TEST_MPI_GIVES_WAY_HPP

#include <dlfcn.h>
#include <thread>

extern "C" unsigned ucp_worker_progress(void* worker) {
    using function = unsigned (*)(void*);
    static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "ucp_worker_progress"));
    const unsigned found = real(worker);
    if (found == 0) std::this_thread::yield();
    return found;
}

#endif
