// SPDX-License-Identifier: BSL-1.0
// BOUGH_MPI=check: the host does each call first; then bough does it on the same data, and the results
// are compared.
#ifndef BOUGH_TOOLS_MPI_CHECK_HPP
#define BOUGH_TOOLS_MPI_CHECK_HPP

#include "collectives.hpp"
#include "frame.hpp"
#include "likeness.hpp"
#include "report.hpp"

#include <cstddef>
#include <exception>
#include <mpi.h>
#include <vector>

namespace under_mpi {

// What a call gives this rank.
struct outcome {
    blocks result{};  // no data: nothing
    blocks changed{}; // what must be put back before the call is made again; no data: the result
    blocks given{};   // what the rank gives to the op
    MPI_Op op = MPI_OP_NULL;
    std::size_t bytes = 0; // that this rank gave, or got where it gave none
};

// The host has made a call, and on this rank it has ended well, or not. Collective. If it has on some
// ranks only, says so and ends the program: the other ranks would wait in bough's call for those that
// have an error already. An error class: that could not be found out.
// `given`: of this rank, then the greatest.
int compare_ends(const place& at, collective which, MPI_Comm comm, bool is_well, magnitudes& given);

class comparison {
public:
    // Keeps what is there before the call. If no memory is left for that, says so and ends the program.
    explicit comparison(const outcome& of) noexcept;
    // For compare_ends().
    magnitudes& given() noexcept { return given_; }
    // The host has made the call: keeps its result, and puts back what was there.
    void host_has_run() noexcept;
    // Bough has made the call. If the result is another, says so; and ends the program, unless that may be
    // the order in which elements were combined. If another copy did not fit into memory, says that
    // nothing was compared.
    void compare(collective which, MPI_Comm comm) noexcept;

private:
    void find_difference(collective which, MPI_Comm comm) const;
    template <class F>
    void guarded(const F& f) noexcept {
        if (of_.result.type == MPI_DATATYPE_NULL || !has_memory_) return;
        try {
            f();
        } catch (const std::exception&) { // no memory is left; the other ranks make the call, so this one must, too
            has_memory_ = false;
        }
    }

    outcome of_;
    magnitudes given_{};
    shape shape_{};
    bool has_memory_ = true;
    std::vector<std::byte> before_, hosts_;
};

} // namespace under_mpi

#endif
