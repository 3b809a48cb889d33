// SPDX-License-Identifier: BSL-1.0
// Runs under mpirun over 4 ranks on one machine: one of them is stopped (or killed) in the middle of its long messages, while
// the others take long messages from each other, too. A stopped sender goes on when the others are behind their deadline: each
// call ends then with the deadline, names that rank, and writes nothing any more to the memory that it was given; and the next
// call is well. If the sender is killed, mpirun ends the job.
//
//   sender_stops FILE stop|kill        FILE: of 256 MiB, which all ranks share; it is made anew
// Prints one line per fault, and "verdict 0": right; 1: not; 3: no message was in the middle, as MPI reads the
// memory of other processes, or the machine was too busy. Its exit status says nothing.
// MPI_Finalize gets five seconds: MPICH over UCX's tcp does not always return from it after long messages, also in programs
// without bough (4.0.2 with UCX 1.13.1).
#include "mpi/gives_way.hpp"
#include <bough/algorithm/alltoall/pairwise.hpp>
#include <bough/alltoall.hpp>
#include <bough/barrier.hpp>
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/core/absence.hpp>
#include <bough/error.hpp>
#include <bough/os/clock.hpp>
#include <bough/transport/mpi.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <span>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace bough;

namespace {

constexpr rank_t ranks = 4, sender = 2;
constexpr std::size_t block = std::size_t{16} << 20; // far more than is under way between two ranks at a time
constexpr std::byte sent{7};

// What all processes see. It begins as zeros.
struct board {
    struct seat {
        std::atomic<int> pid{0};
        std::atomic<bool> over{false};           // its call has ended
        std::atomic<std::uint64_t> polls{0};     // so far
        std::atomic<std::uint64_t> looked_ns{0}; // its clock at its latest poll
    };
    std::array<seat, ranks> of;
    std::atomic<std::uint64_t> struck_ns{0};
    // When all others were behind their deadline, MPI still had the memory of one.
    std::atomic<bool> is_held{false};
    std::byte out[ranks][ranks * block];

    // Has a rank got the beginning of the sender's message? Atomic, as its process writes there.
    bool has_begun() const {
        for (rank_t r = 0; r != ranks; ++r) {
            const auto* const first = reinterpret_cast<const unsigned char*>(out[r] + sender * block);
            if (r != sender && __atomic_load_n(first, __ATOMIC_RELAXED) != 0) return true;
        }
        return false;
    }
};

// Strikes its own process when a taker has got the first bytes.
class striking : public forwarding_transport<mpi> {
public:
    striking(mpi inner, board& all, int signal)
        : forwarding_transport<mpi>(std::move(inner)), board_(&all), signal_(signal) {}
    std::size_t poll(std::span<event> events) {
        if (signal_ != 0 && board_->has_begun()) {
            board_->struck_ns = detail::steady_now_ns();
            ::raise(std::exchange(signal_, 0));
        }
        board_->of[rank()].looked_ns = detail::steady_now_ns();
        ++board_->of[rank()].polls;
        return inner_.poll(events);
    }

private:
    board* board_;
    int signal_; // 0: this rank is not the one, or has been struck
};

// Resumes the sender when each other rank has ended its call, or has polled often since all were behind their deadline.
void resume(board& all, std::uint64_t timeout_ns) {
    constexpr std::uint64_t often = 20'000;
    const auto nap = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
    while (all.struck_ns == 0) {
        if (all.of[sender].over) return; // it never was in the middle
        nap();
    }
    // All had begun before the sender was struck, or will be seen to have ended well.
    const std::uint64_t due_ns = all.struck_ns + timeout_ns;
    for (rank_t r = 0; r != ranks; ++r) {
        if (r == sender) continue;
        while (!all.of[r].over && all.of[r].looked_ns < due_ns) nap();
        const std::uint64_t before = all.of[r].polls;
        while (!all.of[r].over && all.of[r].polls - before < often) nap();
    }
    for (rank_t r = 0; r != ranks; ++r)
        if (r != sender && !all.of[r].over) all.is_held = true;
    ::kill(all.of[sender].pid, SIGCONT);
}

int failures = 0;
void check(bool good, const std::string& what, rank_t rank) {
    if (good) return;
    ++failures;
    std::printf("FAILED: rank %u: %s\n", rank, what.c_str());
}

// False: the sender was struck too late, or when its messages were there; nothing is shown.
bool strike(MPI_Comm world, board& all, int signal, std::uint64_t timeout_ns) {
    communicator comm{striking{mpi{world}, all, 0}, {.timeout_ns = 120'000'000'000}};
    const rank_t me = comm.rank();
    if (me == 0) new (&all) board;
    barrier(comm);
    all.of[me].pid = ::getpid();
    std::fill(std::begin(all.out[me]), std::end(all.out[me]), std::byte{0});
    const std::vector<std::byte> in(ranks * block, sent);
    barrier(comm);

    std::thread monitor;
    if (me == 0 && signal == SIGSTOP) monitor = std::thread(resume, std::ref(all), timeout_ns);
    status s;
    bool is_whole = false;
    {
        communicator struck{striking{mpi{world}, all, me == sender ? signal : 0}, {.timeout_ns = timeout_ns}};
        alltoall(struck, std::span<const std::byte>(in), std::span<std::byte>(all.out[me]), pairwise_alltoall{}, s);
        all.of[me].over = true;
        const auto* const mine = all.out[me];
        is_whole = std::count(mine, mine + ranks * block, sent) == std::ptrdiff_t{ranks * block};
        // What it was given is the caller's again.
        std::fill(std::begin(all.out[me]), std::end(all.out[me]), std::byte{99});
        if (monitor.joinable()) monitor.join();
        struck.set_timeout_ns(120'000'000'000);
        status next;
        barrier(struck, next);
        check(!next, "the next call: " + message_of(next), me);
    }
    barrier(comm);
    const auto* const mine = all.out[me];
    check(std::count(mine, mine + ranks * block, std::byte{99}) == std::ptrdiff_t{ranks * block},
          "its memory was written after its call", me);
    if (!all.is_held) return false;
    // Who has had all that he needs is done. One at least has not.
    if (s)
        check(is_deadline(s) && (me == sender || is_missing(s, sender)), "says: " + message_of(s), me);
    else
        check(is_whole, "ends well, with other data", me);
    int errors = s && me != sender ? 1 : 0, of_all = 0;
    MPI_Allreduce(&errors, &of_all, 1, MPI_INT, MPI_SUM, world);
    check(of_all != 0, "all takers end well, though one was held up behind its deadline", me);
    return true;
}

} // namespace

int main(int argc, char** argv) {
    int level = 0, size = 0, me = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (argc != 3 || size != int{ranks}) {
        std::fprintf(stderr, "usage: mpirun -n %u %s FILE stop|kill\n", ranks, argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const int signal = std::strcmp(argv[2], "kill") == 0 ? SIGKILL : SIGSTOP;
    if (me == 0) {
        const int made = ::open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
        check(made >= 0 && ::ftruncate(made, sizeof(board)) == 0, "no file", 0);
        ::close(made);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const int file = ::open(argv[1], O_RDWR);
    void* const at = ::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 2);
    auto& all = *static_cast<board*>(at);
    bool is_shown = false;
    // A busy machine may take longer to begin than the time is; then with more time.
    for (const std::uint64_t seconds : {1u, 1u, 1u, 2u, 4u, 16u})
        if (!is_shown) is_shown = strike(MPI_COMM_WORLD, all, signal, seconds * 1'000'000'000);
    int wrong = 0;
    MPI_Allreduce(&failures, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0) std::printf("verdict %d\n", wrong != 0 ? 1 : is_shown ? 0 : 3);
    std::fflush(stdout);
    ::alarm(5);
    MPI_Finalize();
}
