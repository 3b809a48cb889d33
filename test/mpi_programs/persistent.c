/* SPDX-License-Identifier: BSL-1.0 */
/* An MPI program with persistent collectives, which bough leaves to the MPI, between blocking ones. */
#include <mpi.h>
#include <stdio.h>
#if defined(OPEN_MPI) && OPEN_MPI
#include <mpi-ext.h>
#endif
#if defined(MPIX_Allreduce_init) || (defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define ALLREDUCE_INIT MPIX_Allreduce_init
#define BARRIER_INIT MPIX_Barrier_init
#elif MPI_VERSION >= 4
#define ALLREDUCE_INIT MPI_Allreduce_init
#define BARRIER_INIT MPI_Barrier_init
#endif

int main(int argc, char** argv) {
    int rank = 0, size = 1, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
#ifdef ALLREDUCE_INIT
    {
        int i, mine = 0, sum = 0, other = 0;
        MPI_Request both[2];
        ALLREDUCE_INIT(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]);
        BARRIER_INIT(MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]);
        for (i = 0; i != 200; ++i) {
            mine = rank + i;
            MPI_Startall(2, both);
            MPI_Allreduce(&i, &other, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
            wrong += sum != size * (size - 1) / 2 + i * size || other != i * size;
        }
        MPI_Request_free(&both[0]);
        MPI_Request_free(&both[1]);
    }
    if (rank == 0) printf("%d ranks: persistent collectives between others: %d wrong\n", size, wrong);
#else
    if (rank == 0) printf("%d ranks: this MPI has no persistent collectives\n", size);
#endif
    MPI_Finalize();
    return wrong != 0;
}
