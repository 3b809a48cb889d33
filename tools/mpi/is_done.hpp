// SPDX-License-Identifier: BSL-1.0
// is_done: whether a function ended without an exception, where a lack of memory is told in another way.
#ifndef BOUGH_TOOLS_MPI_IS_DONE_HPP
#define BOUGH_TOOLS_MPI_IS_DONE_HPP

#include <exception>

namespace under_mpi {

// False: no memory was left.
template <class F>
bool is_done(const F& f) noexcept {
    try {
        f();
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

} // namespace under_mpi

#endif
