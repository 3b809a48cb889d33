// SPDX-License-Identifier: BSL-1.0
// Which of MPI's own ops and types a handle is.
#ifndef BOUGH_TOOLS_MPI_HANDLES_HPP
#define BOUGH_TOOLS_MPI_HANDLES_HPP

#include <cstdint>
#include <mpi.h>

namespace under_mpi {

enum class known_op : std::uint8_t { none, max, min, sum, prod, land, band, lor, bor, lxor, bxor, maxloc, minloc };
// pair: a value and an int, of MPI_MAXLOC and MPI_MINLOC, with a gap somewhere. other: of MPI, but none of
// the above, such as MPI_2INT.
enum class known_type : std::uint8_t {
    none,
    integer,
    real4,
    real8,
    long_real,
    complex4,
    complex8,
    long_complex,
    pair,
    other
};

known_op known_op_of(MPI_Op op) noexcept;
known_type known_type_of(MPI_Datatype type) noexcept;
// Does MPI say that an op of its own combines this type, which is its own, too?
bool combines(known_op op, MPI_Datatype type) noexcept;

} // namespace under_mpi

#endif
