/* SPDX-License-Identifier: BSL-1.0 */
/* An MPI program that calls collectives for ever, and whose ranks are killed or stopped from outside (losses). Each
   rank writes its process number into FOLDER/pid.RANK, and what it and bough say into FOLDER/said.RANK. When a
   collective ends with an error, the rank frees a communicator, says when, in seconds since 1970, and ends soon after.
   MPICH's launcher kills all ranks when one dies, whatever it was told. So the process that it started only waits,
   and holds its connection open, while a child of it, in a session of its own, is the rank. */
#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { longest = 1 << 15 };
static int rank;
static MPI_Comm spare;

static void end_with(MPI_Comm* comm, int* code, ...) {
    struct timespec now;
    (void)comm;
    MPI_Comm_free(&spare);
    clock_gettime(CLOCK_REALTIME, &now);
    fprintf(stderr, "ended at %.6f with class %d\n", (double)now.tv_sec + 1e-9 * (double)now.tv_nsec, *code);
    sleep(1); /* so that the others hear of the rank that is lost, and not of this one */
    _exit(0);
}

static void leave_the_launcher(void) {
    pid_t child = fork();
    if (child == 0) {
        setsid();
        return;
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
    sleep(3);
    _exit(0);
}

int main(int argc, char** argv) {
    static double in[longest], out[8 * longest];
    char path[4096];
    unsigned chosen = 1;
    int size = 1;
    FILE* file;
    MPI_Errhandler handler;
    MPI_Comm half;
    if (getenv("LOSSES_LEAVE") != NULL) leave_the_launcher();
    alarm(120); /* whatever becomes of who started it */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && snprintf(path, sizeof(path), "%s/said.%d", argv[1], rank) > 0 && freopen(path, "w", stderr) == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_create_errhandler(end_with, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(half, handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &spare);
    MPI_Barrier(spare);
    MPI_Barrier(half);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 1 && snprintf(path, sizeof(path), "%s/pid.%d", argv[1], rank) > 0 && (file = fopen(path, "w")) != NULL) {
        fprintf(file, "%ld\n", (long)getpid());
        fclose(file);
    }
    for (;;) { /* the same choices on all ranks */
        int count, root;
        MPI_Comm where;
        chosen = chosen * 1103515245u + 12345u;
        count = 1 << (chosen >> 16) % 16;
        root = (int)((chosen >> 20) % 2);
        where = (chosen >> 24) % 4 == 0 ? half : MPI_COMM_WORLD;
        if (size < 4) where = MPI_COMM_WORLD;
        switch ((chosen >> 26) % 8) {
        case 0: MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, where); break;
        case 1: MPI_Bcast(in, count, MPI_DOUBLE, root, where); break;
        case 2: MPI_Reduce(in, out, count, MPI_DOUBLE, MPI_MAX, root, where); break;
        case 3: MPI_Allgather(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, where); break;
        case 4: MPI_Alltoall(out, count / 8, MPI_DOUBLE, out + 4 * longest, count / 8, MPI_DOUBLE, where); break;
        case 5: MPI_Scan(in, out, count, MPI_DOUBLE, MPI_SUM, where); break;
        case 6: MPI_Gather(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, root, where); break;
        default: MPI_Barrier(where); break;
        }
    }
}
