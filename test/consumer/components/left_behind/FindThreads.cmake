# SPDX-License-Identifier: BSL-1.0
# Not found, and its target is there all the same: CMake's own FindMPI ends so where no MPI is installed.
if(NOT TARGET Threads::Threads)
    add_library(Threads::Threads INTERFACE IMPORTED)
endif()
set(Threads_FOUND FALSE)
