// SPDX-License-Identifier: BSL-1.0
// launcher: the processes of one launch, from fork to the last exit status. What bough::launch is made of.
//
// It watches each child by a pidfd where the kernel has them, else by asking every few milliseconds; it installs no signal
// handler and waits for no process but its own. Each child is killed when the launcher goes, also by SIGKILL
// (PR_SET_PDEATHSIG); grandchildren are not.
#ifndef BOUGH_LAUNCH_DETAIL_LAUNCHER_HPP
#define BOUGH_LAUNCH_DETAIL_LAUNCHER_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/launch/detail/exchange_server.hpp>
#include <bough/launch/detail/wire.hpp>
#include <bough/launch/options.hpp>
#include <bough/launch/report.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <poll.h>
#include <span>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bough::detail::jobs {

class launcher {
public:
    launcher(rank_t ranks, const launch_options& options)
        : options_(options), server_(ranks), children_(ranks), owner_(::getpid()),
          deadline_ns_(deadline_after(steady_now_ns(), options.timeout_ns)) {
        for (rank_t r = 0; r != ranks; ++r) children_[r].end.rank = r;
    }
    launcher(const launcher&) = delete;
    launcher& operator=(const launcher&) = delete;
    ~launcher() {
        if (::getpid() != owner_) return; // a child that unwinds: its brothers are not its children
        kill_all();
        for (child& c : children_) {
            while (c.pid > 0 && ::waitpid(c.pid, nullptr, 0) < 0 && errno == EINTR) {
            }
        }
    }

    // Starts one rank. In the child: 0, and `socket` is its end. In this process: its number, or -1 with errno.
    pid_t start(rank_t rank, int& socket) {
        int pair[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return -1;
        unique_fd mine(pair[0]), theirs(pair[1]);
        int pipes[2][2] = {{-1, -1}, {-1, -1}};
        unique_fd read_end[2], write_end[2];
        for (int i = 0; options_.prefix_output && i != 2; ++i) {
            if (::pipe2(pipes[i], O_CLOEXEC) != 0) return -1;
            read_end[i] = unique_fd(pipes[i][0]);
            write_end[i] = unique_fd(pipes[i][1]);
        }
        const pid_t pid = ::fork();
        if (pid < 0) return -1;
        if (pid == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() != owner_) ::_exit(127); // the launcher has died in between
            for (int i = 0; options_.prefix_output && i != 2; ++i) ::dup2(pipes[i][1], i == 0 ? 1 : 2);
            close_in_child();
            mine.reset();
            socket = theirs.release();
            return 0;
        }
        child& c = children_[rank];
        c.pid = pid;
#if defined(SYS_pidfd_open)
        c.pidfd = unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
#endif
        for (int i = 0; i != 2; ++i) c.output[i].fd = std::move(read_end[i]);
        ++running_;
        server_.add(rank, std::move(mine));
        server_.serve(rank);
        return pid;
    }

    // Serves and watches until every rank has ended.
    launch_report run() {
        while (running_ != 0) {
            const std::uint64_t now = steady_now_ns();
            if (now >= std::min(deadline_ns_, grace_ns_)) {
                report_.timed_out = report_.timed_out || now >= deadline_ns_;
                deadline_ns_ = grace_ns_ = ~std::uint64_t{0};
                kill_all();
            }
            step();
        }
        for (rank_t r = 0; r != server_.size(); ++r)
            for (int i = 0; i != 2; ++i) forward(r, i, true);
        for (const child& c : children_) report_.ranks.push_back(c.end);
        return report_;
    }

private:
    struct output_pipe {
        unique_fd fd{};
        std::string line{}; // what came after the last end of a line
    };
    struct child {
        pid_t pid = 0; // 0: not started, or waited for
        unique_fd pidfd{};
        output_pipe output[2]{};
        rank_end end{};
    };

    // The child has no business with what connects the launcher and its brothers.
    void close_in_child() {
        for (rank_t r = 0; r != server_.size(); ++r)
            if (server_.descriptor(r) >= 0) ::close(server_.descriptor(r));
        for (const child& c : children_) {
            if (c.pidfd) ::close(c.pidfd.get());
            for (const output_pipe& out : c.output)
                if (out.fd) ::close(out.fd.get());
        }
    }

    void kill_all() noexcept {
        for (const child& c : children_)
            if (c.pid > 0) ::kill(c.pid, SIGKILL);
    }

    // Waits until something happens, and sees to it.
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
            for (int i = 0; i != 2; ++i) watch(c.output[i].fd.get(), POLLIN, r, i);
            if (c.pid == 0) continue;
            watch(c.pidfd.get(), POLLIN, r, of_process);
            blind |= !c.pidfd;
        }
        const int patience = milliseconds_until(std::min(deadline_ns_, grace_ns_));
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
            else if (part == of_process)
                reap(rank);
            else
                forward(rank, part, false);
        }
        for (rank_t r = 0; blind && r != server_.size(); ++r)
            if (children_[r].pid != 0) reap(r);
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
        if (server_.descriptor(rank) >= 0) server_.serve(rank); // its last words
        server_.gone(rank);
        for (rank_t r = 0; r != server_.size(); ++r)
            if (server_.descriptor(r) >= 0 && server_.wants_to_write(r)) server_.serve(r);
        if (!c.end.ok() && report_.first_failed == no_rank) {
            report_.first_failed = rank;
            grace_ns_ = deadline_after(steady_now_ns(), options_.grace_ns);
        }
    }

    // Passes whole lines on, with the rank before each.
    void forward(rank_t rank, int which, bool is_end) {
        output_pipe& out = children_[rank].output[which];
        if (!out.fd) return;
        if (is_end) ::fcntl(out.fd.get(), F_SETFL, O_NONBLOCK); // a grandchild may hold the other end
        char buffer[4096];
        ssize_t n = 0;
        do {
            n = ::read(out.fd.get(), buffer, sizeof buffer);
            if (n > 0) out.line.append(buffer, static_cast<std::size_t>(n));
        } while ((is_end && n > 0) || (n < 0 && errno == EINTR));
        const bool closed = n == 0 || is_end;
        if (closed && !out.line.empty() && out.line.back() != '\n') out.line += '\n';
        std::string text;
        for (std::size_t end; (end = out.line.find('\n')) != std::string::npos; out.line.erase(0, end + 1))
            text += '[' + std::to_string(rank) + "] " + out.line.substr(0, end + 1);
        for (std::size_t at = 0; at != text.size();) {
            const ssize_t written = ::write(which == 0 ? 1 : 2, text.data() + at, text.size() - at);
            if (written < 0 && errno != EINTR) break; // nobody reads it
            if (written > 0) at += static_cast<std::size_t>(written);
        }
        if (closed) out.fd.reset();
    }

    static constexpr int of_server = 2, of_process = 3; // 0 and 1: output

    launch_options options_;
    exchange_server server_;
    std::vector<child> children_;
    pid_t owner_;
    std::uint64_t deadline_ns_, grace_ns_ = ~std::uint64_t{0};
    rank_t running_ = 0;
    launch_report report_{};
    std::vector<pollfd> polled_;
    std::vector<std::pair<rank_t, int>> who_;
};

} // namespace bough::detail::jobs

#endif
