// SPDX-License-Identifier: BSL-1.0
// Delivery: the parts of signal_progress. They are the objects of a thread that a signal handler
// calls, the regions where the thread may be interrupted, and the thread that raises the signal.
// Linux.
#ifndef BOUGH_PROGRESS_SIGNALS_DELIVERY_HPP
#define BOUGH_PROGRESS_SIGNALS_DELIVERY_HPP

#if !defined(__linux__)
#error "bough: signal_progress needs Linux (tgkill, epoll)"
#endif

#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>
#include <bough/os/fd.hpp>
#include <bough/os/forks.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// An object in this thread that a signal handler calls.
class signal_target {
public:
    signal_target(const signal_target&) = delete;
    signal_target& operator=(const signal_target&) = delete;

protected:
    explicit signal_target(int signal) : signal_(signal) {
        BOUGH_EXPECTS(signal >= SIGRTMIN && signal <= SIGRTMAX, "signal: must be a real-time signal");
    }
    ~signal_target() = default;
    virtual void taken() noexcept = 0;

    // Inside a region this thread only computes. There is one flag for all objects of the thread,
    // as the work of one of them must not be interrupted by the others either.
    static bool inside() noexcept { return depth != 0; }
    static void set_inside(bool is) noexcept {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        depth = is ? 1 : 0;
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }

    // The object is complete: from now on the handler calls it.
    void listen() {
        next_ = first;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        first = this;
        users& all = users_of();
        const std::scoped_lock lock(all.mutex);
        if (all.count[static_cast<std::size_t>(signal_)]++ != 0) return;
        struct sigaction action {};
        action.sa_sigaction = [](int signal, siginfo_t*, void*) { tell(signal); };
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        // Blocks all real-time signals during a handler: handlers run bough, and must not interrupt
        // each other.
        ::sigemptyset(&action.sa_mask);
        for (int s = SIGRTMIN; s <= SIGRTMAX; ++s) ::sigaddset(&action.sa_mask, s);
        ::sigaction(signal_, &action, &all.before[static_cast<std::size_t>(signal_)]);
    }
    // The handler no longer calls this object. Pre: no signal is raised for it any more. Signals
    // that were raised are taken out of the queue.
    void deaf() {
        sigset_t mine, before;
        ::sigemptyset(&mine);
        ::sigaddset(&mine, signal_);
        ::pthread_sigmask(SIG_BLOCK, &mine, &before);
        for (signal_target** link = &first; *link != nullptr; link = &(*link)->next_)
            if (*link == this) {
                *link = next_;
                break;
            }
        const timespec none{};
        while (::sigtimedwait(&mine, nullptr, &none) > 0 || errno == EINTR) {
        }
        users& all = users_of();
        {
            const std::scoped_lock lock(all.mutex);
            if (--all.count[static_cast<std::size_t>(signal_)] == 0)
                ::sigaction(signal_, &all.before[static_cast<std::size_t>(signal_)], nullptr);
        }
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

private:
    struct users {
        std::mutex mutex;
        std::array<int, 65> count{};
        std::array<struct sigaction, 65> before{};
    };
    static users& users_of() {
        static users all;
        return all;
    }
    static void tell(int signal) noexcept {
        const int error = errno;
        for (signal_target* t = first; t != nullptr; t = t->next_)
            if (t->signal_ == signal) t->taken();
        errno = error;
    }
    static inline constinit thread_local signal_target* first = nullptr;
    static inline constinit thread_local volatile std::sig_atomic_t depth = 0;

    int signal_;
    signal_target* next_ = nullptr;
};

// While it lives, this thread gets no signals. Threads that it makes meanwhile never get any.
class signals_blocked {
public:
    signals_blocked() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    signals_blocked(const signals_blocked&) = delete;
    signals_blocked& operator=(const signals_blocked&) = delete;
    ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_;
};

// A thread that sleeps until a descriptor is readable. Then it raises a signal in the thread that
// made it, once for each arm(). After arm_after() it does so when the given time is over. It has
// all signals blocked. In the child of a fork there is no such thread, and these members do
// nothing.
class signal_ringer {
public:
    // Throws error: no_resources, if there are too few descriptors, or no thread.
    signal_ringer(int descriptor, int signal)
        : queue_(::epoll_create1(EPOLL_CLOEXEC)), timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
          end_(::eventfd(0, EFD_CLOEXEC)), descriptor_(descriptor), process_(::getpid()),
          whom_(static_cast<pid_t>(::syscall(SYS_gettid))), signal_(signal) {
        // If a descriptor was not opened, adding it fails.
        if (!change(EPOLL_CTL_ADD, end_.get(), EPOLLIN, 1) || !change(EPOLL_CTL_ADD, timer_.get(), EPOLLIN, 2) ||
            (descriptor_ >= 0 && !change(EPOLL_CTL_ADD, descriptor_, EPOLLONESHOT, 0)))
            throw_if({.code = errc::no_resources, .argument = "signal_progress: descriptors"});
        start();
    }
    signal_ringer(const signal_ringer&) = delete;
    signal_ringer& operator=(const signal_ringer&) = delete;
    ~signal_ringer() { stop(); }

    // Both are async-signal-safe: on Linux they are system calls and no more.
    void arm() noexcept {
        if (descriptor_ >= 0 && !forked()) change(EPOLL_CTL_MOD, descriptor_, EPOLLIN | EPOLLONESHOT, 0);
    }
    void arm_after(long ns) noexcept { // 1 to 999,999,999
        itimerspec once{};
        once.it_value.tv_nsec = ns;
        if (!forked()) ::timerfd_settime(timer_.get(), 0, &once, nullptr);
    }
    void stop() {
        if (!thread_.joinable()) return;
        // Its number may now be that of a thread of the child.
        if (forked()) return leave_to_parent(thread_);
        const std::uint64_t once = 1;
        (void)!::write(end_.get(), &once, sizeof once);
        thread_.join();
    }

private:
    // In the child of a fork, the queue, the timer and the thread belong to the parent.
    bool forked() const noexcept { return forks() != forks_; }
    void start() {
        const signals_blocked meanwhile;
#if BOUGH_HAS_EXCEPTIONS
        try {
            thread_ = std::thread([this] { run(); });
        } catch (const std::system_error&) {
            throw error({.code = errc::no_resources, .argument = "signal_progress: a thread"});
        }
#else
        thread_ = std::thread([this] { run(); });
#endif
    }
    bool change(int how, int fd, std::uint32_t what, std::uint32_t who) noexcept {
        epoll_event e{};
        e.events = what;
        e.data.u32 = who;
        return ::epoll_ctl(queue_.get(), how, fd, &e) == 0;
    }
    void run() const noexcept {
        for (;;) {
            epoll_event e{};
            const int found = ::epoll_wait(queue_.get(), &e, 1, -1);
            if (found < 0 && errno != EINTR) return;
            if (found != 1) continue;
            if (e.data.u32 == 1) return;
            std::uint64_t times = 0;
            if (e.data.u32 == 2 && ::read(timer_.get(), &times, sizeof times) != sizeof times)
                continue; // the timer was set again meanwhile
            ::syscall(SYS_tgkill, process_, whom_, signal_);
        }
    }

    unique_fd queue_, timer_, end_;
    int descriptor_;
    pid_t process_, whom_;
    int signal_;
    std::uint32_t forks_ = forks();
    std::thread thread_; // last: it uses all the others
};

} // namespace bough::detail

#endif
