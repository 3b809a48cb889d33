// SPDX-License-Identifier: BSL-1.0
#include "handles.hpp"

#include <cstddef>

namespace under_mpi {

known_op known_op_of(MPI_Op op) noexcept {
    const struct {
        MPI_Op handle;
        known_op is;
    } all[] = {{MPI_SUM, known_op::sum},   {MPI_MAX, known_op::max},       {MPI_MIN, known_op::min},
               {MPI_PROD, known_op::prod}, {MPI_LAND, known_op::land},     {MPI_BAND, known_op::band},
               {MPI_LOR, known_op::lor},   {MPI_BOR, known_op::bor},       {MPI_LXOR, known_op::lxor},
               {MPI_BXOR, known_op::bxor}, {MPI_MAXLOC, known_op::maxloc}, {MPI_MINLOC, known_op::minloc}};
    for (const auto& one : all)
        if (one.handle == op) return one.is;
    return known_op::none;
}

known_type known_type_of(MPI_Datatype type) noexcept {
    if (type == MPI_DATATYPE_NULL) return known_type::none;
    const struct {
        MPI_Datatype handle;
        known_type is;
    } some[] = {{MPI_DOUBLE, known_type::real8},
                {MPI_FLOAT, known_type::real4},
                {MPI_LONG_DOUBLE, known_type::long_real},
                {MPI_DOUBLE_PRECISION, known_type::real8},
                {MPI_REAL, known_type::real4},
                {MPI_REAL4, known_type::real4},
                {MPI_REAL8, known_type::real8},
                {MPI_C_FLOAT_COMPLEX, known_type::complex4},
                {MPI_C_DOUBLE_COMPLEX, known_type::complex8},
                {MPI_C_LONG_DOUBLE_COMPLEX, known_type::long_complex},
                {MPI_COMPLEX, known_type::complex4},
                {MPI_DOUBLE_COMPLEX, known_type::complex8},
                {MPI_COMPLEX8, known_type::complex4},
                {MPI_COMPLEX16, known_type::complex8},
                {MPI_CXX_FLOAT_COMPLEX, known_type::complex4},
                {MPI_CXX_DOUBLE_COMPLEX, known_type::complex8},
                {MPI_CXX_LONG_DOUBLE_COMPLEX, known_type::long_complex},
                {MPI_DOUBLE_INT, known_type::pair},
                {MPI_LONG_INT, known_type::pair},
                {MPI_SHORT_INT, known_type::pair},
                {MPI_LONG_DOUBLE_INT, known_type::pair},
                {MPI_FLOAT_INT, known_type::pair},
                {MPI_2INT, known_type::other},
                {MPI_2REAL, known_type::other},
                {MPI_2DOUBLE_PRECISION, known_type::other},
                {MPI_2INTEGER, known_type::other}};
    for (const auto& one : some)
        if (one.handle == type) return one.is;
    const MPI_Datatype integers[] = {MPI_INT,           MPI_LONG,           MPI_CHAR,          MPI_SIGNED_CHAR,
                                     MPI_UNSIGNED_CHAR, MPI_BYTE,           MPI_SHORT,         MPI_UNSIGNED,
                                     MPI_INT8_T,        MPI_INT16_T,        MPI_INT32_T,       MPI_INT64_T,
                                     MPI_UINT8_T,       MPI_UINT16_T,       MPI_UINT32_T,      MPI_UINT64_T,
                                     MPI_LONG_LONG_INT, MPI_UNSIGNED_SHORT, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG,
                                     MPI_C_BOOL,        MPI_CXX_BOOL,       MPI_AINT,          MPI_OFFSET,
                                     MPI_COUNT,         MPI_INTEGER,        MPI_INTEGER1,      MPI_INTEGER2,
                                     MPI_INTEGER4,      MPI_INTEGER8,       MPI_LOGICAL,       MPI_CHARACTER};
    for (const MPI_Datatype one : integers)
        if (one == type) return known_type::integer;
    return known_type::none;
}

bool combines(known_op op, MPI_Datatype type) noexcept {
    const known_type is = known_type_of(type);
    const bool is_text = type == MPI_CHAR || type == MPI_CHARACTER;
    const bool is_logical = type == MPI_LOGICAL || type == MPI_C_BOOL || type == MPI_CXX_BOOL;
    const bool is_integer = is == known_type::integer && !is_text && !is_logical && type != MPI_BYTE;
    const bool is_real = is == known_type::real4 || is == known_type::real8 || is == known_type::long_real;
    const bool is_complex = is == known_type::complex4 || is == known_type::complex8 || is == known_type::long_complex;
    switch (op) {
    case known_op::sum:
    case known_op::prod: return is_integer || is_real || is_complex;
    case known_op::max:
    case known_op::min: return is_integer || is_real;
    case known_op::land:
    case known_op::lor:
    case known_op::lxor: return is_integer || is_logical;
    case known_op::band:
    case known_op::bor:
    case known_op::bxor: return is_integer || type == MPI_BYTE;
    case known_op::maxloc:
    case known_op::minloc: return is == known_type::pair || is == known_type::other;
    default: return false;
    }
}

} // namespace under_mpi
