// SPDX-License-Identifier: BSL-1.0
// An MPI program in which an allocation of one rank fails in the first collective of a communicator: the first
// one, then the second one, and so on. All ranks must get the sum, or all an error, and no exception may come out
// of MPI.
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <new>

namespace {

int allowed = -1; // how many allocations succeed before one fails; -1: none fails
int refused = 0;

void* get(std::size_t bytes) noexcept { return std::malloc(bytes == 0 ? 1 : bytes); }
void* get_or_throw(std::size_t bytes) {
    if (allowed >= 0 && allowed-- == 0) {
        ++refused;
        throw std::bad_alloc();
    }
    if (void* const at = get(bytes)) return at;
    throw std::bad_alloc();
}
// Of all ranks, by messages, which stay with the MPI.
int sum_of_all(int mine, int rank, int size) {
    int sum = mine;
    for (int r = 1; r < size; ++r) {
        int other = 0;
        if (rank == 0) MPI_Recv(&other, 1, MPI_INT, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 0) sum += other;
    }
    if (rank != 0) MPI_Send(&mine, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    for (int r = 1; r < size; ++r)
        if (rank == 0) MPI_Send(&sum, 1, MPI_INT, r, 2, MPI_COMM_WORLD);
    if (rank != 0) MPI_Recv(&sum, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return sum;
}

} // namespace

// The library that is loaded for MPI allocates by these, too.
void* operator new(std::size_t bytes) { return get_or_throw(bytes); }
void* operator new[](std::size_t bytes) { return get_or_throw(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return get(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return get(bytes); }
void operator delete(void* at) noexcept { std::free(at); }
void operator delete[](void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }
void operator delete[](void* at, std::size_t) noexcept { std::free(at); }

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int wrong = 0, refused_in = 0, with_error = 0;
    // Until nothing is refused any more. After an error every later collective of bough fails.
    for (int n = 0; n != 500 && with_error == 0; ++n) {
        MPI_Comm part = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &part);
        MPI_Comm_set_errhandler(part, MPI_ERRORS_RETURN);
        const int one = 1;
        int sum = 0;
        refused = 0;
        allowed = rank == n % size ? n / size : -1;
        const int code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, part);
        allowed = -1;
        const int any_refused = sum_of_all(refused != 0, rank, size);
        with_error = sum_of_all(code != MPI_SUCCESS, rank, size);
        wrong += with_error != 0 && with_error != size;
        wrong += code == MPI_SUCCESS && sum != size;
        refused_in += any_refused;
        if (any_refused == 0 && n % size == size - 1) break;
        if (with_error == 0) MPI_Comm_free(&part);
    }
    wrong = sum_of_all(wrong, rank, size);
    if (rank == 0)
        std::printf("%d ranks: in %d first collectives an allocation failed; %s; %d wrong\n", size, refused_in,
                    with_error != 0 ? "the last one ended with an error on all ranks" : "all ended well", wrong);
    std::fflush(stdout);
    MPI_Finalize();
    return wrong != 0 || refused_in < 2 * size;
}
