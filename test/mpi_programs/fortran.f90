! SPDX-License-Identifier: BSL-1.0
! An MPI program in Fortran: its types, its MPI_IN_PLACE.
program fortran
    use mpi
    implicit none
    integer :: error, rank, ranks
    double precision :: x(4), y(4)
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    x = rank
    call MPI_Allreduce(x, y, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    if (any(y /= ranks * (ranks - 1) / 2)) stop 1
    y = rank
    call MPI_Allreduce(MPI_IN_PLACE, y, 4, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
    if (any(y /= ranks - 1)) stop 2
    y = rank
    call MPI_Bcast(y, 4, MPI_DOUBLE_PRECISION, ranks - 1, MPI_COMM_WORLD, error)
    if (any(y /= ranks - 1)) stop 3
    call MPI_Finalize(error)
end program
