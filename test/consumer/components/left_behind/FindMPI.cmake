# SPDX-License-Identifier: BSL-1.0
# As FindThreads.cmake, beside this file.
add_library(MPI::MPI_CXX INTERFACE IMPORTED)
set(MPI_FOUND FALSE)
