/* SPDX-License-Identifier: BSL-1.0 */
/* An MPI program with a fault: rank 1 calls another collective than the others. Alone, its MPI waits for ever.
   With an argument, rank 1 is killed instead. */
#include <mpi.h>
#include <signal.h>

int main(int argc, char** argv) {
    int rank = 0, value = 1, sum = 0, i;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (i = 0; i != 100; ++i) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 1 && argc > 1) raise(SIGKILL);
    if (rank == 1)
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
