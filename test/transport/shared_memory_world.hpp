// SPDX-License-Identifier: BSL-1.0
// Groups over shared_memory for tests: of threads, and of processes made by fork, whose ranks report through a board.
#ifndef BOUGH_TEST_TRANSPORT_SHARED_MEMORY_WORLD_HPP
#define BOUGH_TEST_TRANSPORT_SHARED_MEMORY_WORLD_HPP

#include "support/joined_ends.hpp"
#include <bough/concepts/wire_up.hpp>
#include <bough/transport/shared_memory.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace bough_test {

inline std::uint64_t clock_ns() {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
}

// All ends of a group, joined by a thread each. `why`, if given: how each rank's join ended.
inline std::vector<bough::shared_memory> shared_ends(const std::vector<bough::shared_memory_options>& options,
                                                     std::vector<bough::status>* why = nullptr) {
    return joined_ends<bough::shared_memory>(
        static_cast<bough::rank_t>(options.size()),
        [&](bough::rank_t r, auto& wire, bough::status& result) {
            return bough::shared_memory::join(wire, options[r], result);
        },
        why);
}
inline std::vector<bough::shared_memory> shared_ends(bough::rank_t ranks,
                                                     const bough::shared_memory_options& options = {}) {
    return shared_ends(std::vector(ranks, options));
}

// What one rank tells.
struct report {
    bough::status result;
    std::uint64_t wrong = 0;    // how many checks failed
    std::uint64_t ended_ns = 0; // when it saw the end
    double numbers[4] = {};
    std::atomic<std::uint32_t> phase{0};
    void check(bool holds) { wrong += holds ? 0 : 1; }
};

// Ranks are child processes; they die with this one.
class processes {
    static constexpr bough::rank_t most = 16;
    static constexpr std::uint32_t exchanges = 4; // nobody is two ahead, so their places are used again
    struct board {
        std::atomic<std::uint32_t> came[exchanges]{};
        std::byte said[exchanges][most * bough::most_wire_up_bytes];
        report reports[most];
    };

public:
    class wire {
    public:
        wire(board& b, bough::rank_t rank, bough::rank_t ranks) : board_(b), rank_(rank), ranks_(ranks) {}
        bough::rank_t rank() const { return rank_; }
        bough::rank_t size() const { return ranks_; }
        bough::status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
            const std::uint64_t last = bough::deadline_after(clock_ns(), timeout_ns);
            const std::uint32_t place = turn_ % exchanges, due = ranks_ * (turn_ / exchanges + 1);
            std::memcpy(board_.said[place] + rank_ * mine.size(), mine.data(), mine.size());
            board_.came[place].fetch_add(1);
            while (board_.came[place].load() < due) {
                if (clock_ns() > last) return {.code = bough::errc::deadline};
                std::this_thread::yield();
            }
            std::memcpy(all.data(), board_.said[place], all.size());
            ++turn_;
            return {};
        }

    private:
        board& board_;
        bough::rank_t rank_, ranks_;
        std::uint32_t turn_ = 0;
    };

    // Runs f(wire, report) in `ranks` processes. Pre: ranks <= 16; this process has one thread.
    template <class F>
    processes(bough::rank_t ranks, F&& f) : pids_(ranks, 0), exit_codes_(ranks, -1) {
        void* at = ::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) std::abort();
        board_ = new (at) board;
        std::fflush(nullptr); // else each rank has the lines that wait, and prints them, too
        for (bough::rank_t r = 0; r != ranks; ++r) {
            pids_[r] = ::fork();
            if (pids_[r] < 0) std::abort();
            if (pids_[r] != 0) continue;
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::signal(SIGABRT, SIG_DFL); // not this process's handlers
            ::signal(SIGSEGV, SIG_DFL);
            wire w(*board_, r, ranks);
            try {
                f(w, board_->reports[r]);
            } catch (const std::exception& e) {
                std::fprintf(stderr, "rank %u ends with: %s\n", r, e.what());
                ::_exit(3);
            }
            ::_exit(0);
        }
    }
    processes(const processes&) = delete;
    ~processes() {
        for (bough::rank_t r = 0; r != pids_.size(); ++r) kill(r, SIGKILL);
        wait();
        ::munmap(board_, sizeof(board));
    }

    report& of(bough::rank_t r) { return board_->reports[r]; }
    pid_t pid(bough::rank_t r) const { return pids_[r]; }
    void kill(bough::rank_t r, int signal) {
        if (exit_codes_[r] == -1) ::kill(pids_[r], signal);
    }
    // Until all ranks have reached a phase of theirs. False: not within 10 s.
    bool reached(std::uint32_t phase) {
        const std::uint64_t last = clock_ns() + 10'000'000'000;
        for (bough::rank_t r = 0; r != pids_.size(); ++r)
            while (of(r).phase.load() < phase) {
                if (clock_ns() > last) return false;
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            }
        return true;
    }
    void wait(bough::rank_t r) {
        int state = 0;
        if (exit_codes_[r] == -1 && ::waitpid(pids_[r], &state, 0) == pids_[r])
            exit_codes_[r] = WIFEXITED(state) ? WEXITSTATUS(state) : 256 + WTERMSIG(state);
    }
    void wait() {
        for (bough::rank_t r = 0; r != pids_.size(); ++r) wait(r);
    }
    // -1: it runs; above 256: the signal that ended it. Call wait() before.
    int exit_code(bough::rank_t r) const { return exit_codes_[r]; }

private:
    std::vector<pid_t> pids_;
    std::vector<int> exit_codes_;
    board* board_ = nullptr;
};

static_assert(bough::WireUp<processes::wire>);

} // namespace bough_test

#endif
