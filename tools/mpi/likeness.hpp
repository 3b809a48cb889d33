// SPDX-License-Identifier: BSL-1.0
// What BOUGH_MPI=check lets pass: results that differ only because elements were combined in another
// order, which MPI leaves open.
#ifndef BOUGH_TOOLS_MPI_LIKENESS_HPP
#define BOUGH_TOOLS_MPI_LIKENESS_HPP

#include "frame.hpp"
#include "host.hpp"

#include <cstddef>
#include <cstdint>
#include <mpi.h>
#include <vector>

namespace under_mpi {

// How great the numbers are that a rank gives to an op: a logarithm. The greatest of all ranks counts.
// Sums may cancel, so the result alone does not say how far rounding reaches.
struct magnitude {
    // MPICH 4.0.2 takes numbers beyond 0x7fffffff for negative ones when it looks for the greatest.
    static constexpr std::uint32_t none = 0, not_a_number = 0x7fffffff;
    std::uint32_t is = none;
};
magnitude magnitude_of(const blocks& given, const shape& s, MPI_Op op) noexcept;

enum class likeness : std::uint8_t { same, rounding, different };

// Two results of an op, packed; MPI_OP_NULL: nothing was combined. `greatest`: of all ranks.
// rounding: they may be right or wrong, as nothing is known of the op or the type, or a number is none.
likeness compare_results(MPI_Op op, MPI_Datatype type, magnitude greatest, const std::vector<std::byte>& a,
                         const std::vector<std::byte>& b);

} // namespace under_mpi

#endif
