/* SPDX-License-Identifier: BSL-1.0 */
/* Nonblocking collectives: a start never waits, whatever the other ranks do; many at a time, waited for in any order, beside
 * blocking ones; what they use may be freed once they have been started. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int faults = 0, rank, size;
enum { many = 100, longest = 5000 };
static MPI_Status statuses[many];
static void expect(int good, const char* what) {
    if (good) return;
    ++faults;
    printf("WRONG: rank %d of %d: %s\n", rank, size, what);
}

/* The first call on a communicator is started on rank 0 alone, which then sends what the others wait for. `first`: but for a
 * barrier. */
static void first_call(int first) {
    enum { most = 64 };
    static int gathered[most], counts[most], places[most];
    MPI_Comm comm;
    MPI_Request all[5];
    int x = rank, y = rank, word = 0, mine = -1, r;
    for (r = 0; r != size; ++r) counts[r] = 1, places[r] = size - 1 - r, gathered[r] = -1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (!first) MPI_Barrier(comm);
    if (rank != 0) MPI_Recv(&word, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ibarrier(comm, &all[0]);
    MPI_Iallreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, comm, &all[1]);
    MPI_Ibcast(&y, 1, MPI_INT, size - 1, comm, &all[2]);
    MPI_Igatherv(&rank, 1, MPI_INT, gathered, counts, places, MPI_INT, size - 1, comm, &all[3]);
    MPI_Iscatterv(places, counts, places, MPI_INT, &mine, 1, MPI_INT, size - 1, comm, &all[4]);
    if (rank + 1 != size) MPI_Send(&word, 1, MPI_INT, rank + 1, 1, MPI_COMM_WORLD);
    if (rank % 2) { /* a blocking call is behind those */
        MPI_Barrier(comm);
        MPI_Waitall(5, all, statuses);
    } else {
        MPI_Waitall(5, all, statuses);
        MPI_Barrier(comm);
    }
    expect(x == size * (size - 1) / 2, "an allreduce behind the first call");
    expect(y == size - 1, "a broadcast behind the first call");
    for (r = 0; rank == size - 1 && r != size; ++r)
        expect(gathered[size - 1 - r] == r, "a gatherv behind the first call");
    expect(mine == rank, "a scatterv behind the first call");
    MPI_Comm_free(&comm);
}

/* Rank 0 blocks on one communicator while the first call on another one is under way, which others wait for first. */
static void two_communicators(void) {
    MPI_Comm one, other;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Barrier(one);
    MPI_Ibarrier(other, &request);
    if (rank != 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(one);
    if (rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&one);
    MPI_Comm_free(&other);
}

static int data[many][longest], sums[many][longest];
static void many_at_a_time(void) {
    MPI_Request all[many];
    int i, k, at, flag, left = many;
    for (i = 0; i != many; ++i) {
        const int n = i % 10 == 0 ? longest : 1 + i;
        for (k = 0; k != n; ++k) data[i][k] = rank + i + k;
        if (i % 3 == 0)
            MPI_Iallreduce(data[i], sums[i], n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &all[i]);
        else if (i % 3 == 1)
            MPI_Iscan(data[i], sums[i], n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &all[i]);
        else
            MPI_Ireduce(data[i], sums[i], n, MPI_INT, MPI_SUM, i % size, MPI_COMM_WORLD, &all[i]);
        if (i == many / 2) MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank % 2) { /* the last ones first */
        for (i = many; i-- != many / 2;) MPI_Wait(&all[i], MPI_STATUS_IGNORE);
        for (flag = 0; !flag;) MPI_Testall(many / 2, all, &flag, statuses);
    } else {
        for (; left != 0; --left) MPI_Waitany(many, all, &at, MPI_STATUS_IGNORE);
    }
    for (i = 0; i != many; ++i) {
        const int n = i % 10 == 0 ? longest : 1 + i, ranks = i % 3 == 1 ? rank + 1 : size;
        if (i % 3 == 2 && rank != i % size) continue;
        for (k = 0; k != n; ++k)
            if (sums[i][k] != ranks * (ranks - 1) / 2 + ranks * (i + k)) break;
        expect(k == n, "one of many");
    }
}

static void add(void* in, void* out, int* n, MPI_Datatype* type) {
    int i;
    (void)type;
    for (i = 0; i != *n; ++i) ((int*)out)[2 * i] += ((int*)in)[2 * i];
}
/* Type, op and communicator are freed at once. */
static void freed(void) {
    MPI_Comm comm;
    MPI_Datatype every_other, padded;
    MPI_Op op;
    MPI_Request request[3];
    int x[20], i, y = rank;
    for (i = 0; i != 20; ++i) x[i] = rank + i;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    MPI_Barrier(comm);
    MPI_Type_vector(1, 1, 1, MPI_INT, &every_other);
    MPI_Type_create_resized(every_other, 0, 2 * sizeof(int), &padded);
    MPI_Type_commit(&padded);
    MPI_Op_create(add, 1, &op);
    MPI_Iallreduce(MPI_IN_PLACE, x, 10, padded, op, comm, &request[0]);
    MPI_Ibcast(&y, 1, MPI_INT, 0, comm, &request[1]);
    MPI_Ibarrier(comm, &request[2]);
    MPI_Type_free(&padded);
    MPI_Type_free(&every_other);
    MPI_Op_free(&op);
    MPI_Comm_free(&comm);
    MPI_Waitall(3, request, statuses);
    for (i = 0; i != 20; ++i)
        expect(x[i] == (i % 2 ? rank + i : size * (size - 1) / 2 + size * i), "a type, an op and a communicator freed");
    expect(y == size - 1, "a broadcast on a communicator that was freed");
}

/* The MPI itself makes nonblocking calls on a communicator that is being copied, while the program makes
 * blocking ones. */
static void copied(void) {
    MPI_Comm comm, made;
    MPI_Request request;
    int i, x, sum = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Barrier(comm);
    MPI_Comm_idup(comm, &made, &request);
    for (i = 0; i != 4; ++i) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        expect(sum == size * (size - 1) / 2, "an allreduce on a communicator that is being copied");
        x = rank;
        MPI_Bcast(&x, 1, MPI_INT, i % size, comm);
        expect(x == i % size, "a broadcast on a communicator that is being copied");
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(made);
    MPI_Comm_free(&made);
    MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
    int round;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (round = 0; round != 20; ++round) {
        first_call(round % 2);
        two_communicators();
        many_at_a_time();
        freed();
        copied();
    }
    MPI_Allreduce(MPI_IN_PLACE, &faults, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d faults\n", faults);
    MPI_Finalize();
    return faults != 0;
}
