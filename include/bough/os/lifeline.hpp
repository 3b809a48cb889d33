// SPDX-License-Identifier: BSL-1.0
// lifelines: one open socket and one process handle for each peer. They report when the peer ends;
// shared memory alone cannot.
//
// The socket is shut down when its rank leaves. A process that is killed may leave the socket open
// in a child that it had forked; the process handle (pidfd) still reports its end. A byte on the
// socket only means that there is something to look for.
#ifndef BOUGH_OS_LIFELINE_HPP
#define BOUGH_OS_LIFELINE_HPP

#include <bough/core/rank.hpp>
#include <bough/os/fd_passing.hpp>

#include <array>
#include <cerrno>
#include <cstdint>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class lifelines {
public:
    // Pre: once per peer. `pid`: 0 if it is not known or this process. False: descriptors ran out.
    bool add(rank_t peer, unique_fd socket, pid_t pid) {
        if (!watch_) watch_ = unique_fd(::epoll_create1(EPOLL_CLOEXEC));
        unique_fd process;
#if defined(SYS_pidfd_open)
        if (pid > 0) process = unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); // Linux 5.3
        if (!process && pid > 0 && errno != ENOSYS && errno != EPERM && errno != ESRCH) return false;
#endif
        if (lines_.size() <= peer) lines_.resize(peer + 1);
        const bool watched = watch_ && watch(socket.get(), peer, EPOLLIN | EPOLLRDHUP) &&
                             (!process || watch(process.get(), peer | is_process, EPOLLIN));
        lines_[peer] = {std::move(socket), std::move(process)};
        return watched;
    }

    // Readable when a peer has ended, or has rung. -1: there is none.
    int descriptor() noexcept {
        if (!watch_) watch_ = unique_fd(::epoll_create1(EPOLL_CLOEXEC)); // even if there are no peers
        return watch_.get();
    }
    void ring(rank_t peer) const noexcept {
        const char once = 1;
        if (lines_[peer].socket) (void)!::send(lines_[peer].socket.get(), &once, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    // Calls gone(peer) once for each peer that has ended, and takes in the bytes that were rung. It
    // never waits, and peers that ring without end do not hold it up: the next call finds what this
    // one leaves.
    template <class F>
    void look(F&& gone) {
        if (!watch_) return;
        std::array<epoll_event, 64> events;
        const int found = ::epoll_wait(watch_.get(), events.data(), static_cast<int>(events.size()), 0);
        for (int i = 0; i < found; ++i) {
            const epoll_event& e = events[static_cast<std::size_t>(i)];
            const auto peer = static_cast<rank_t>(e.data.u64);
            if (!lines_[peer].socket) continue; // both of the peer's lines are in this list
            if ((e.data.u64 & is_process) == 0 && (e.events & ~std::uint32_t{EPOLLIN}) == 0 && has_rung(peer)) continue;
            gone(peer);
            unwatch(lines_[peer].socket.get()); // a forked child may hold it open, so closing is not enough
            unwatch(lines_[peer].process.get());
            lines_[peer] = {};
        }
    }
    // Is the peer alive now, so that its process number is still its own?
    bool alive(rank_t peer) const noexcept {
        const line& l = lines_[peer];
        if (!l.socket) return false;
        pollfd either[2] = {{l.socket.get(), POLLRDHUP, 0}, {l.process.get(), POLLIN, 0}};
        int found = 0;
        do found = ::poll(either, 2, 0);
        while (found < 0 && errno == EINTR); // a signal can interrupt poll() even if it does not wait
        return found == 0;
    }
    // Called when this rank leaves. A forked child only closes the lines, because they are its
    // parent's.
    void shut_down() noexcept {
        for (const line& l : lines_)
            if (l.socket) ::shutdown(l.socket.get(), SHUT_RDWR);
    }

private:
    struct line {
        unique_fd socket, process;
    };
    static constexpr std::uint64_t is_process = std::uint64_t{1} << 32;

    bool has_rung(rank_t peer) const noexcept {
        std::array<char, 4096> bytes;
        const ssize_t got = ::recv(lines_[peer].socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
    }
    bool watch(int fd, std::uint64_t who, std::uint32_t what) noexcept {
        epoll_event e{};
        e.events = what;
        e.data.u64 = who;
        return ::epoll_ctl(watch_.get(), EPOLL_CTL_ADD, fd, &e) == 0;
    }
    void unwatch(int fd) noexcept {
        if (fd >= 0) ::epoll_ctl(watch_.get(), EPOLL_CTL_DEL, fd, nullptr);
    }

    unique_fd watch_;
    std::vector<line> lines_; // by rank
};

} // namespace bough::detail

#endif
