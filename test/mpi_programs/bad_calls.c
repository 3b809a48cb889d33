/* SPDX-License-Identifier: BSL-1.0 */
/* An MPI program whose calls have wrong arguments, the same on all ranks. The MPI must refuse each with its class of
   error, with bough as without, and the next right call must come out right. */
#include <mpi.h>
#include <stdio.h>

static int wrong = 0, rank = 0;

static void expect(const char* what, int code, int class) {
    int is = MPI_SUCCESS;
    MPI_Error_class(code, &is);
    if (is == class) return;
    ++wrong;
    printf("rank %d: %s: class %d, not %d\n", rank, what, is, class);
}
static void expect_sum(const char* after, int size) {
    int one = 1, sum = 0;
    int code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (code == MPI_SUCCESS && sum == size) return;
    ++wrong;
    printf("rank %d: the call after %s: code %d, sum %d\n", rank, after, code, sum);
}

int main(int argc, char** argv) {
    static double in[64], out[64];
    int size = 1;
    MPI_Datatype gaps;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &gaps); /* not committed */
    expect("bcast, type", MPI_Bcast(in, 1, gaps, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    expect("allgather, type", MPI_Allgather(in, 1, gaps, out, 1, gaps, MPI_COMM_WORLD), MPI_ERR_TYPE);
    expect("alltoall, type", MPI_Alltoall(in, 1, gaps, out, 1, gaps, MPI_COMM_WORLD), MPI_ERR_TYPE);
    expect_sum("types that are not committed", size);
    MPI_Type_commit(&gaps);
    expect("bcast, committed", MPI_Bcast(in, 1, gaps, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    MPI_Type_free(&gaps);
    expect("bcast, no type", MPI_Bcast(in, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    expect("bcast, root", MPI_Bcast(in, 1, MPI_DOUBLE, size, MPI_COMM_WORLD), MPI_ERR_ROOT);
    expect("bcast, count", MPI_Bcast(in, -1, MPI_DOUBLE, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    expect("reduce, root", MPI_Reduce(in, out, 1, MPI_DOUBLE, MPI_SUM, -1, MPI_COMM_WORLD), MPI_ERR_ROOT);
    expect("allreduce, op", MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP);
    expect("allreduce, op and type", MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
#ifndef MPICH /* 4.0.2 itself crashes */
    expect("allreduce, count", MPI_Allreduce(in, out, -1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_COUNT);
#endif
    expect("scan, op", MPI_Scan(in, out, 1, MPI_DOUBLE, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP);
    expect("gather, root", MPI_Gather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, size + 1, MPI_COMM_WORLD), MPI_ERR_ROOT);
    expect("scatter, count", MPI_Scatter(in, -2, MPI_DOUBLE, out, -2, MPI_DOUBLE, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    expect("barrier, communicator", MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    expect_sum("calls with wrong arguments", size);
    if (wrong == 0 && rank == 0) printf("%d ranks: wrong arguments: as the MPI says\n", size);
    MPI_Finalize();
    return wrong != 0;
}
