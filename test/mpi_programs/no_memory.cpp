// SPDX-License-Identifier: BSL-1.0
// An MPI program in which an allocation of one rank fails in the first collectives of a communicator: the first
// one, then the second one, and so on; each time on a new communicator. The collectives are sums, two of them
// nonblocking and two persistent, and sums of elements with gaps, which are packed. What ends well must have the right result, an
// error must not reach the next communicator, and no exception may come out of MPI.
//
// no_memory N: with BOUGH_MPI=check, the N-th copy fails that check makes of a buffer.
// no_memory start N: the N-th allocation of rank 1 fails while MPI starts, that is while ranks join.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <new>
#include <string_view>
#if defined(OPEN_MPI) && OPEN_MPI
#include <mpi-ext.h>
#endif

namespace {

int allowed = -1; // how many allocations succeed before one fails; -1: none fails
int refused = 0;
std::size_t refused_bytes = 0; // only allocations of so many bytes count; 0: all

void* get(std::size_t bytes) noexcept { return std::malloc(bytes == 0 ? 1 : bytes); }
void* get_or_throw(std::size_t bytes) {
    if (allowed >= 0 && (refused_bytes == 0 || bytes == refused_bytes) && allowed-- == 0) {
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

constexpr int most = 1000;

// Elements of two numbers with a gap between them.
void add(void* in, void* inout, int* count, MPI_Datatype*) {
    const int* const from = static_cast<int*>(in);
    int* const to = static_cast<int*>(inout);
    for (int i = 0; i != *count; ++i)
        for (const int at : {3 * i, 3 * i + 2}) to[at] += from[at];
}
struct sums {
    sums() {
        MPI_Type_vector(2, 1, 2, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Op_create(add, 1, &op);
    }
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    std::array<int, 3 * most> in{}, out{};

    // The code of a sum of `count` elements, over all ranks; is_right: what came is right.
    int make(int count, int size, MPI_Comm comm, bool& is_right) {
        in.fill(1);
        out.fill(-1);
        const int code = MPI_Allreduce(in.data(), out.data(), count, type, op, comm);
        is_right = true;
        for (int i = 0; i != count; ++i)
            is_right = is_right && out[static_cast<std::size_t>(3 * i)] == size &&
                       out[static_cast<std::size_t>(3 * i + 1)] == -1 &&
                       out[static_cast<std::size_t>(3 * i + 2)] == size;
        return code;
    }
};

// Two sums that are started and then waited for: start(in, sum, request). If the first one fails on some rank, the
// second one must fail on all.
enum started_outcome { both_right, both_failed, wrong_result, failed_in_part };
template <class Start>
started_outcome make_two(int rank, int size, const Start& start) {
    static const int one = 1;
    static int sum = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    bool has_failed = false, is_wrong = false, failed_apart = false;
    for (int call = 0; call != 2; ++call) {
        sum = 0;
        int code = start(&one, &sum, &request);
        if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        is_wrong = is_wrong || (code == MPI_SUCCESS && sum != size);
        const int errors = sum_of_all(code != MPI_SUCCESS, rank, size);
        failed_apart = failed_apart || (has_failed && errors != size);
        has_failed = has_failed || errors != 0;
    }
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    return is_wrong ? wrong_result : failed_apart ? failed_in_part : has_failed ? both_failed : both_right;
}
started_outcome make_nonblocking(int rank, int size, MPI_Comm comm) {
    return make_two(rank, size, [comm](const int* in, int* sum, MPI_Request* request) {
        return MPI_Iallreduce(in, sum, 1, MPI_INT, MPI_SUM, comm, request);
    });
}
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_HAVE_MPI_EXT_PCOLLREQ
started_outcome make_persistent(int rank, int size, MPI_Comm comm) {
    return make_two(rank, size, [comm](const int* in, int* sum, MPI_Request* request) {
        if (*request == MPI_REQUEST_NULL)
            if (const int code = MPIX_Allreduce_init(in, sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, request);
                code != MPI_SUCCESS)
                return code;
        return MPI_Start(request);
    });
}
#else
started_outcome make_persistent(int, int, MPI_Comm) { return both_right; }
#endif

int copies(int number, int rank, int size) {
    static std::array<int, 12345> both{};
    both.fill(rank);
    refused_bytes = sizeof(both);
    allowed = rank == 1 ? number - 1 : -1;
    MPI_Allreduce(MPI_IN_PLACE, both.data(), static_cast<int>(both.size()), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    allowed = -1;
    int wrong = 0;
    for (const int x : both) wrong += x != size * (size - 1) / 2;
    if (rank == 1) std::printf("copy %d was %s; %d wrong\n", number, refused != 0 ? "refused" : "made", wrong);
    std::fflush(stdout);
    MPI_Finalize();
    return wrong != 0;
}

// MPI has started without an allocation on rank 1: a sum is right, by bough or by the MPI.
int started(int rank, int size) {
    const bool was_refused = refused != 0;
    allowed = -1;
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const bool is_wrong = sum != size * (size - 1) / 2;
    if (rank == 1) std::printf("an allocation was %s; %d wrong\n", was_refused ? "refused" : "made", is_wrong);
    std::fflush(stdout);
    MPI_Finalize();
    return is_wrong;
}
bool is_rank_1() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
        if (const char* const said = std::getenv(name); said != nullptr) return std::string_view(said) == "1";
    return false;
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
    const bool is_start = argc > 2 && std::string_view(argv[1]) == "start";
    if (is_start && is_rank_1()) allowed = std::atoi(argv[2]) - 1;
    MPI_Init(&argc, &argv);
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (is_start) return started(rank, size);
    if (argc > 1) return copies(std::atoi(argv[1]), rank, size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int one = 1;
    int sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    static sums with_gaps;
    int wrong = 0, refused_in = 0, failed = 0, later_failed = 0, persistent_failed = 0;
    bool is_over = false, is_broken = false; // nothing is refused any more; bough takes nothing any more
    // `whose` rank, and which of its allocations.
    for (int whose = 0, which = 0; !is_over && !is_broken; whose = (whose + 1) % size, which += whose == 0) {
        MPI_Comm part = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &part);
        MPI_Comm_set_errhandler(part, MPI_ERRORS_RETURN);
        refused = 0;
        allowed = rank == whose ? which : -1;
        bool has_failed = false;
        for (int step = 0; step != 4; ++step) {
            sum = 0;
            bool is_right = true;
            int code = MPI_SUCCESS;
            if (step == 0) {
                code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, part);
                is_right = sum == size;
            } else {
                code = with_gaps.make(step == 2 && !has_failed ? most : 3, size, part, is_right);
            }
            const int errors = sum_of_all(code != MPI_SUCCESS, rank, size);
            const auto note = [&](bool is_wrong, const char* what) {
                if (is_wrong && ++wrong)
                    std::printf("rank %d, allocation %d of rank %d, call %d: %s\n", rank, which, whose, step, what);
            };
            note(code == MPI_SUCCESS && !is_right, "a wrong result");
            note(step == 0 && errors != 0 && errors != size, "an error on some ranks");
            note(has_failed && errors != size, "no error on a broken communicator");
            if (has_failed) break;
            has_failed = errors != 0;
            if (step != 0 || has_failed) continue;
            const started_outcome came = make_nonblocking(rank, size, part);
            note(came == wrong_result, "a wrong result of a nonblocking sum");
            note(came == failed_in_part, "nonblocking sums that failed on some ranks");
            later_failed += came == both_failed;
            const started_outcome again = make_persistent(rank, size, part);
            note(again == wrong_result, "a wrong result of a persistent sum");
            note(again == failed_in_part, "persistent sums that failed on some ranks");
            persistent_failed += again == both_failed;
        }
        allowed = -1;
        const int any_refused = sum_of_all(refused != 0, rank, size);
        refused_in += any_refused;
        failed += has_failed;
        if (has_failed && any_refused == 0)
            ++wrong, std::printf("allocation %d of rank %d: an error without a cause\n", which, whose);
        MPI_Comm_free(&part);
        is_over = any_refused == 0 && whose == size - 1;
        is_broken = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS;
        is_broken = sum_of_all(is_broken, rank, size) != 0;
    }
    wrong = sum_of_all(wrong, rank, size);
    if (rank == 0)
        std::printf("%d ranks: on %d new communicators an allocation failed; on %d of them calls failed, nonblocking "
                    "ones on %d, persistent ones on %d; "
                    "%s; %d wrong\n",
                    size, refused_in, failed, later_failed, persistent_failed,
                    is_broken ? "the last one broke all communicators" : "all others were made as always", wrong);
    std::fflush(stdout);
    MPI_Finalize();
    return wrong != 0 || refused_in < 2 * size || failed < 2 * size;
}
