// SPDX-License-Identifier: BSL-1.0
// Open MPI's own headers, which are C.
#ifndef BOUGH_TOOLS_MPI_OPEN_MPI_HEADERS_HPP
#define BOUGH_TOOLS_MPI_OPEN_MPI_HEADERS_HPP

#include <mpi.h>

extern "C" {
#include <ompi_config.h>
#include <opal/threads/thread_usage.h>
// request.h gives it a void* for a void**, which is no C++.
inline bool bough_compare_exchange(volatile intptr_t* at, void* expected, void* value) {
    return opal_thread_compare_exchange_strong_ptr(at, static_cast<void**>(expected), value);
}
#undef OPAL_ATOMIC_COMPARE_EXCHANGE_STRONG_PTR
#define OPAL_ATOMIC_COMPARE_EXCHANGE_STRONG_PTR(at, expected, value)                                                   \
    bough_compare_exchange((volatile intptr_t*)(at), expected, value)
#include <ompi/communicator/communicator.h>
#include <ompi/constants.h>
#include <ompi/datatype/ompi_datatype.h>
#include <ompi/mca/coll/base/base.h>
#include <ompi/mca/coll/coll.h>
#include <ompi/request/request.h>
#include <opal/runtime/opal_progress.h>
}

#endif
