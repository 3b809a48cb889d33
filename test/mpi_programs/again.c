/* SPDX-License-Identifier: BSL-1.0 */
/* Short calls that are made again and again, with what may change between two of them that look alike: counts, roots,
   types, ops, buffers in place or apart or one on the other, a type or an op that is freed and whose handle stands for
   something else then, a communicator that is freed, threads. Every result is checked.
   again apart: without buffers that lie one on the other, of which a call that is made twice has other results.
   again mismatch WHAT: calls that were made often; then rank 1 makes another one than the others. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { turns = 80, most = 16 };
static int wrong;

static void check(int is_right, const char* what, int turn) {
    if (is_right) return;
    if (++wrong < 10) fprintf(stderr, "again: wrong: %s, turn %d\n", what, turn);
}

/* Each collective with count elements of long; the values are those of the turn. */
static void all_kinds(MPI_Comm comm, int turn, int count, int root) {
    long in[4], out[4], whole[4 * most], other[4 * most], sum = 0, below = 0;
    int me, size, i, r, is_in_place = turn % 3 == 2;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    for (r = 0; r != size; ++r) sum += turn + r;
    for (r = 0; r != me; ++r) below += turn + r;
#define FILL() for (i = 0; i != count; ++i) in[i] = turn + me, out[i] = -1
    FILL();
    MPI_Allreduce(in, out, count, MPI_LONG, MPI_SUM, comm);
    check(out[0] == sum && out[count - 1] == sum && in[0] == turn + me, "allreduce", turn);
    FILL();
    MPI_Allreduce(in, out, count, MPI_LONG, MPI_MAX, comm);
    check(out[count - 1] == turn + size - 1, "allreduce, max", turn);
    FILL();
    if (is_in_place) {
        MPI_Scan(MPI_IN_PLACE, in, count, MPI_LONG, MPI_SUM, comm);
        check(in[count - 1] == below + turn + me, "scan in place", turn);
        FILL();
        MPI_Exscan(MPI_IN_PLACE, in, count, MPI_LONG, MPI_SUM, comm);
        check(in[count - 1] == (me == 0 ? turn : below), "exscan in place", turn);
    } else {
        MPI_Scan(in, out, count, MPI_LONG, MPI_SUM, comm);
        check(out[count - 1] == below + turn + me && in[0] == turn + me, "scan", turn);
        FILL();
        MPI_Exscan(in, out, count, MPI_LONG, MPI_SUM, comm);
        check(out[count - 1] == (me == 0 ? -1 : below), "exscan", turn);
    }
    FILL();
    if (is_in_place && me == root) {
        MPI_Reduce(MPI_IN_PLACE, in, count, MPI_LONG, MPI_SUM, root, comm);
        check(in[count - 1] == sum, "reduce in place", turn);
    } else {
        MPI_Reduce(in, me == root ? out : NULL, count, MPI_LONG, MPI_SUM, root, comm);
        check(me == root ? out[count - 1] == sum : out[0] == -1, "reduce", turn);
    }
    FILL();
    for (i = 0; i != 4 * most; ++i) whole[i] = other[i] = -1;
    if (is_in_place && me == root) {
        memcpy(whole + me * count, in, sizeof(long) * (size_t)count);
        MPI_Gather(MPI_IN_PLACE, 7, MPI_DATATYPE_NULL, whole, count, MPI_LONG, root, comm);
    } else if (me == root) {
        MPI_Gather(in, count, MPI_LONG, whole, count, MPI_LONG, root, comm);
    } else { /* what is not significant here changes */
        MPI_Gather(in, count, MPI_LONG, NULL, turn, turn % 2 ? MPI_INT : MPI_DATATYPE_NULL, root, comm);
    }
    for (r = 0; r != size * count; ++r) check(whole[r] == (me == root ? turn + r / count : -1), "gather", turn);
    check(whole[size * count] == -1, "gather, beyond", turn);
    if (is_in_place && me == root) {
        MPI_Scatter(whole, count, MPI_LONG, MPI_IN_PLACE, 7, MPI_DATATYPE_NULL, root, comm);
        memcpy(out, whole + me * count, sizeof(long) * (size_t)count);
    } else {
        out[0] = -1;
        MPI_Scatter(me == root ? whole : NULL, me == root ? count : turn, MPI_LONG, out, count, MPI_LONG, root, comm);
    }
    check(out[0] == turn + me && out[count - 1] == turn + me, "scatter", turn);
    out[0] = out[count - 1] = me == root ? turn : -1;
    MPI_Bcast(out, count, MPI_LONG, root, comm);
    check(out[0] == turn && out[count - 1] == turn, "bcast", turn);
#undef FILL
}

/* Types of one size with one op. */
static void types(MPI_Comm comm, int turn) {
    int me, size, i;
    long whole_number = 3;
    unsigned long bits = 1;
    double real = 0.5, sum = 0;
    float reals[2] = {0.25f, 1}, sums[2];
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(MPI_IN_PLACE, &whole_number, 1, MPI_LONG, MPI_SUM, comm);
    MPI_Allreduce(&real, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Allreduce(reals, sums, 2, MPI_FLOAT, MPI_SUM, comm);
    MPI_Allreduce(MPI_IN_PLACE, &bits, 1, MPI_UNSIGNED_LONG, MPI_SUM, comm);
    check(whole_number == 3 * size && sum == 0.5 * size && bits == (unsigned long)size, "types of 8 bytes", turn);
    check(sums[0] == 0.25f * (float)size && sums[1] == (float)size, "types of 4 bytes", turn);
    for (i = 0; i != 2; ++i) { /* one length, said in two ways */
        long all[most];
        int halves[2] = {turn, me};
        if (i == 0)
            MPI_Gather(halves, 2, MPI_INT, all, 1, MPI_LONG, 0, comm);
        else
            MPI_Gather(halves, 8, MPI_BYTE, all, 2, MPI_INT, 0, comm);
        if (me == 0) check(memcmp(&all[size - 1], (int[2]){turn, size - 1}, 8) == 0, "gather of halves", turn);
    }
}

/* The input lies where the result goes, in part. MPI forbids that; MPIs let it pass where they do not see it. */
static void other_places(MPI_Comm comm, int turn) {
    long rows[4][most + 2];
    int me, size, r, row = turn % 4;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    for (r = 0; r != most + 2; ++r) rows[row][r] = turn;
    rows[row][me] = turn + me; /* the root's own block, in its place */
    MPI_Gather(&rows[row][me], 1, MPI_LONG, rows[row], 1, MPI_LONG, 0, comm);
    if (me == 0)
        for (r = 0; r != size; ++r) check(rows[row][r] == turn + r, "gather from its place", turn);
    rows[row][0] = turn + me;
    MPI_Gather(rows[row], 1, MPI_LONG, rows[row], 1, MPI_LONG, size - 1, comm); /* rank 0's block comes there */
    if (me == size - 1)
        for (r = 0; r != size; ++r) check(rows[row][r] == turn + r, "gather from another place", turn);
    for (r = 0; r != most + 2; ++r) rows[row][r] = turn + r;
    MPI_Scatter(rows[row], 1, MPI_LONG, &rows[row][1], 1, MPI_LONG, 0, comm); /* rank 1's block lay there */
    check(rows[row][1] == turn + me, "scatter to another place", turn);
    for (r = 0; r != 3; ++r) rows[row][r] = turn + r;
    MPI_Allreduce(rows[row], &rows[row][1], 2, MPI_LONG, MPI_SUM, comm);
    check(rows[row][1] == size * turn && rows[row][2] == size * (turn + 1), "allreduce, one element on", turn);
    if (turn % 2) MPI_Allreduce(rows[row], &rows[row][2], 2, MPI_LONG, MPI_SUM, comm); /* apart, after all */
}

static void sum(void* in, void* inout, int* n, MPI_Datatype* type) {
    int i;
    (void)type;
    for (i = 0; i != *n; ++i) ((long*)inout)[i] += ((long*)in)[i];
}
static void greatest(void* in, void* inout, int* n, MPI_Datatype* type) {
    int i;
    (void)type;
    for (i = 0; i != *n; ++i)
        if (((long*)in)[i] > ((long*)inout)[i]) ((long*)inout)[i] = ((long*)in)[i];
}

/* Handles of the program stand for something else after they have been freed, and made again. */
static void handles(MPI_Comm comm, int turn) {
    MPI_Datatype type;
    MPI_Op op;
    int me, size, r, step = 1 + turn % 2;
    long in[4] = {1, 2, 3, 4}, whole[2 * most] = {0}, value = turn, result = -1;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    in[0] += 10 * me;
    MPI_Type_vector(2, 1, step, MPI_LONG, &type); /* elements 0 and 1, or 0 and 2 */
    MPI_Type_commit(&type);
    MPI_Gather(in, 1, type, whole, 2, MPI_LONG, 0, comm);
    MPI_Gather(in, 1, type, whole, 2, MPI_LONG, 0, comm);
    if (me == 0)
        for (r = 0; r != size; ++r)
            check(whole[2 * r] == 1 + 10 * r && whole[2 * r + 1] == 1 + step, "gather of a type made again", turn);
    MPI_Type_free(&type);
    MPI_Type_dup(turn % 2 ? MPI_INT : MPI_LONG, &type);
    MPI_Bcast(&value, turn % 2 ? 2 : 1, type, 0, comm);
    MPI_Bcast(&value, 1, type, size - 1, comm);
    check(value == turn, "bcast of a type made again", turn);
    MPI_Type_free(&type);
    MPI_Op_create(turn % 2 ? sum : greatest, 1, &op);
    value = 1;
    MPI_Allreduce(&value, &result, 1, MPI_LONG, op, comm);
    MPI_Allreduce(&value, &result, 1, MPI_LONG, op, comm);
    check(result == (turn % 2 ? size : 1), "allreduce by an op made again", turn);
    MPI_Op_free(&op);
}

static void* of_one_thread(void* its) {
    int turn;
    for (turn = 0; turn != turns; ++turn) all_kinds(*(MPI_Comm*)its, turn, 1 + turn / 8 % 2, 0);
    return NULL;
}

static int mismatch(int rank, const char* what) {
    long in = 1, out = 0, two[2] = {1, 2}, whole[2 * most];
    int i;
    for (i = 0; i != turns; ++i) {
        MPI_Gather(&in, 1, MPI_LONG, whole, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        MPI_Scatter(whole, 1, MPI_LONG, &in, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        MPI_Exscan(&in, &out, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        MPI_Gather(two, 2, MPI_LONG, whole, 2, MPI_LONG, 0, MPI_COMM_WORLD);
        MPI_Exscan(&in, &out, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    }
    if (strcmp(what, "count") == 0)
        MPI_Gather(two, rank == 1 ? 2 : 1, MPI_LONG, whole, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    else if (strcmp(what, "op") == 0)
        MPI_Exscan(&in, &out, 1, MPI_LONG, rank == 1 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Scatter(whole, 1, MPI_LONG, &in, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    else
        MPI_Gather(&in, 1, MPI_LONG, whole, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

int main(int argc, char** argv) {
    int rank, size, turn, given = 0, all = 0;
    MPI_Comm comm, threads[2];
    MPI_Init_thread(&argc, &argv, getenv("TEST_THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2) return mismatch(rank, argv[2]);
    for (turn = 0; turn != turns; ++turn) { /* roots come back, and counts, and all of them do not fit the memory of calls */
        all_kinds(MPI_COMM_WORLD, turn, 1 + turn / 4 % 4, turn / 20 % size);
        all_kinds(MPI_COMM_WORLD, turn, 1, turn % size);
        types(MPI_COMM_WORLD, turn);
        if (argc == 1) other_places(MPI_COMM_WORLD, turn);
        handles(MPI_COMM_WORLD, turn);
    }
    for (turn = 0; turn != 12; ++turn) { /* communicators whose handles come back, of other ranks */
        int i;
        MPI_Comm_split(MPI_COMM_WORLD, turn % 3 == 0 ? 0 : rank % 2, turn % 2 ? rank : -rank, &comm);
        for (i = 0; i != 6; ++i) all_kinds(comm, turn + i, 1 + turn % 2, 0), types(comm, turn);
        MPI_Comm_free(&comm);
    }
    if (given == MPI_THREAD_MULTIPLE) {
        pthread_t its[2];
        for (turn = 0; turn != 2; ++turn) MPI_Comm_dup(MPI_COMM_WORLD, &threads[turn]);
        for (turn = 0; turn != 2; ++turn) pthread_create(&its[turn], NULL, of_one_thread, &threads[turn]);
        for (turn = 0; turn != 2; ++turn) pthread_join(its[turn], NULL);
        for (turn = 0; turn != 2; ++turn) MPI_Comm_free(&threads[turn]);
    }
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("again: %d wrong\n", all);
    MPI_Finalize();
    return all != 0;
}
