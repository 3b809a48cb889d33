// SPDX-License-Identifier: BSL-1.0
// launcher, behind bough::launch(): the processes of one launch, from fork to the last exit status.
//
// It watches each child by a pidfd if the kernel has them, and otherwise by asking every few
// milliseconds. It installs no signal handler, and waits for no process but its own. Each child is
// killed when the launcher ends, even by SIGKILL (PR_SET_PDEATHSIG); grandchildren are not. A
// process that has closed its standard streams may launch, too: descriptors that are made here
// never take the streams' numbers.
#ifndef BOUGH_LAUNCH_DETAIL_LAUNCHER_HPP
#define BOUGH_LAUNCH_DETAIL_LAUNCHER_HPP

#include <bough/core/deadline.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/launch/detail/exchange_server.hpp>
#include <bough/launch/detail/output.hpp>
#include <bough/launch/detail/wire.hpp>
#include <bough/launch/options.hpp>
#include <bough/launch/report.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/fd.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail::jobs {

// A rank's ends of its connections to the launcher.
struct rank_side {
    int socket = -1;
    int tell = -1; // for a program: a failed exec writes its errno here; a successful one closes it
};

// How many ranks this process can have at most: each needs a process number and some descriptors.
inline rank_t most_ranks(const launch_options& options, bool programs) noexcept {
    std::uint64_t most = no_rank - 1;
    const rlim_t each = 1u + (options.prefix_output ? 2u : 0u) + (programs ? 1u : 0u); // descriptors
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0) most = std::min<std::uint64_t>(most, files.rlim_cur / each);
    if (std::FILE* const in = std::fopen("/proc/sys/kernel/pid_max", "re"); in != nullptr) {
        unsigned long long numbers = 0;
        if (std::fscanf(in, "%llu", &numbers) == 1) most = std::min<std::uint64_t>(most, numbers);
        std::fclose(in);
    }
    return static_cast<rank_t>(most);
}

class launcher {
public:
    // `programs`: the ranks call exec.
    launcher(rank_t ranks, const launch_options& options, bool programs = false)
        : options_(options), programs_(programs), server_(ranks), children_(ranks), owner_(::getpid()),
          deadline_ns_(deadline_after(steady_now_ns(), options.timeout_ns)) {
        for (rank_t r = 0; r != ranks; ++r) children_[r].end.rank = r;
    }
    launcher(const launcher&) = delete;
    launcher& operator=(const launcher&) = delete;
    ~launcher() {
        // This is a child that unwinds: the other ranks are not its children.
        if (::getpid() != owner_) return;
        kill_all();
        for (child& c : children_) {
            while (c.pid > 0 && ::waitpid(c.pid, nullptr, 0) < 0 && errno == EINTR) {
            }
        }
    }

    // Starts one rank. In the child it returns 0, and `mine` has its ends. In this process it
    // returns the child's process number, or -1.
    pid_t start(rank_t rank, rank_side& mine) {
        unique_fd socket[2], output[2][2], failure[2];
        int pair[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 || !own(pair, socket)) return -1;
        for (int i = 0; options_.prefix_output && i != 2; ++i)
            if (!make_pipe(output[i])) return -1;
        if (programs_ && !make_pipe(failure)) return -1;
        const pid_t pid = ::fork();
        if (pid < 0) return -1;
        if (pid == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() != owner_) ::_exit(127); // the launcher has died since the fork
            for (int i = 0; options_.prefix_output && i != 2; ++i) ::dup2(output[i][1].get(), i == 0 ? 1 : 2);
            close_in_child();
            mine = {socket[1].release(), failure[1].release()};
            return 0;
        }
        child& c = children_[rank];
        c.pid = pid;
#if defined(SYS_pidfd_open)
        c.pidfd = above_standard(unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))));
#endif
        for (int i = 0; i != 2; ++i) c.output[i] = output_pipe(std::move(output[i][0]));
        c.failure = std::move(failure[0]);
        ++running_;
        server_.add(rank, std::move(socket[0]));
        server_.serve(rank);
        return pid;
    }

    // Serves and watches until every rank has ended and all that they printed has been passed on.
    // It also returns when a program cannot be run: then error() is its errno, not 0, and the
    // destructor ends the ranks.
    launch_report run() {
        while (running_ != 0 && error_ == 0) {
            const std::uint64_t now = steady_now_ns();
            if (!killed_ && now >= std::min(deadline_ns_, grace_ns_)) {
                report_.timed_out = now >= deadline_ns_;
                killed_ = true;
                kill_all();
            }
            step();
        }
        for (rank_t r = 0; r != server_.size(); ++r) hear_failure(r);
        // The reader of the output has as long as the job has, and a moment more if the job was
        // killed.
        last_word_ns_ = std::max(deadline_ns_, deadline_after(steady_now_ns(), killed_ ? 200'000'000 : 0));
        while (error_ == 0 && passes_on() && steady_now_ns() < last_word_ns_) step();
        report_.output_cut = error_ == 0 && passes_on();
        for (const child& c : children_) report_.ranks.push_back(c.end);
        return report_;
    }
    int error() const noexcept { return error_; }
    rank_t error_rank() const noexcept { return error_rank_; }

private:
    struct child {
        pid_t pid = 0; // 0: not started, or waited for
        unique_fd pidfd{};
        unique_fd failure{}; // errno of an exec that failed
        output_pipe output[2]{};
        rank_end end{};
    };

    // Owns a pair of descriptors, both above those of the standard streams.
    static bool own(const int (&pair)[2], unique_fd (&owned)[2]) noexcept {
        unique_fd first(pair[0]), second(pair[1]);
        owned[0] = above_standard(std::move(first));
        owned[1] = above_standard(std::move(second));
        return owned[0] && owned[1];
    }
    // The end for reading does not block.
    static bool make_pipe(unique_fd (&ends)[2]) noexcept {
        int pair[2];
        return ::pipe2(pair, O_CLOEXEC) == 0 && own(pair, ends) && ::fcntl(ends[0].get(), F_SETFL, O_NONBLOCK) == 0;
    }

    // The child must not hold the connections between the launcher and the other ranks.
    void close_in_child() {
        for (rank_t r = 0; r != server_.size(); ++r)
            if (server_.descriptor(r) >= 0) ::close(server_.descriptor(r));
        for (const child& c : children_) {
            if (c.pidfd) ::close(c.pidfd.get());
            if (c.failure) ::close(c.failure.get());
            for (const output_pipe& out : c.output)
                if (out.descriptor() >= 0) ::close(out.descriptor());
        }
    }

    void kill_all() noexcept {
        for (const child& c : children_)
            if (c.pid > 0) ::kill(c.pid, SIGKILL);
    }
    // Passes on what ranks have printed. True: some of it is not written yet. Pre: the ranks have
    // ended.
    bool passes_on() {
        for (rank_t r = 0; r != server_.size(); ++r)
            for (int i = 0; i != 2; ++i) children_[r].output[i].forward(r, streams_[i], true);
        for (output_stream& s : streams_) s.flush();
        for (const child& c : children_)
            for (const output_pipe& out : c.output)
                if (out.descriptor() >= 0) return true;
        return !streams_[0].empty() || !streams_[1].empty();
    }

    // Waits until something happens, and handles it.
    void step() {
        polled_.clear();
        who_.clear();
        const auto watch = [this](int fd, short what, rank_t r, int part) {
            if (fd < 0) return;
            polled_.push_back({fd, what, 0});
            who_.emplace_back(r, part);
        };
        bool blind = false; // a child without a pidfd
        for (rank_t r = 0; r != server_.size(); ++r) {
            const child& c = children_[r];
            watch(server_.descriptor(r), server_.wants_to_write(r) ? POLLIN | POLLOUT : POLLIN, r, of_server);
            for (int i = 0; i != 2; ++i)
                if (streams_[i].has_room()) watch(c.output[i].descriptor(), POLLIN, r, i);
            watch(c.failure.get(), POLLIN, r, of_exec);
            if (c.pid == 0) continue;
            watch(c.pidfd.get(), POLLIN, r, of_process);
            blind |= !c.pidfd;
        }
        for (const output_stream& s : streams_)
            if (!s.empty()) watch(s.descriptor(), POLLOUT, 0, of_stream);
        const int patience = milliseconds_until(running_ == 0 ? last_word_ns_
                                                : killed_     ? forever
                                                              : std::min(deadline_ns_, grace_ns_));
        const int blind_ms = 5;
        (void)::poll(polled_.data(), polled_.size(),
                     !blind         ? patience
                     : patience < 0 ? blind_ms
                                    : std::min(patience, blind_ms));
        for (std::size_t i = 0; i != polled_.size(); ++i) {
            if (polled_[i].revents == 0) continue;
            const auto [rank, part] = who_[i];
            if (part == of_server)
                server_.serve(rank);
            else if (part == of_exec)
                hear_failure(rank);
            else if (part == of_process)
                reap(rank);
            else if (part != of_stream)
                children_[rank].output[part].forward(rank, streams_[part], false);
        }
        for (output_stream& s : streams_) s.flush();
        for (rank_t r = 0; blind && r != server_.size(); ++r)
            if (children_[r].pid != 0) reap(r);
    }

    // Finds out what became of an exec, without waiting: another launch of this process may hold
    // the other end for a while.
    void hear_failure(rank_t rank) noexcept {
        child& c = children_[rank];
        int error = 0;
        const ssize_t n = c.failure ? ::read(c.failure.get(), &error, sizeof error) : 0;
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        c.failure.reset();
        if (n != sizeof error || error_ != 0) return;
        error_ = error;
        error_rank_ = rank;
    }

    void reap(rank_t rank) {
        child& c = children_[rank];
        int how = 0;
        const pid_t found = ::waitpid(c.pid, &how, WNOHANG);
        if (found == 0 || (found < 0 && errno == EINTR)) return;
        if (found == c.pid && WIFEXITED(how))
            c.end = {rank, rank_end::how::exited, WEXITSTATUS(how)};
        else if (found == c.pid && WIFSIGNALED(how))
            c.end = {rank, rank_end::how::signalled, WTERMSIG(how)};
        c.pid = 0;
        c.pidfd.reset();
        --running_;
        if (server_.descriptor(rank) >= 0) server_.serve(rank); // what it said last
        server_.gone(rank);
        for (rank_t r = 0; r != server_.size(); ++r)
            if (server_.descriptor(r) >= 0 && server_.wants_to_write(r)) server_.serve(r);
        if (!c.end.ok() && report_.first_failed == no_rank) {
            report_.first_failed = rank;
            grace_ns_ = deadline_after(steady_now_ns(), options_.grace_ns);
        }
    }

    // 0 and 1: output of a rank.
    static constexpr int of_server = 2, of_process = 3, of_exec = 4, of_stream = 5;

    launch_options options_;
    bool programs_;
    exchange_server server_;
    std::vector<child> children_;
    pid_t owner_;
    std::uint64_t deadline_ns_, grace_ns_ = forever;
    std::uint64_t last_word_ns_ = forever;
    bool killed_ = false; // the time of the job, or of grace, was up
    rank_t running_ = 0;
    output_stream streams_[2] = {output_stream(1), output_stream(2)};
    int error_ = 0; // errno of an exec that failed
    rank_t error_rank_ = no_rank;
    launch_report report_{};
    std::vector<pollfd> polled_;
    std::vector<std::pair<rank_t, int>> who_;
};

} // namespace bough::detail::jobs

#endif
