/* SPDX-License-Identifier: BSL-1.0 */
/* An MPI program that calls MPI-4's collectives with counts of MPI_Count on odd ranks, and those with ints on even
   ones; then all with MPI_Count. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#if MPI_VERSION >= 4

enum { most = 64 };
static int rank, size, wrong, is_odd;
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
#define CALL(Name, wide, narrow) (fill(), is_odd ? MPI_##Name##_c wide : MPI_##Name narrow)
#define SAME(Name, ...) CALL(Name, (__VA_ARGS__), (__VA_ARGS__))

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

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    is_odd = rank % 2;
    call_all();
    is_odd = 1;
    call_all();
    if (rank == 0) printf("%d ranks: counts: %d wrong\n", size, wrong);
    MPI_Finalize();
    return wrong != 0;
}

#else

int main(void) { return 0; }

#endif
