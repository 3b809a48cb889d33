/* SPDX-License-Identifier: BSL-1.0 */
/* An MPI program whose calls have wrong arguments, the same on all ranks. The MPI must refuse each with its class of
   error, with bough as without, call the right handler once, and the next right call must come out right. */
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

/* Which handlers have been called, and how often. */
static MPI_Comm copy = MPI_COMM_NULL;
static int calls_of_copy = 0, calls_of_world = 0;
static void handle(MPI_Comm* comm, int* code, ...) {
    (void)code;
    ++*(*comm == copy ? &calls_of_copy : &calls_of_world);
}
static void expect_handlers(const char* what, int of_copy, int of_world) {
    if (calls_of_copy != of_copy || calls_of_world != of_world) {
        ++wrong;
        printf("rank %d: %s: handlers were called %d and %d times, not %d and %d\n", rank, what, calls_of_copy,
               calls_of_world, of_copy, of_world);
    }
    calls_of_copy = calls_of_world = 0;
}

/* An error calls the handler of its communicator, once. */
static void call_handlers(double* in, double* out, int size) {
    MPI_Errhandler handler;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(copy, handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Barrier(copy);
    expect("handler, root", MPI_Bcast(in, 1, MPI_DOUBLE, size, copy), MPI_ERR_ROOT);
    expect_handlers("root", 1, 0);
    expect("handler, no type", MPI_Bcast(in, 1, MPI_DATATYPE_NULL, 0, copy), MPI_ERR_TYPE);
    expect_handlers("no type", 1, 0);
    expect("handler, no op", MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_OP_NULL, copy), MPI_ERR_OP);
    expect_handlers("no op", 1, 0);
    expect("handler, no communicator", MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    expect_handlers("no communicator", 0, 1);
#ifdef MPICH /* handles are numbers there */
    {
        MPI_Comm freed, gone;
        expect("handle of no type", MPI_Bcast(in, 1, (MPI_Datatype)0x12345678, 0, copy), MPI_ERR_TYPE);
        expect_handlers("handle of no type", 1, 0);
        expect("handle of no op", MPI_Allreduce(in, out, 1, MPI_DOUBLE, (MPI_Op)0x12345678, copy), MPI_ERR_OP);
        expect_handlers("handle of no op", 1, 0);
        expect("handle of no communicator", MPI_Barrier((MPI_Comm)0x12345678), MPI_ERR_COMM);
        expect_handlers("handle of no communicator", 0, 1);
        MPI_Comm_dup(MPI_COMM_SELF, &freed);
        gone = freed;
        MPI_Comm_free(&freed);
        expect("freed communicator", MPI_Barrier(gone), MPI_ERR_COMM);
        expect_handlers("freed communicator", 0, 1);
        expect("exscan, result in place", MPI_Exscan(in, MPI_IN_PLACE, 1, MPI_DOUBLE, MPI_SUM, copy), MPI_ERR_BUFFER);
        expect_handlers("exscan, result in place", 1, 0);
    }
#endif
    MPI_Comm_free(&copy);
    copy = MPI_COMM_NULL;
    MPI_Errhandler_free(&handler);
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
    call_handlers(in, out, size);
    expect_sum("handlers", size);
    if (wrong == 0 && rank == 0) printf("%d ranks: wrong arguments: as the MPI says\n", size);
    MPI_Finalize();
    return wrong != 0;
}
