/* SPDX-License-Identifier: BSL-1.0 */
/* An MPI program whose results depend on the order in which elements are combined, which MPI leaves open:
   BOUGH_MPI=check must not end it. With an argument, one sum of which the MPI gets the first element wrong
   (PRETEND_WRONG_SUM): it must, also beside an element that is infinite, no number or great. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program, if check does not. */
static int make_one_sum(const char* beside, int rank) {
    double in[2], out[2];
    in[0] = 1.5 + rank;
    in[1] = atof(beside); /* "inf", "nan" */
    MPI_Allreduce(in, out, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

/* Pairs one of which is no number. */
static void combine_pairs(int rank, int size) {
    struct {
        double value;
        int at;
    } in, out;
    struct {
        float value;
        int at;
    } small, small_out;
    struct {
        long double value;
        int at;
    } wide, wide_out;
    double two[2], two_out[2];
    memset(&wide, 0, sizeof wide);
    in.value = rank == 1 ? NAN : rank;
    small.value = (float)in.value;
    wide.value = in.value;
    in.at = small.at = wide.at = rank;
    two[0] = in.value;
    two[1] = rank;
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    MPI_Reduce(&in, &out, 1, MPI_DOUBLE_INT, MPI_MINLOC, size - 1, MPI_COMM_WORLD);
    MPI_Allreduce(&small, &small_out, 1, MPI_FLOAT_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    MPI_Allreduce(&wide, &wide_out, 1, MPI_LONG_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    if (MPI_2DOUBLE_PRECISION != MPI_DATATYPE_NULL)
        MPI_Allreduce(two, two_out, 1, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, MPI_COMM_WORLD);
}

/* Products that are too great or too small meanwhile, and one that is never. */
static void multiply(int rank, int size) {
    const double great[4] = {1e200, 1e-200, 1e200, 1e-200}, small[4] = {1e-200, 1e200, 1e-200, 1e200};
    double x[3], y[3];
    x[0] = great[rank % 4];
    x[1] = small[rank % 4];
    x[2] = 1 + rank / 3.0;
    MPI_Allreduce(x, y, 3, MPI_DOUBLE, MPI_PROD, MPI_COMM_WORLD);
    MPI_Reduce(x, y, 3, MPI_DOUBLE, MPI_PROD, size - 1, MPI_COMM_WORLD);
    x[0] = rank < 2 ? 1e200 : 1e-200;
    x[1] = 1 / x[0];
    MPI_Allreduce(x, y, 3, MPI_DOUBLE, MPI_PROD, MPI_COMM_WORLD);
    MPI_Reduce(x, y, 3, MPI_DOUBLE, MPI_PROD, size - 1, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
    const double some[8] = {1e16, 1, -1e16, 3, 1e16, 7, -1e16, 0.5};
    int rank, size, i;
    double x, y;
    float many[16], few[2];
    long double wide, sum;
    struct {
        double value;
        int at;
    } in, out;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1) return make_one_sum(argv[1], rank);
    x = some[rank % 8]; /* sums that cancel */
    MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, size - 1, MPI_COMM_WORLD);
    wide = x;
    MPI_Allreduce(&wide, &sum, 1, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (i = 0; i != 16; ++i) many[i] = (float)some[(rank + i) % 8];
    MPI_Reduce_scatter_block(many, few, 16 / size < 2 ? 1 : 2, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(many, few, 2, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(many, few, 2, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, many, 16, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    x = rank % 2 ? -0.0 : 0.0; /* zeros are equal */
    MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Reduce(&x, &y, 1, MPI_DOUBLE, MPI_MIN, size - 1, MPI_COMM_WORLD);
    in.value = x;
    in.at = rank;
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    MPI_Reduce(&in, &out, 1, MPI_DOUBLE_INT, MPI_MINLOC, size - 1, MPI_COMM_WORLD);
    x = rank == 1 ? NAN : rank; /* comparing with it is false */
    MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Reduce(&x, &y, 1, MPI_DOUBLE, MPI_MIN, size - 1, MPI_COMM_WORLD);
    x = rank < 2 ? 1e308 : -1e308; /* too great meanwhile */
    MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    x = rank == 1 ? -INFINITY : 1.5; /* and one that is */
    MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    combine_pairs(rank, size);
    multiply(rank, size);
    if (rank == 0) printf("%d ranks: orders: ended well\n", size);
    MPI_Finalize();
    return 0;
}
