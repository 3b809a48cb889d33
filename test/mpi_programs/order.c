/* SPDX-License-Identifier: BSL-1.0 */
/* An MPI program whose results depend on the order in which elements are combined, which MPI leaves open:
   BOUGH_MPI=check must not end it. With an argument, a sum that the MPI gets wrong (PRETEND_WRONG_SUM): it must. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>

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
    x = 1.5 + rank;
    if (argc > 1) MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d ranks: orders: ended well\n", size);
    MPI_Finalize();
    return 0;
}
