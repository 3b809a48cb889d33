/* SPDX-License-Identifier: BSL-1.0 */
/* An MPI program of which rank 1 never comes to the first collective. first HOW: stays (it sleeps), exits, or killed. */
#include <mpi.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
    int rank = 0, one = 1, sum = 0;
    alarm(100); /* whatever becomes of who started it */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1 && argc > 1) {
        if (strcmp(argv[1], "killed") == 0) raise(SIGKILL);
        if (strcmp(argv[1], "exits") == 0) _exit(0);
        for (;;) pause();
    }
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
