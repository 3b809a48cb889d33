// SPDX-License-Identifier: BSL-1.0
// Collectives over tcp between processes, beside an exchange over raw sockets in the same run.
//
//   bench-tcp            everything          bench-tcp 2            only p = 2
//
// Each over TCP itself, and over the Unix sockets that ranks of one system are connected by unless they are told not to.
// Of p = 2: both processes send a buffer to each other over one connection of that kind and wait for the other's, which
// they then add to their own (the physical floor of an allreduce), in turns with bough's allreduce of as many bytes.
// Times are per operation, medians of rounds; the input is rewritten and the whole result is read inside the clock.
#include "../arguments.hpp"
#include "board.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/tcp.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <span>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;
using bough::rank_t;

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::_Exit(1);
}

// One blocking connection, through which as many bytes go each way at the same time.
class raw_pair {
public:
    explicit raw_pair(int descriptor) : socket_(descriptor) {
        const int one = 1;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
    void exchange(const double* from, double* into, std::size_t bytes, bool spins) {
        if (bytes <= 8192) { // fits into the socket: write, then read
            if (::send(socket_, from, bytes, 0) != static_cast<ssize_t>(bytes)) fail("send");
            for (std::size_t got = 0; got != bytes;) {
                const ssize_t n =
                    ::recv(socket_, reinterpret_cast<char*>(into) + got, bytes - got, spins ? MSG_DONTWAIT : 0);
                if (n > 0)
                    got += static_cast<std::size_t>(n);
                else if (n == 0 || (errno != EAGAIN && errno != EINTR))
                    fail("recv");
            }
            return;
        }
        std::size_t sent = 0, got = 0;
        while (sent != bytes || got != bytes) {
            bool moved = false;
            if (sent != bytes) {
                const ssize_t n =
                    ::send(socket_, reinterpret_cast<const char*>(from) + sent, bytes - sent, MSG_DONTWAIT);
                if (n > 0) sent += static_cast<std::size_t>(n), moved = true;
            }
            if (got != bytes) {
                const ssize_t n = ::recv(socket_, reinterpret_cast<char*>(into) + got, bytes - got, MSG_DONTWAIT);
                if (n > 0) got += static_cast<std::size_t>(n), moved = true;
            }
            if (moved || spins) continue;
            pollfd p{socket_, static_cast<short>((sent != bytes ? POLLOUT : 0) | (got != bytes ? POLLIN : 0)), 0};
            ::poll(&p, 1, -1);
        }
    }

private:
    int socket_;
};

// A connected pair of TCP sockets over loopback, which are not paced, as those of bough are not.
void do_not_pace(int socket) { (void)::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, "reno", 4); }
std::array<int, 2> tcp_pair() {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    do_not_pace(listener);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    if (::bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 || ::listen(listener, 1) != 0 ||
        ::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &length) != 0)
        fail("listen");
    const int a = ::socket(AF_INET, SOCK_STREAM, 0);
    do_not_pace(a);
    if (::connect(a, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) fail("connect");
    const int b = ::accept(listener, nullptr, nullptr);
    ::close(listener);
    return {a, b};
}

template <class F>
void fork_ranks(rank_t ranks, const F& f) {
    std::vector<pid_t> children;
    std::fflush(stdout);
    for (rank_t r = 0; r != ranks; ++r)
        if (const pid_t child = ::fork(); child == 0) {
            if (ranks <= std::thread::hardware_concurrency()) {
                cpu_set_t set;
                CPU_ZERO(&set);
                CPU_SET(r, &set);
                ::sched_setaffinity(0, sizeof set, &set);
            }
            f(r);
            std::fflush(stdout);
            std::_Exit(0);
        } else
            children.push_back(child);
    for (const pid_t child : children) {
        int state = 0;
        ::waitpid(child, &state, 0);
        if (state != 0) std::exit(1);
    }
}

template <class F>
double time_of(int operations, F&& f) {
    const auto begin = clock_type::now();
    for (int i = 0; i != operations; ++i) f();
    return std::chrono::duration<double, std::micro>(clock_type::now() - begin).count() / operations;
}

// Sets the input, runs, reads the result.
template <class F>
void whole_use(std::span<double> x, double mine, double expected, F&& f) {
    for (double& v : x) v = mine;
    f();
    for (const double v : x)
        if (v != expected) fail("wrong result");
}

bough::tcp_options over(bool near) {
    bough::tcp_options options;
    options.near_sockets = near;
    return options;
}

void pair_benchmark() {
    auto* board = shared<wire_up_board>(2);
    const auto sockets = tcp_pair();
    std::array<int, 2> near_sockets{};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, near_sockets.data()) != 0) fail("socketpair");
    const bool spins = std::thread::hardware_concurrency() >= 2;
    fork_ranks(2, [&](rank_t me) {
        std::array<raw_pair, 2> raw{raw_pair(sockets[me]), raw_pair(near_sockets[me])};
        board_wire_up wire(board[0], me, 2), near_wire(board[1], me, 2);
        bough::communicator far{bough::tcp{wire, over(false)}}, near{bough::tcp{near_wire, over(true)}};
        for (const std::size_t bytes : {8u, 1024u, 8192u, 65536u, 1048576u, 16777216u}) {
            std::vector<double> x(bytes / 8), in(bytes / 8);
            const double mine = static_cast<double>(me) + 1;
            const int operations = static_cast<int>(std::clamp<std::size_t>(40'000'000 / bytes / 8, 3, 4000));
            const auto by_hand = [&](raw_pair& with) {
                bough::barrier(far);
                return time_of(operations, [&] {
                    whole_use(x, mine, 3, [&] {
                        with.exchange(x.data(), in.data(), bytes, spins);
                        for (std::size_t i = 0; i != x.size(); ++i) x[i] += in[i];
                    });
                });
            };
            const auto by_bough = [&](auto& comm) {
                bough::barrier(far);
                return time_of(operations, [&] {
                    whole_use(x, mine, 3, [&] { bough::allreduce(comm, std::span(x), bough::plus{}); });
                });
            };
            std::array<std::vector<double>, 4> us;
            for (int round = 0; round != 12; ++round) { // the first warms up
                const std::array<double, 4> all{by_bough(far), by_hand(raw[0]), by_bough(near), by_hand(raw[1])};
                if (round == 0) continue;
                for (std::size_t i = 0; i != 4; ++i) us[i].push_back(all[i]);
            }
            if (me != 0) continue;
            std::array<double, 4> m{};
            for (std::size_t i = 0; i != 4; ++i) m[i] = median(us[i]);
            std::printf(
                "p = 2, %8zu B: allreduce over TCP %9.1f us, raw exchange %9.1f us, ratio %.2f; over Unix sockets "
                "%9.1f us, raw exchange %9.1f us, ratio %.2f; Unix / TCP %.2f\n",
                bytes, m[0], m[1], m[0] / m[1], m[2], m[3], m[2] / m[3], m[2] / m[0]);
        }
    });
    ::munmap(board, 2 * sizeof *board);
}

void group_benchmark(rank_t ranks) {
    auto* board = shared<wire_up_board>(2);
    fork_ranks(ranks, [&](rank_t me) {
        board_wire_up wire(board[0], me, ranks), near_wire(board[1], me, ranks);
        bough::communicator far{bough::tcp{wire, over(false)}}, near{bough::tcp{near_wire, over(true)}};
        for (const std::size_t bytes : {8u, 65536u, 1048576u}) {
            std::vector<double> x(bytes / 8);
            const int operations = bytes == 8 ? 200 : bytes == 65536 ? 20 : 3;
            std::array<std::vector<double>, 2> us;
            std::array<std::uint64_t, 2> calls{};
            const auto run = [&](auto& comm, std::size_t which, bool counts) {
                bough::barrier(comm);
                const std::uint64_t before = comm.transport().system_calls();
                const double time = time_of(operations, [&] {
                    whole_use(x, 1, ranks, [&] { bough::allreduce(comm, std::span(x), bough::plus{}); });
                });
                if (!counts) return;
                us[which].push_back(time);
                calls[which] += comm.transport().system_calls() - before;
            };
            for (int round = 0; round != 12; ++round) {
                run(far, 0, round != 0);
                run(near, 1, round != 0);
            }
            if (me == 0)
                std::printf("p = %2u, %8zu B: allreduce over TCP %7.1f us, over Unix sockets %7.1f us, ratio %.2f; "
                            "%.1f and %.1f "
                            "reads, writes and waits an operation at rank 0\n",
                            ranks, bytes, median(us[0]), median(us[1]), median(us[1]) / median(us[0]),
                            static_cast<double>(calls[0]) / (11 * operations),
                            static_cast<double>(calls[1]) / (11 * operations));
        }
    });
    ::munmap(board, 2 * sizeof *board);
}

} // namespace

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 1, "bench-tcp [2]");
    const bool pair_only = !given.word(1, "what to measure", {"2"}).empty();
    std::printf("%u cores; medians of 11 rounds\n", std::thread::hardware_concurrency());
    pair_benchmark();
    if (pair_only) return 0;
    for (const rank_t ranks : {4u, 8u, 16u}) group_benchmark(ranks);
}
