// SPDX-License-Identifier: BSL-1.0
// A crowd: processes that are ranks of one group, do what the test says, and tell how it ended. Others join them.
//
//   crowd<tcp_link> some;
//   some.start(3);                                  // a group of three processes
//   some.tell(some.alive(), crowd_call::grow, 4);   // each calls grow(comm, place, 4), then settles
//   const int joiner = some.add();                  // a process that calls join_group(place)
//   REQUIRE(some.wait(some.alive()));               // all have ended their calls
//   CHECK(some.of(joiner).size == 4);
#ifndef BOUGH_TEST_PROCESSES_CROWD_HPP
#define BOUGH_TEST_PROCESSES_CROWD_HPP

#include "processes/links.hpp"
#include "support/sample.hpp"
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/group.hpp>
#include <bough/grow.hpp>
#include <bough/op/arithmetic.hpp>

#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <new>
#include <optional>
#include <span>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bough_test {

// A port at which nobody listens, and that the system chooses for nobody (below 32768).
inline std::uint16_t fixed_port() {
    static std::uint32_t next = static_cast<std::uint32_t>(mixed(static_cast<std::uint64_t>(::getpid())) % 10'000);
    for (;;) {
        const auto port = static_cast<std::uint16_t>(20'000 + next++ % 10'000);
        const bough::detail::unique_fd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        at.sin_port = htons(port);
        if (::bind(made.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) == 0) return port;
    }
}
inline bough::job_key key_of(unsigned char c) {
    bough::job_key::bytes_type bytes{};
    bytes.fill(std::byte{c});
    return bough::job_key(bytes);
}

enum class crowd_call : std::uint32_t { settle, grow, leave };

template <class Link>
class crowd {
    static constexpr int most = 64;
    struct seat {
        std::atomic<std::uint32_t> asked{0}, done{0};
        std::atomic<bool> joined{false};
        crowd_call call{};
        bough::rank_t wanted = 0;
        // What the process tells.
        bough::status result{}; // of grow or join_group
        bough::rank_t rank = 0, size = 0;
        std::uint32_t epoch = 0;
        long sum = 0; // of 1 << rank over the ranks
        char why[200]{};
    };

public:
    using link_type = decltype(Link::join(std::declval<processes::wire&>()));
    using comm_type = bough::communicator<link_type>;

    explicit crowd(std::uint64_t timeout_ns = 10'000'000'000) : timeout_ns_(timeout_ns) {
        void* at = ::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) std::abort();
        board_ = new (at) board;
        place.hosts = {{"127.0.0.1", fixed_port()}};
        place.key = key_of(7);
    }
    crowd(const crowd&) = delete;
    ~crowd() {
        for (int i = 0; i != static_cast<int>(pids_.size()); ++i) kill(i);
        ::munmap(board_, sizeof(board));
    }

    bough::meeting_place place; // what processes that start from now on know

    // The first group.
    void start(bough::rank_t ranks) {
        for (bough::rank_t r = 0; r != ranks; ++r)
            launch([this, r, ranks](seat& s) {
                wire w(*board_, r, ranks);
                comm_type comm{Link::join(w), {.timeout_ns = timeout_ns_}};
                serve(s, std::move(comm));
            });
    }
    // A process that joins the group; its number here.
    int add() { return add(place, timeout_ns_); }
    int add(const bough::meeting_place& where, std::uint64_t timeout_ns) {
        return launch([this, where, timeout_ns](seat& s) {
            std::optional<comm_type> comm = bough::join_group<link_type>(where, {.timeout_ns = timeout_ns}, s.result);
            tell_why(s);
            if (comm) {
                s.joined = true;
                comm->set_timeout_ns(timeout_ns_);
                settle(s, *comm);
            }
            s.done.fetch_add(1);
            if (comm) serve(s, std::move(*comm));
        });
    }

    std::vector<int> alive() const {
        std::vector<int> made;
        for (int i = 0; i != static_cast<int>(pids_.size()); ++i)
            if (pids_[static_cast<std::size_t>(i)] != 0) made.push_back(i);
        return made;
    }
    void tell(const std::vector<int>& who, crowd_call call, bough::rank_t wanted = 0) {
        for (const int i : who) {
            seat& s = board_->seats[i];
            s.call = call;
            s.wanted = wanted;
            ++expected_[static_cast<std::size_t>(i)];
            s.asked.fetch_add(1);
        }
    }
    // Until they have ended what they were told, or 60 s.
    bool wait(const std::vector<int>& who) const {
        const std::uint64_t last = clock_ns() + 60'000'000'000;
        for (const int i : who)
            while (board_->seats[i].done.load() < expected_[static_cast<std::size_t>(i)]) {
                if (clock_ns() > last) return false;
                std::this_thread::sleep_for(std::chrono::microseconds(100));
            }
        return true;
    }
    // Has it become a rank of the group? Whoever has settled with it sees that.
    bool has_joined(int i) const { return board_->seats[i].joined.load(); }
    bool is_done(int i) const { return board_->seats[i].done.load() >= expected_[static_cast<std::size_t>(i)]; }
    void kill(int i) {
        pid_t& pid = pids_[static_cast<std::size_t>(i)];
        if (pid == 0) return;
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        pid = 0;
    }
    void signal(int i, int number) { ::kill(pids_[static_cast<std::size_t>(i)], number); }
    // It has been told to leave, or has failed to join.
    void reap(int i) {
        pid_t& pid = pids_[static_cast<std::size_t>(i)];
        ::waitpid(pid, nullptr, 0);
        pid = 0;
    }
    const seat& of(int i) const { return board_->seats[i]; }
    // Do all of these have a group of just them, and a sum that says so?
    bool is_one_group(const std::vector<int>& who, bough::rank_t ranks) const {
        for (const int i : who) {
            const seat& s = of(i);
            if (s.size != ranks || s.epoch != of(who[0]).epoch || s.sum != (1L << ranks) - 1) return false;
        }
        return who.size() == ranks;
    }
    std::size_t started() const { return pids_.size(); }
    static constexpr std::size_t room = most;

private:
    struct board {
        std::atomic<std::uint32_t> came[4]{};
        std::byte said[4][16 * bough::most_wire_up_bytes];
        seat seats[most];
    };
    // The first group's; as that of `processes`.
    class wire {
    public:
        wire(board& b, bough::rank_t rank, bough::rank_t ranks) : board_(b), rank_(rank), ranks_(ranks) {}
        bough::rank_t rank() const { return rank_; }
        bough::rank_t size() const { return ranks_; }
        bough::status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
            const std::uint64_t last = bough::deadline_after(clock_ns(), timeout_ns);
            const std::uint32_t at = turn_ % 4, due = ranks_ * (turn_ / 4 + 1);
            std::memcpy(board_.said[at] + rank_ * mine.size(), mine.data(), mine.size());
            board_.came[at].fetch_add(1);
            while (board_.came[at].load() < due) {
                if (clock_ns() > last) return {.code = bough::errc::deadline};
                std::this_thread::yield();
            }
            std::memcpy(all.data(), board_.said[at], all.size());
            ++turn_;
            return {};
        }

    private:
        board& board_;
        bough::rank_t rank_, ranks_;
        std::uint32_t turn_ = 0;
    };

    template <class F>
    int launch(const F& f) {
        const auto number = static_cast<int>(pids_.size());
        if (number == most) std::abort();
        std::fflush(nullptr);
        const pid_t pid = ::fork();
        if (pid < 0) std::abort();
        if (pid == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::signal(SIGABRT, SIG_DFL);
            ::signal(SIGSEGV, SIG_DFL);
            seat& s = board_->seats[number];
            try {
                f(s);
            } catch (const std::exception& e) {
                std::fprintf(stderr, "process %d ends with: %s\n", number, e.what());
                ::_exit(3);
            }
            ::_exit(0);
        }
        pids_.push_back(pid);
        expected_.push_back(1); // it tells once when it is in the group
        return number;
    }
    static void tell_why(seat& s) {
        std::snprintf(s.why, sizeof s.why, "%s", s.result ? bough::message_of(s.result).c_str() : "");
    }
    // Until a call succeeds on all that are left. Every process of the group ends with the same group.
    static void settle(seat& s, comm_type& comm) {
        for (;;) {
            long sum = 1L << comm.rank();
            bough::status why;
            bough::allreduce(comm, std::span(&sum, 1), bough::plus{}, why);
            if (bough::agree(comm, why ? 0 : 1) == 1) {
                s.rank = comm.rank();
                s.size = comm.size();
                s.epoch = comm.epoch();
                s.sum = sum;
                return;
            }
            comm = bough::shrink(comm);
        }
    }
    void serve(seat& s, comm_type comm) {
        if (s.done.load() == 0) { // of the first group
            s.joined = true;
            settle(s, comm);
            s.done.fetch_add(1);
        }
        for (std::uint32_t next = 1;; ++next) {
            while (s.asked.load() < next) ::usleep(100);
            if (s.call == crowd_call::leave) return;
            if (s.call == crowd_call::grow) {
                s.result = {};
                if (std::optional<comm_type> made = bough::grow(comm, place, s.wanted, s.result))
                    comm = std::move(*made);
                tell_why(s);
            }
            settle(s, comm);
            s.done.fetch_add(1);
        }
    }

    std::uint64_t timeout_ns_;
    board* board_ = nullptr;
    std::vector<pid_t> pids_; // 0: it has ended
    std::vector<std::uint32_t> expected_;
};

} // namespace bough_test

#endif
