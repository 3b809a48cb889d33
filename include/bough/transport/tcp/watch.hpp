// SPDX-License-Identifier: BSL-1.0
// tcp_watch: one descriptor that is readable when any socket of a rank is ready. It is an epoll
// queue; on systems other than Linux there is none.
//
// From the first call of descriptor() on, the queue watches each socket for reading. While the
// caller sleeps, a socket with bytes to send can be watched for room as well, and a socket whose
// bytes nobody can use yet can be left out.
#ifndef BOUGH_TRANSPORT_TCP_WATCH_HPP
#define BOUGH_TRANSPORT_TCP_WATCH_HPP

#include <bough/transport/tcp/sockets.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/epoll.h>
#endif

namespace bough::inline BOUGH_ABI::detail {

class tcp_watch {
public:
#if defined(__linux__)
    bool is_open() const noexcept { return static_cast<bool>(queue_); }
    int get() const noexcept { return queue_.get(); }
    bool open() {
        queue_ = unique_fd(::epoll_create1(EPOLL_CLOEXEC));
        return is_open();
    }
    // False: the kernel has no memory for it.
    bool add(int socket) { return change(EPOLL_CTL_ADD, socket, EPOLLIN | EPOLLRDHUP); }
    void remove(int socket) { // closing is not enough: a forked child may hold it open
        if (is_open()) change(EPOLL_CTL_DEL, socket, 0);
        std::erase(special_, socket);
    }
    // Changes what a socket is watched for, until calm().
    void ask(int socket, bool to_read, bool to_write) {
        const auto reading = to_read ? EPOLLIN | EPOLLRDHUP : 0u;
        const auto writing = to_write ? static_cast<std::uint32_t>(EPOLLOUT) : 0u;
        if (change(EPOLL_CTL_MOD, socket, reading | writing)) special_.push_back(socket);
    }
    void calm() {
        for (const int socket : special_) change(EPOLL_CTL_MOD, socket, EPOLLIN | EPOLLRDHUP);
        special_.clear();
    }

private:
    bool change(int how, int socket, std::uint32_t what) noexcept {
        epoll_event e{};
        e.events = what;
        return ::epoll_ctl(queue_.get(), how, socket, &e) == 0;
    }

    unique_fd queue_;
    std::vector<int> special_; // watched for something other than reading
#else
    bool is_open() const noexcept { return false; }
    int get() const noexcept { return -1; }
    bool open() { return false; }
    bool add(int) { return false; }
    void remove(int) {}
    void ask(int, bool, bool) {}
    void calm() {}
#endif
};

} // namespace bough::detail

#endif
