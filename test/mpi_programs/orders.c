/* SPDX-License-Identifier: BSL-1.0 */
/* Operations of several communicators that each rank starts in an order of its own, however long they are. Within a
 * communicator the order is that of the list. When a rank waits for one, it has started all that come before it in the list:
 * so no rank waits in vain. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { operations = 40 };
static int faults = 0, rank, size;
static unsigned draw(unsigned long long* of, unsigned most) {
    *of = *of * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(*of >> 33) % most;
}

struct one {
    int what, comm, root, count, started;
    int *in, *out;
    MPI_Request request;
};
static struct one list[operations];
static MPI_Comm comms[4];

static int of_rank(int r, int i) { return r * 1000 + i % 911; }
static void start(struct one* x) {
    MPI_Comm comm = comms[x->comm];
    x->started = 1;
    switch (x->what) {
    case 0: MPI_Iallreduce(x->in, x->out, x->count, MPI_INT, MPI_SUM, comm, &x->request); break;
    case 1: MPI_Ibcast(x->in, x->count, MPI_INT, x->root, comm, &x->request); break;
    case 2: MPI_Ireduce(x->in, x->out, x->count, MPI_INT, MPI_SUM, x->root, comm, &x->request); break;
    case 3: MPI_Igather(x->in, x->count, MPI_INT, x->out, x->count, MPI_INT, x->root, comm, &x->request); break;
    default: MPI_Iallgather(x->in, x->count, MPI_INT, x->out, x->count, MPI_INT, comm, &x->request);
    }
}
static int is_right(const struct one* x) {
    int me, ranks, i, r;
    MPI_Comm_rank(comms[x->comm], &me);
    MPI_Comm_size(comms[x->comm], &ranks);
    for (i = 0; i != x->count; ++i) {
        int sum = 0;
        for (r = 0; r != ranks; ++r) sum += of_rank(r, i);
        if (x->what == 0 && x->out[i] != sum) return 0;
        if (x->what == 1 && x->in[i] != of_rank(x->root, i)) return 0;
        if (x->what == 2 && me == x->root && x->out[i] != sum) return 0;
        if (x->what == 4 || (x->what == 3 && me == x->root))
            for (r = 0; r != ranks; ++r)
                if (x->out[r * x->count + i] != of_rank(r, i)) return 0;
    }
    return 1;
}
static void some_order(unsigned seed) {
    static const int counts[] = {1, 50, 3000, 40000, 200000};
    unsigned long long common = seed, own = seed * 977u + (unsigned)rank + 1;
    int k, i, waited = 0;
    for (k = 0; k != operations; ++k) {
        struct one* x = &list[k];
        int me, ranks;
        x->what = (int)draw(&common, 5);
        x->comm = (int)draw(&common, 4);
        x->root = (int)draw(&common, (unsigned)(x->comm == 3 && size > 1 ? size / 2 : size)); /* each half has it */
        x->count = counts[draw(&common, 5)];
        x->started = 0;
        MPI_Comm_rank(comms[x->comm], &me);
        MPI_Comm_size(comms[x->comm], &ranks);
        x->in = malloc(sizeof(int) * (size_t)x->count);
        x->out = malloc(sizeof(int) * (size_t)x->count * (size_t)(x->what > 2 ? ranks : 1));
        for (i = 0; i != x->count; ++i) x->in[i] = x->what == 1 && me != x->root ? -1 : of_rank(me, i);
    }
    while (waited != operations) {
        const int c = (int)draw(&own, 6);
        for (k = 0; k != operations && c < 4; ++k)
            if (list[k].comm == c && !list[k].started) {
                start(&list[k]);
                break;
            }
        if (c < 4) continue;
        for (k = 0; k <= waited; ++k)
            if (!list[k].started) start(&list[k]);
        MPI_Wait(&list[waited].request, MPI_STATUS_IGNORE);
        if (!is_right(&list[waited])) {
            ++faults;
            printf("WRONG: rank %d of %d, seed %u, operation %d of kind %d\n", rank, size, seed, waited, list[waited].what);
        }
        ++waited;
    }
    for (k = 0; k != operations; ++k) free(list[k].in), free(list[k].out);
}

/* Rank 0 starts broadcasts, and blocks in what the others wait for first. */
static void roots_run_ahead(int count, int length) {
    int* x = calloc((size_t)length, sizeof(int));
    MPI_Request* all = malloc(sizeof(MPI_Request) * (size_t)count);
    int k, sum = 0;
    x[length - 1] = rank == 0 ? 7 : 0;
    for (k = 0; rank == 0 && k != count; ++k) MPI_Ibcast(x, length, MPI_INT, 0, comms[1], &all[k]);
    MPI_Allreduce(&size, &sum, 1, MPI_INT, MPI_SUM, comms[2]);
    for (k = 0; rank != 0 && k != count; ++k) MPI_Ibcast(x, length, MPI_INT, 0, comms[1], &all[k]);
    MPI_Waitall(count, all, MPI_STATUSES_IGNORE);
    if (x[length - 1] != 7 || sum != size * size) ++faults, printf("WRONG: rank %d: roots run ahead\n", rank);
    free(all);
    free(x);
}

int main(int argc, char** argv) {
    unsigned seed;
    int k;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comms[3]);
    for (k = 0; k != 4; ++k) MPI_Barrier(comms[k]);
    for (seed = 1; seed != 6; ++seed) some_order(seed);
    roots_run_ahead(1, 4000000);
    roots_run_ahead(100, 10000);
    roots_run_ahead(5000, 2);
    for (k = 1; k != 4; ++k) MPI_Comm_free(&comms[k]);
    MPI_Finalize();
    return faults != 0;
}
