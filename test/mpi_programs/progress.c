/* SPDX-License-Identifier: BSL-1.0 */
/* An MPI program that mixes messages with collectives: long messages are under way while all wait in collectives,
   and some ranks are late. It ends only if each wait drives the other kind, too. Also: communicators that are made
   and freed by the hundred, one that is never freed, and one-sided puts between fences (none with an argument). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { count = 1 << 18, rounds = 20 };

static void put_to_next(int* cell, int rank, int size) {
    MPI_Win window;
    MPI_Win_create(cell, sizeof(*cell), sizeof(*cell), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

int main(int argc, char** argv) {
    int rank = 0, size = 1, round, i, wrong = 0;
    double *out, *in;
    MPI_Comm kept;
    int cell = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out = malloc(count * sizeof(double));
    in = malloc(count * sizeof(double));
    for (round = 0; round != rounds; ++round) {
        MPI_Request both[2], done;
        int sum = 0, last = round;
        for (i = 0; i != count; ++i) out[i] = rank + round + i;
        MPI_Irecv(in, count, MPI_DOUBLE, (rank + size - 1) % size, round, MPI_COMM_WORLD, &both[0]);
        MPI_Isend(out, count, MPI_DOUBLE, (rank + 1) % size, round, MPI_COMM_WORLD, &both[1]);
        /* The last rank comes late: it first wants its message, which another rank sends from within its allreduce. */
        if (rank == size - 1) MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Ibarrier(MPI_COMM_WORLD, &done);
        MPI_Bcast(&last, 1, MPI_INT, round % size, MPI_COMM_WORLD);
        if (rank != size - 1) MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        MPI_Wait(&done, MPI_STATUS_IGNORE);
        for (i = 0; i < count; i += 1000) wrong += in[i] != (rank + size - 1) % size + round + i;
        wrong += sum != size * (size - 1) / 2;
    }
    for (round = 0; round != 300; ++round) {
        MPI_Comm part;
        int members = 0, one = 1;
        MPI_Comm_split(MPI_COMM_WORLD, (rank + round) % 2, -rank, &part);
        MPI_Allreduce(&one, &members, 1, MPI_INT, MPI_SUM, part);
        MPI_Comm_size(part, &i);
        wrong += members != i;
        MPI_Comm_free(&part);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &kept);
    MPI_Barrier(kept);
    if (argc > 1) cell = (rank + size - 1) % size; /* without windows */
    if (argc == 1) put_to_next(&cell, rank, size);
    if (cell != (rank + size - 1) % size && ++wrong) printf("rank %d: the put did not come\n", rank);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d ranks: messages beside collectives: %d wrong\n", size, wrong);
    free(out);
    free(in);
    MPI_Finalize();
    return wrong != 0;
}
