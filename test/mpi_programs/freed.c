/* SPDX-License-Identifier: BSL-1.0 */
/* Makes many communicators at once, with one call on each, and frees them; and again: freed ROUNDS [of a part]. More than
   bough keeps, so their numbers must come back, or it would run out of them after 151 rounds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { at_once = 500 };

int main(int argc, char** argv) {
    static MPI_Comm all[at_once];
    MPI_Comm from = MPI_COMM_WORLD;
    int rounds, turn, i, me, size, wrong = 0;
    MPI_Init(&argc, &argv);
    rounds = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (argc > 2) MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &from); /* other numbers than in MPI_COMM_WORLD */
    MPI_Comm_size(from, &size);
    for (turn = 0; turn != rounds; ++turn) {
        for (i = 0; i != at_once; ++i) {
            int one = 1, sum = 0;
            MPI_Comm_dup(from, &all[i]);
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all[i]);
            wrong += sum != size;
        }
        for (i = 0; i != at_once; ++i) MPI_Comm_free(&all[i]);
    }
    if (me == 0) printf("freed: %d wrong\n", wrong);
    MPI_Finalize();
    return wrong != 0;
}
