/* SPDX-License-Identifier: BSL-1.0 */
/* An MPI program with persistent collectives, between blocking ones, started in another order on each rank, with
 * types, ops and a communicator that are freed while requests have them.
 *   persistent many      in two rounds more requests than there are numbers of communicators, freed in another order
 *                        on each rank
 *   persistent late      a rank comes after the deadline (BOUGH_MPI_DEADLINE) to one start
 *   persistent differ    ranks initialise different calls
 *   persistent host      no more than MPIs do themselves. Open MPI 4.1.4 does not hold types and ops; MPICH 4.0.2
 *                        has wrong results of some started again, and hangs in a wait for an inactive request */
#include <mpi.h>
#include <stdio.h>
#if defined(OPEN_MPI) && OPEN_MPI
#include <mpi-ext.h>
#endif
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_HAVE_MPI_EXT_PCOLLREQ
#define INIT(name) MPIX_##name##_init
#elif MPI_VERSION >= 4
#define INIT(name) MPI_##name##_init
#endif

#ifdef INIT
enum { requests = 6 };

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
    int i;
    (void)type;
    for (i = 0; i != 2 * *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

/* Several requests of one communicator, again and again. */
static int in_any_order(MPI_Comm comm) {
    int rank, size, round, i, wrong = 0, other = 0;
    int mine[2] = {0, 0}, sum[2] = {0, 0}, word = 0, all[64] = {0}, prefix = 0, pair[2] = {0, 0}, added[2] = {0, 0};
    MPI_Request each[requests];
    MPI_Datatype two;
    MPI_Op op;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Type_contiguous(2, MPI_INT, &two);
    MPI_Type_commit(&two);
    MPI_Op_create(add, 1, &op);
    INIT(Allreduce)(mine, sum, 2, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &each[0]);
    INIT(Barrier)(comm, MPI_INFO_NULL, &each[1]);
    INIT(Bcast)(&word, 1, MPI_INT, size - 1, comm, MPI_INFO_NULL, &each[2]);
    INIT(Allgather)(mine, 1, MPI_INT, all, 1, MPI_INT, comm, MPI_INFO_NULL, &each[3]);
    INIT(Scan)(mine, &prefix, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &each[4]);
    INIT(Allreduce)(pair, added, 1, two, op, comm, MPI_INFO_NULL, &each[5]);
    MPI_Type_free(&two);
    MPI_Op_free(&op);
    for (round = 0; round != 200; ++round) {
        mine[0] = rank + round, mine[1] = -rank;
        pair[0] = round, pair[1] = rank;
        word = rank == size - 1 ? round : -1;
        if (round % 3 == 0) {
            MPI_Startall(requests, each);
            MPI_Allreduce(&round, &other, 1, MPI_INT, MPI_SUM, comm);
            MPI_Waitall(requests, each, MPI_STATUSES_IGNORE);
            wrong += other != round * size;
        } else if (round % 3 == 1) { /* each rank in an order of its own */
            for (i = 0; i != requests; ++i) MPI_Start(&each[(i + rank) % requests]);
            for (i = 0; i != requests; ++i) MPI_Wait(&each[(requests - i + rank) % requests], MPI_STATUS_IGNORE);
        } else { /* tested, and not started in every round */
            int done = 0;
            if (round % 2 != 0) MPI_Start(&each[1]);
            MPI_Start(&each[0]), MPI_Start(&each[2]), MPI_Start(&each[3]), MPI_Start(&each[4]), MPI_Start(&each[5]);
            while (!done) MPI_Testall(requests, each, &done, MPI_STATUSES_IGNORE);
        }
        wrong += sum[0] != size * (size - 1) / 2 + round * size || sum[1] != -size * (size - 1) / 2;
        wrong += word != round || prefix != rank * (rank + 1) / 2 + round * (rank + 1);
        wrong += added[0] != round * size || added[1] != size * (size - 1) / 2;
        for (i = 0; i != size; ++i) wrong += all[i] != i + round;
    }
    for (i = 0; i != requests; ++i) MPI_Request_free(&each[i]);
    return wrong;
}

/* Many requests, made and freed. Waiting for an inactive one returns at once. */
static int one_after_the_other(MPI_Comm comm) {
    int rank, size, i, wrong = 0, mine, sum = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (i = 0; i != 300; ++i) {
        MPI_Request r;
        INIT(Allreduce)(&mine, &sum, 1, MPI_INT, MPI_MAX, comm, MPI_INFO_NULL, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        wrong += r == MPI_REQUEST_NULL;
        mine = rank + i;
        if (i % 3 != 0) {
            MPI_Start(&r);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
            wrong += sum != size - 1 + i || r == MPI_REQUEST_NULL;
        }
        MPI_Request_free(&r);
        wrong += r != MPI_REQUEST_NULL;
    }
    return wrong;
}

static int many(MPI_Comm comm) {
    enum { most = 16500 };
    static MPI_Request each[most];
    int rank, size, round, i, one = 1, sum = 0, wrong = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (round = 0; round != 2; ++round) {
        for (i = 0; i != most; ++i) {
            INIT(Allreduce)(&one, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &each[i]);
            if (i % 500 != 0) continue;
            sum = 0;
            MPI_Start(&each[i]);
            MPI_Wait(&each[i], MPI_STATUS_IGNORE);
            wrong += sum != size;
        }
        for (i = 0; i != most; ++i) MPI_Request_free(&each[rank % 2 == 0 ? i : most - 1 - i]);
    }
    return wrong;
}

/* Rank 1 and the others: who comes first waits, by messages, which stay with the MPI. */
static void meet(MPI_Comm comm, int rank, int size) {
    int token = 0, r;
    for (r = 0; rank == 1 && r != size; ++r)
        if (r != 1) MPI_Sendrecv_replace(&token, 1, MPI_INT, r, 0, r, 0, comm, MPI_STATUS_IGNORE);
    if (rank != 1) MPI_Sendrecv_replace(&token, 1, MPI_INT, 1, 0, 1, 0, comm, MPI_STATUS_IGNORE);
}

/* The call fails, the request stays. A start that is active is not started again. */
static int late(MPI_Comm comm) {
    int rank, size, i, code, mine = 0, sum = 0, wrong = 0;
    MPI_Request r;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    INIT(Allreduce)(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &r);
    for (i = 0; i != 5; ++i) {
        mine = i;
        if (i == 2 && rank == 1) meet(comm, rank, size); /* when the others have given up */
        MPI_Start(&r);
        if (i == 1) wrong += MPI_Start(&r) == MPI_SUCCESS;
        code = MPI_Wait(&r, MPI_STATUS_IGNORE);
        wrong += r == MPI_REQUEST_NULL || (i != 2 && (code != MPI_SUCCESS || sum != i * size));
        wrong += i == 2 && rank != 1 && code == MPI_SUCCESS;
        if (i == 2 && rank != 1) meet(comm, rank, size);
        if (i == 2) meet(comm, rank, size);
    }
    MPI_Request_free(&r);
    return wrong + (r != MPI_REQUEST_NULL);
}

static int differ(MPI_Comm comm) {
    int rank, value = 0;
    MPI_Request r;
    MPI_Comm_rank(comm, &rank);
    if (rank == 1)
        INIT(Bcast)(&value, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &r);
    else
        INIT(Barrier)(comm, MPI_INFO_NULL, &r);
    return 1;
}

static int by_host(MPI_Comm comm) {
    int rank, size, i, wrong = 0, mine = 0, sum = 0, other = 0;
    MPI_Request both[2];
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    INIT(Allreduce)(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &both[0]);
    INIT(Barrier)(comm, MPI_INFO_NULL, &both[1]);
    for (i = 0; i != 200; ++i) {
        mine = rank + i;
        MPI_Startall(2, both);
        MPI_Allreduce(&i, &other, 1, MPI_INT, MPI_SUM, comm);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        wrong += sum != size * (size - 1) / 2 + i * size || other != i * size;
    }
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
    return wrong;
}
#endif

int main(int argc, char** argv) {
    int rank = 0, size = 1, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
#ifdef INIT
    if (argc > 1) {
        const char how = argv[1][0];
        int (*const test)(MPI_Comm) = how == 'm' ? many : how == 'l' ? late : how == 'd' ? differ : by_host;
        wrong += test(MPI_COMM_WORLD);
    } else {
        MPI_Comm some;
        MPI_Comm_split(MPI_COMM_WORLD, rank == 0, -rank, &some);
        wrong += in_any_order(some); /* before a blocking collective */
        wrong += one_after_the_other(some);
        MPI_Comm_free(&some);
        wrong += in_any_order(MPI_COMM_WORLD);
        wrong += one_after_the_other(MPI_COMM_WORLD);
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d ranks: persistent collectives between others: %d wrong\n", size, wrong);
#else
    if (rank == 0) printf("%d ranks: this MPI has no persistent collectives\n", size);
#endif
    MPI_Finalize();
    return wrong != 0;
}
