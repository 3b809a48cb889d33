/* SPDX-License-Identifier: BSL-1.0 */
/* An MPI program with a fault, which its MPI alone does not find: it waits for ever, or gives a wrong result.
   mismatch: rank 1 calls another collective than the others. mismatch FAULT:
   killed: it is killed there. gatherv, scatterv: it gives or takes another length than the root. root: of a gatherv,
   it takes itself for the root. room: rank 2 has too little room for a broadcast, so it alone has an error of its MPI.
 */
#include <mpi.h>
#include <signal.h>
#include <string.h>

int main(int argc, char** argv) {
    static int many[64], one[64], counts[64], places[64];
    const char* fault = argc > 1 ? argv[1] : "";
    int rank = 0, value = 1, sum = 0, i;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (i = 0; i != 100; ++i) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (i = 0; i != 64; ++i) counts[i] = 2, places[i] = 2 * i;
    if (rank == 1 && strcmp(fault, "killed") == 0) raise(SIGKILL);
    if (strcmp(fault, "gatherv") == 0)
        MPI_Gatherv(one, rank == 1 ? 3 : 2, MPI_INT, many, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
    else if (strcmp(fault, "scatterv") == 0)
        MPI_Scatterv(many, counts, places, MPI_INT, one, rank == 1 ? 1 : 2, MPI_INT, 0, MPI_COMM_WORLD);
    else if (strcmp(fault, "root") == 0)
        MPI_Gatherv(one, 2, MPI_INT, many, counts, places, MPI_INT, rank == 1 ? 1 : 0, MPI_COMM_WORLD);
    else if (strcmp(fault, "room") == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Bcast(many, rank == 2 ? 1 : 2, MPI_INT, 0, MPI_COMM_WORLD);
    } else if (rank == 1)
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
