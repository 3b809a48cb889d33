// SPDX-License-Identifier: BSL-1.0
// never_destroyed: the one object of a class.
#ifndef BOUGH_TOOLS_MPI_NEVER_DESTROYED_HPP
#define BOUGH_TOOLS_MPI_NEVER_DESTROYED_HPP

#include <array>
#include <cstddef>
#include <new>

namespace under_mpi {

// Made when it is first asked for, and in no memory of the heap, so that no rank can fail to make it.
template <class T>
struct never_destroyed {
    static T& get() {
        alignas(T) static std::array<std::byte, sizeof(T)> memory;
        static T* const only = new (memory.data()) T;
        return *only;
    }
};

} // namespace under_mpi

#endif
