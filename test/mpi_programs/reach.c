/* SPDX-License-Identifier: BSL-1.0 */
/* An MPI program with faults that says how far their errors reach: calls that differ break their communicator, but
   not others, nor a new one of the same ranks; a call that misses the deadline (BOUGH_MPI_DEADLINE, less than 5 s)
   ends alone; and one that a rank never makes is not mixed up with calls of a new communicator. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static int rank, size, wrong;

static int calls; /* so that each has another result */
static int has_sum(MPI_Comm comm) {
    int mine = ++calls, sum = 0;
    return MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == mine * size;
}
static void expect_sum(MPI_Comm comm, int may_be, const char* what) {
    if (has_sum(comm) == may_be) return;
    ++wrong;
    printf("rank %d: %s: %s\n", rank, what, may_be ? "no sum" : "no error");
}
/* Until all ranks are here, by messages, which stay with the MPI. */
static void meet(void) {
    int r, token = 0, i;
    for (i = 0; i != 2; ++i)
        for (r = 1; r < size; ++r)
            if (rank == (i == 0 ? r : 0))
                MPI_Send(&token, 1, MPI_INT, i == 0 ? 0 : r, i, MPI_COMM_WORLD);
            else if (rank == (i == 0 ? 0 : r))
                MPI_Recv(&token, 1, MPI_INT, i == 0 ? r : 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

#if defined(OPEN_MPI) && OPEN_MPI
/* A nonblocking call that rank 0 alone makes; then new communicators, one of them without rank 0. */
static void nonblocking(MPI_Comm part) {
    int mine, sum, round;
    MPI_Request r;
    if (rank == 0) {
        mine = 7;
        MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, part, &r);
        if (MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS && ++wrong)
            printf("rank 0: a nonblocking call that others never make: no error\n");
    }
    meet();
    MPI_Comm_free(&part);
    for (round = 0; round != 2; ++round) {
        int ranks;
        MPI_Comm_split(MPI_COMM_WORLD, round == 1 && rank == 0, rank, &part);
        MPI_Comm_set_errhandler(part, MPI_ERRORS_RETURN);
        MPI_Comm_size(part, &ranks);
        MPI_Barrier(part);
        for (mine = 1; mine != 4; ++mine) {
            MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, part, &r);
            if ((MPI_Wait(&r, MPI_STATUS_IGNORE) != MPI_SUCCESS || sum != mine * ranks) && ++wrong)
                printf("rank %d: a nonblocking call of a new communicator, %d ranks: not right\n", rank, ranks);
        }
        MPI_Comm_free(&part);
    }
}
#else
static void nonblocking(MPI_Comm part) { MPI_Comm_free(&part); }
#endif

int main(int argc, char** argv) {
    int value = 1, sum = 0, code, round;
    MPI_Comm part;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (round = 0; round != 3; ++round) {
        MPI_Comm_dup(MPI_COMM_WORLD, &part);
        expect_sum(part, 1, "a new communicator");
        meet(); /* a rank that still waits there would hear of the next call's end first */
        code =
            rank == 1 ? MPI_Bcast(&value, 1, MPI_INT, 0, part) : MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, part);
        if (code == MPI_SUCCESS && ++wrong) printf("rank %d: calls that differ: no error\n", rank);
        meet();
        expect_sum(part, 0, "the communicator of calls that differ");
        expect_sum(MPI_COMM_WORLD, 1, "another communicator");
        MPI_Comm_free(&part);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &part);
    expect_sum(part, 1, "a new communicator");
    meet();
    if (rank == 1) sleep(5);
    if (has_sum(part) && rank != 1 && ++wrong) /* rank 1 has what the others sent before they gave up */
        printf("rank %d: a call that missed the deadline: no error\n", rank);
    meet();
    expect_sum(part, 1, "the call after it");
    if (rank != 1) expect_sum(part, 0, "a call that a rank never makes");
    if (rank == 1) ++calls;
    meet();
    MPI_Comm_free(&part);
    MPI_Comm_dup(MPI_COMM_WORLD, &part);
    for (round = 0; round != 3; ++round) expect_sum(part, 1, "a new communicator after that");
    nonblocking(part);
    printf("rank %d of %d: how far errors reach: %d wrong\n", rank, size, wrong);
    MPI_Finalize();
    return wrong != 0;
}
