// SPDX-License-Identifier: BSL-1.0
// What BOUGH_MPI=check lets pass: results that differ only because elements were combined in another
// order, which MPI leaves open.
#ifndef BOUGH_TOOLS_MPI_LIKENESS_HPP
#define BOUGH_TOOLS_MPI_LIKENESS_HPP

#include "frame.hpp"
#include "host.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mpi.h>
#include <vector>

namespace under_mpi {

// How great the numbers are that ranks give to an op, as logarithms: sums may cancel, so the result alone does
// not say how far rounding reaches. Of each part of the vector the greatest counts, of all ranks.
struct magnitudes {
    // MPICH 4.0.2 takes numbers beyond 0x7fffffff for negative ones when it looks for the greatest.
    static constexpr std::uint32_t none = 0, infinite = 0x7ffffffe, not_a_number = 0x7fffffff;
    std::array<std::uint32_t, 64> of_parts{};
    std::size_t elements = 0; // of the vector
    std::size_t ranks = 1;

    // Of what an element of the result is made; all parts may be, if the result is not as long as the vector.
    std::uint32_t of(std::size_t element, std::size_t results) const noexcept;
    std::size_t part_of(std::size_t element) const noexcept {
        return element / ((elements + of_parts.size() - 1) / of_parts.size());
    }
};
magnitudes magnitudes_of(const blocks& given, const shape& s, MPI_Op op) noexcept;

// rounding: the results may be right or wrong.
enum class likeness : std::uint8_t { same, rounding, different };
struct verdict {
    likeness is = likeness::same;
    std::size_t at = 0;   // the byte that differs
    const char* why = ""; // of rounding
};

// Two results of an op, packed, of elements of `size` bytes; MPI_OP_NULL: nothing was combined. `given`: of all
// ranks.
verdict compare_results(MPI_Op op, MPI_Datatype type, std::size_t size, const magnitudes& given,
                        const std::vector<std::byte>& a, const std::vector<std::byte>& b);

} // namespace under_mpi

#endif
