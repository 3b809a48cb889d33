// SPDX-License-Identifier: BSL-1.0
// Groups of tcp for tests: ranks that are threads, or processes.
#ifndef BOUGH_TEST_TRANSPORT_TCP_RANKS_HPP
#define BOUGH_TEST_TRANSPORT_TCP_RANKS_HPP

#include "support/joined_ends.hpp"
#include <bough/testing/thread_wire_up.hpp>
#include <bough/transport/tcp.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace test_tcp {

using bough::rank_t;
using clock_type = std::chrono::steady_clock;

inline double ms_since(clock_type::time_point begin) {
    return std::chrono::duration<double, std::milli>(clock_type::now() - begin).count();
}

// An address of loopback that no other process uses: a port of it that was free a moment ago is still free, and
// nobody connects to it by mistake.
inline std::string loopback() {
#if defined(__linux__)
    const auto id = static_cast<std::uint32_t>(::getpid());
    return "127." + std::to_string(64 + (id >> 16) % 64) + '.' + std::to_string((id >> 8) % 256) + '.' +
           std::to_string(id % 256);
#else
    return "127.0.0.1";
#endif
}
inline bough::detail::tcp_address address_of(const bough::tcp_host& host) {
    return {boost::asio::ip::make_address(host.address), host.port};
}

// Ranks at ports of loopback that were free a moment ago.
inline bough::tcp_hosts hosts_of(rank_t ranks) {
    bough::tcp_hosts hosts;
    std::vector<bough::detail::unique_fd> listeners(ranks); // until all have a port
    for (rank_t r = 0; r != ranks; ++r) {
        bough::detail::tcp_address at{boost::asio::ip::make_address(loopback()), 0};
        if (bough::detail::listen_at(at, {}, listeners[r])) throw std::runtime_error("no free port");
        hosts.hosts.push_back({loopback(), at.port()});
    }
    hosts.key.bytes()[0] = std::byte{42};
    return hosts;
}
inline std::uint64_t job_of(const bough::tcp_hosts& hosts) {
    std::uint64_t job = 0;
    if (!bough::detail::number_of_job<bough::openssl_mac>(hosts, job)) throw std::runtime_error("no number of a job");
    return job;
}

// All ends of a group, for tests that drive them from one thread.
template <class Link = bough::tcp>
std::vector<Link> ends_of(rank_t ranks, const bough::tcp_options& options = {}) {
    return bough_test::joined_ends<Link>(
        ranks, [&](rank_t, auto& wire, bough::status& result) { return Link::join(wire, options, result); });
}

// Runs f(link) on a thread per rank. An exception of a rank is thrown here.
template <class Link = bough::tcp, class F>
void run_threads(rank_t ranks, const bough::tcp_options& options, const F& f) {
    bough::testing::thread_wire_up world{ranks};
    std::vector<std::string> faults(ranks);
    std::vector<std::thread> threads;
    for (rank_t r = 0; r != ranks; ++r)
        threads.emplace_back([&, r] {
            try {
                auto wire = world.of(r);
                f(Link{wire, options});
            } catch (const std::exception& e) {
                faults[r] = e.what();
            }
        });
    for (std::thread& t : threads) t.join();
    for (const std::string& fault : faults)
        if (!fault.empty()) throw std::runtime_error(fault);
}

// A wire-up over socket pairs that were made before the ranks were forked; rank 0 collects and distributes.
class pair_wire_up {
public:
    pair_wire_up(rank_t rank, std::vector<int> descriptors) : rank_(rank), to_(std::move(descriptors)) {}
    rank_t rank() const noexcept { return rank_; }
    rank_t size() const noexcept { return static_cast<rank_t>(to_.size()); }
    bough::status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t) {
        const auto whole = [](ssize_t n, std::size_t due) { return n == static_cast<ssize_t>(due); };
        const bough::status gone{.code = bough::errc::peer_dead};
        if (rank_ != 0) {
            if (!whole(::send(to_[0], mine.data(), mine.size(), MSG_NOSIGNAL), mine.size()) ||
                !whole(::recv(to_[0], all.data(), all.size(), MSG_WAITALL), all.size()))
                return gone;
            return {};
        }
        std::copy(mine.begin(), mine.end(), all.begin());
        for (rank_t r = 1; r != size(); ++r)
            if (!whole(::recv(to_[r], all.data() + r * mine.size(), mine.size(), MSG_WAITALL), mine.size()))
                return gone;
        for (rank_t r = 1; r != size(); ++r)
            if (!whole(::send(to_[r], all.data(), all.size(), MSG_NOSIGNAL), all.size())) return gone;
        return {};
    }

private:
    rank_t rank_;
    std::vector<int> to_; // rank 0: to all others; else only [0]
};

// A rank per process. f(wire) runs there; it returns an exit status.
class processes {
public:
    template <class F>
    processes(rank_t ranks, const F& f) {
        std::vector<std::array<int, 2>> pairs(ranks, {-1, -1});
        for (rank_t r = 1; r != ranks; ++r)
            if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[r].data()) != 0)
                throw std::runtime_error("no socket pair");
        for (rank_t r = 0; r != ranks; ++r) {
            const pid_t child = ::fork();
            if (child == 0) {
                std::vector<int> mine(ranks, -1);
                for (rank_t q = 1; q != ranks; ++q) {
                    if (r == 0)
                        mine[q] = pairs[q][0];
                    else if (q == r)
                        mine[0] = pairs[q][1];
                    for (const int d : pairs[q])
                        if (d != mine[q] && d != mine[0]) ::close(d);
                }
                int code = 99;
                try {
                    pair_wire_up wire{r, mine};
                    code = f(wire);
                } catch (...) {
                }
                ::_exit(code);
            }
            children_.push_back(child);
        }
        for (const auto& p : pairs)
            for (const int d : p)
                if (d >= 0) ::close(d);
    }
    processes(const processes&) = delete;
    processes& operator=(const processes&) = delete;
    ~processes() {
        for (const pid_t child : children_) {
            if (child <= 0) continue;
            ::kill(child, SIGKILL);
            ::waitpid(child, nullptr, 0);
        }
    }
    void signal(rank_t r, int number) { ::kill(children_[r], number); }
    // The exit status of a rank; minus the signal that ended it.
    int result(rank_t r) {
        int state = 0;
        ::waitpid(std::exchange(children_[r], 0), &state, 0);
        return WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
    }

private:
    std::vector<pid_t> children_;
};

} // namespace test_tcp

#endif
