/* SPDX-License-Identifier: BSL-1.0 */
/* An MPI program that calls MPI-4's collectives with counts of MPI_Count on odd ranks, and those with ints on even
   ones; then all with MPI_Count. Those with counts or places for each rank are called in the same form on all ranks.
   Others are between a group of one rank and one of the rest, have places on one rank that no int holds, have types
   that are made with MPI_Count, or have wrong arguments. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#if MPI_VERSION >= 4

enum { most = 64 };
static int rank, size, wrong;
static int is_wide; /* this rank calls those with MPI_Count */
static int all_are_wide;
static int in[most * most], out[most * most];

static void fill(void) {
    int i;
    for (i = 0; i != most * most; ++i) in[i] = 1000 * rank + i, out[i] = -1;
}
static void expect(const char* what, int is, int right) {
    if (is == right) return;
    ++wrong;
    printf("rank %d: %s: %d, not %d\n", rank, what, is, right);
}
#define CALL(Name, wide, narrow) (fill(), all_are_wide ? MPI_##Name##_c wide : MPI_##Name narrow)
#define SAME(Name, ...) (fill(), is_wide ? MPI_##Name##_c(__VA_ARGS__) : MPI_##Name(__VA_ARGS__))

static void call_all(void) {
    const MPI_Comm all = MPI_COMM_WORLD;
    int counts[most], places[most], r, ranks = size * (size - 1) / 2, root = size - 1;
    MPI_Count wide_counts[most];
    MPI_Aint wide_places[most];
    for (r = 0; r != size; ++r) {
        wide_counts[r] = counts[r] = r + 1;
        wide_places[r] = places[r] = most * r;
    }
    SAME(Bcast, in, 5, MPI_INT, root, all);
    expect("bcast", in[4], 1000 * root + 4);
    SAME(Allreduce, in, out, 5, MPI_INT, MPI_SUM, all);
    expect("allreduce", out[4], 1000 * ranks + 4 * size);
    SAME(Reduce, in, out, 5, MPI_INT, MPI_SUM, root, all);
    expect("reduce", out[4], rank == root ? 1000 * ranks + 4 * size : -1);
    SAME(Scan, in, out, 5, MPI_INT, MPI_MAX, all);
    expect("scan", out[4], 1000 * rank + 4);
    SAME(Exscan, in, out, 5, MPI_INT, MPI_MAX, all);
    if (rank != 0) expect("exscan", out[4], 1000 * (rank - 1) + 4);
    SAME(Reduce_scatter_block, in, out, 3, MPI_INT, MPI_SUM, all);
    expect("reduce_scatter_block", out[2], 1000 * ranks + (3 * rank + 2) * size);
    CALL(Reduce_scatter, (in, out, wide_counts, MPI_INT, MPI_SUM, all), (in, out, counts, MPI_INT, MPI_SUM, all));
    expect("reduce_scatter", out[0], 1000 * ranks + rank * (rank + 1) / 2 * size);
    SAME(Gather, in, 2, MPI_INT, out, 2, MPI_INT, root, all);
    expect("gather", out[1], rank == root ? 1 : -1);
    SAME(Scatter, in, 2, MPI_INT, out, 2, MPI_INT, root, all);
    expect("scatter", out[1], 1000 * root + 2 * rank + 1);
    SAME(Allgather, in, 2, MPI_INT, out, 2, MPI_INT, all);
    expect("allgather", out[2 * root + 1], 1000 * root + 1);
    SAME(Allgather, MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, in, 2, MPI_INT, all);
    expect("allgather, in place", in[2 * root + 1], 1000 * root + 2 * root + 1);
    SAME(Alltoall, in, 2, MPI_INT, out, 2, MPI_INT, all);
    expect("alltoall", out[2 * root + 1], 1000 * root + 2 * rank + 1);
    CALL(Gatherv, (in, rank + 1, MPI_INT, out, wide_counts, wide_places, MPI_INT, root, all),
         (in, rank + 1, MPI_INT, out, counts, places, MPI_INT, root, all));
    expect("gatherv", out[most * root + root], rank == root ? 1000 * root + root : -1);
    CALL(Scatterv, (in, wide_counts, wide_places, MPI_INT, out, rank + 1, MPI_INT, root, all),
         (in, counts, places, MPI_INT, out, rank + 1, MPI_INT, root, all));
    expect("scatterv", out[rank], 1000 * root + most * rank + rank);
    CALL(Allgatherv, (in, rank + 1, MPI_INT, out, wide_counts, wide_places, MPI_INT, all),
         (in, rank + 1, MPI_INT, out, counts, places, MPI_INT, all));
    expect("allgatherv", out[most * root + root], 1000 * root + root);
    for (r = 0; r != size; ++r) wide_counts[r] = counts[r] = 2;
    CALL(Alltoallv, (in, wide_counts, wide_places, MPI_INT, out, wide_counts, wide_places, MPI_INT, all),
         (in, counts, places, MPI_INT, out, counts, places, MPI_INT, all));
    expect("alltoallv", out[most * root + 1], 1000 * root + most * rank + 1);
}

/* Between rank 0 and the others. The groups exchange what their first ranks have. */
static void call_between_groups(void) {
    const int is_first = rank == 0, root = is_first ? MPI_ROOT : 0;
    MPI_Comm mine, both;
    int r;
    MPI_Comm_split(MPI_COMM_WORLD, is_first, rank, &mine);
    MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, is_first, 0, &both);
    fill();
    MPI_Bcast_c(is_first ? in : out, 5, MPI_INT, root, both);
    if (!is_first) expect("bcast between groups", out[4], 4);
    fill();
    MPI_Allreduce_c(in, out, 5, MPI_INT, MPI_MAX, both);
    expect("allreduce between groups", out[4], is_first ? 1000 * (size - 1) + 4 : 4);
    fill();
    MPI_Gather_c(in, 2, MPI_INT, out, 2, MPI_INT, root, both);
    for (r = 1; is_first && r != size; ++r) expect("gather between groups", out[2 * (r - 1) + 1], 1000 * r + 1);
    fill();
    MPI_Scatter_c(in, 2, MPI_INT, out, 2, MPI_INT, root, both);
    if (!is_first) expect("scatter between groups", out[1], 2 * (rank - 1) + 1);
    fill();
    MPI_Allgather_c(in, 2, MPI_INT, out, 2, MPI_INT, both);
    expect("allgather between groups", out[1], is_first ? 1001 : 1);
    MPI_Comm_free(&both);
    MPI_Comm_free(&mine);
}

/* One rank has places that no int holds, of blocks that are empty. */
static void call_with_far_places(void) {
    const MPI_Aint far = (MPI_Aint)1 << 32;
    const MPI_Comm all = MPI_COMM_WORLD;
    const int one = size - 1; /* it is the root, too */
    MPI_Count counts[most];
    MPI_Aint places[most], usual[most];
    int r;
    for (r = 0; r != size; ++r) {
        counts[r] = r == 0 ? 0 : 2;
        usual[r] = most * r;
        places[r] = rank == one && r == 0 ? far : usual[r];
    }
    fill();
    MPI_Gatherv_c(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, one, all);
    if (rank == one) expect("gatherv, far", out[most * one + 1], 1000 * one + 1);
    fill();
    MPI_Scatterv_c(in, counts, places, MPI_INT, out, counts[rank], MPI_INT, one, all);
    if (rank != 0) expect("scatterv, far", out[1], 1000 * one + most * rank + 1);
    fill();
    MPI_Allgatherv_c(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, all);
    expect("allgatherv, far", out[most * one + 1], 1000 * one + 1);
    for (r = 0; r != size; ++r) counts[r] = rank == 0 || r == 0 ? 0 : 2;
    fill();
    MPI_Alltoallv_c(in, counts, places, MPI_INT, out, counts, places, MPI_INT, all);
    if (rank != 0) expect("alltoallv, far", out[most * one + 1], 1000 * one + most * rank + 1);
}

static void count_error(MPI_Comm* comm, int* code, ...) {
    (void)comm, (void)code;
    ++wrong;
    printf("rank %d: an error handler is called for a good type\n", rank);
}
/* Two ints in the order of the type, which the root sends as such, and the others as ints; and back. */
static void expect_order(const char* what, MPI_Datatype type, int first, int second) {
    const MPI_Comm all = MPI_COMM_WORLD;
    const int root = size - 1;
    MPI_Type_commit(&type);
    fill();
    MPI_Bcast(in, rank == root ? 1 : 2, rank == root ? type : MPI_INT, root, all);
    if (rank != root) expect(what, in[0], 1000 * root + first);
    if (rank != root) expect(what, in[1], 1000 * root + second);
    fill();
    MPI_Scatter(in, 2, MPI_INT, out, 1, type, root, all);
    expect(what, out[first], 1000 * root + 2 * rank);
    expect(what, out[second], 1000 * root + 2 * rank + 1);
    MPI_Type_free(&type);
}
static void call_with_types(void) {
    const MPI_Count one[2] = {1, 1}, places[2] = {sizeof(int), 0};
    MPI_Errhandler counts_errors;
    MPI_Datatype type, row;
    MPI_Comm_create_errhandler(count_error, &counts_errors);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, counts_errors);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, counts_errors);
    MPI_Type_contiguous_c(2, MPI_INT, &row);
    MPI_Type_dup(row, &type);
    expect_order("contiguous", type, 0, 1);
    MPI_Type_create_resized_c(row, 0, 2 * sizeof(int), &type);
    expect_order("resized", type, 0, 1);
    MPI_Type_vector_c(2, 1, 3, MPI_INT, &type);
    expect_order("vector", type, 0, 3);
    MPI_Type_create_hindexed_c(2, one, places, MPI_INT, &type);
    expect_order("backwards", type, 1, 0);
    MPI_Type_contiguous(1, type = row, &row);
    expect_order("contiguous in contiguous", row, 0, 1);
    MPI_Type_free(&type);
    MPI_Errhandler_free(&counts_errors);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static void expect_error(const char* what, int code, int right) {
    int is = MPI_SUCCESS;
    MPI_Error_class(code, &is);
    expect(what, is, right);
}
static void call_wrongly(void) {
    MPI_Comm all;
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    expect_error("bcast, root", MPI_Bcast_c(in, 1, MPI_INT, size, all), MPI_ERR_ROOT);
    expect_error("bcast, count", MPI_Bcast_c(in, -1, MPI_INT, 0, all), MPI_ERR_COUNT);
    expect_error("bcast, type", MPI_Bcast_c(in, 1, MPI_DATATYPE_NULL, 0, all), MPI_ERR_TYPE);
    expect_error("bcast, no communicator", MPI_Bcast_c(in, 1, MPI_INT, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    expect_error("allreduce, op", MPI_Allreduce_c(in, out, 1, MPI_INT, MPI_OP_NULL, all), MPI_ERR_OP);
    fill();
    expect_error("allreduce", MPI_Allreduce_c(in, out, 1, MPI_INT, MPI_MAX, all), MPI_SUCCESS);
    expect("allreduce after errors", out[0], 1000 * (size - 1));
    MPI_Comm_free(&all);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    is_wide = rank % 2;
    call_all();
    is_wide = all_are_wide = 1;
    call_all();
    call_between_groups();
    call_with_far_places();
    call_with_types();
    call_wrongly();
    if (rank == 0) printf("%d ranks: counts: %d wrong\n", size, wrong);
    MPI_Finalize();
    return wrong != 0;
}

#else

int main(void) { return 0; }

#endif
