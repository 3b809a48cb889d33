/* SPDX-License-Identifier: BSL-1.0 */
/* An MPI program whose attributes have callbacks that call collectives: when a communicator is copied, when it is
   freed, on the communicator itself, and in MPI_Finalize. And whose op gets elements that begin with what does not
   travel, and must be aligned as they are in the program. */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static int rank, size, wrong, deleted;

static void expect_sum(MPI_Comm comm, const char* where) {
    int one = 1, sum = 0;
    if (MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size) return;
    ++wrong;
    printf("rank %d: %s: a sum of %d\n", rank, where, sum);
}
static int copy(MPI_Comm comm, int key, void* extra, void* from, void* to, int* flag) {
    (void)key, (void)extra;
    expect_sum(comm, "copy");
    *(void**)to = from;
    *flag = 1;
    return MPI_SUCCESS;
}
static int drop(MPI_Comm comm, int key, void* value, void* extra) {
    (void)key, (void)value, (void)extra;
    ++deleted;
    expect_sum(comm, "delete");
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_SUCCESS;
}
static int end(MPI_Comm comm, int key, void* value, void* extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    expect_sum(MPI_COMM_WORLD, "MPI_Finalize");
    return MPI_SUCCESS;
}

struct element {
    int stays, sum;
    _Alignas(32) double sums[4];
};
static void add(void* in, void* out, int* n, MPI_Datatype* type) {
    int i, k;
    (void)type;
    if (((uintptr_t)in | (uintptr_t)out) % _Alignof(struct element) == 0)
        for (i = 0; i != *n; ++i) {
            const struct element* const from = (const struct element*)in + i;
            struct element* const to = (struct element*)out + i;
            to->sum += from->sum;
            for (k = 0; k != 4; ++k) to->sums[k] += from->sums[k];
        }
    else if (++wrong)
        printf("rank %d: an element is not aligned\n", rank);
}
static void combine_elements(void) {
    static struct element in[100], out[100];
    const int counts[2] = {1, 4};
    const MPI_Aint places[2] = {offsetof(struct element, sum), offsetof(struct element, sums)};
    const MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
    MPI_Datatype parts, type;
    MPI_Op op;
    int i;
    MPI_Type_create_struct(2, counts, places, types, &parts);
    MPI_Type_create_resized(parts, 0, sizeof(struct element), &type);
    MPI_Type_commit(&type);
    MPI_Op_create(add, 1, &op);
    for (i = 0; i != 100; ++i) in[i].sum = i, in[i].sums[3] = i, out[i].stays = -1;
    MPI_Allreduce(in, out, 100, type, op, MPI_COMM_WORLD);
    for (i = 0; i != 100; ++i)
        if ((out[i].stays != -1 || out[i].sum != i * size || out[i].sums[3] != i * size) && ++wrong)
            printf("rank %d: element %d: %d, %g\n", rank, i, out[i].sum, out[i].sums[3]);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Type_free(&parts);
}

int main(int argc, char** argv) {
    int round, first, second, last;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_create_keyval(copy, drop, &first, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop, &second, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end, &last, NULL);
    for (round = 0; round != 16; ++round) { /* bough's part of one is made before its attributes, between them, ... */
        MPI_Comm one, other;
        MPI_Comm_dup(MPI_COMM_WORLD, &one);
        if (round % 2) expect_sum(one, "before");
        MPI_Comm_set_attr(one, first, NULL);
        if (round / 2 % 2) expect_sum(one, "between");
        MPI_Comm_set_attr(one, second, NULL);
        if (round / 4 % 2) expect_sum(one, "after");
        MPI_Comm_dup(one, &other);
        if (round / 8 % 2) expect_sum(other, "copied");
        MPI_Comm_free(&one);
        if (round % 3)
            MPI_Comm_free(&other);
        else
            MPI_Comm_disconnect(&other);
    }
    if (deleted != 16 * 3 && ++wrong) printf("rank %d: %d callbacks\n", rank, deleted);
    MPI_Comm_set_attr(MPI_COMM_SELF, last, NULL);
    combine_elements();
    if (rank == 0) printf("%d ranks: callbacks: %d wrong\n", size, wrong);
    MPI_Finalize();
    return wrong != 0;
}
