// SPDX-License-Identifier: BSL-1.0
// signal_progress: a signal interrupts this thread's computation when there is something to be done for its operations, and
// while and only while there are any. Linux.
//
//   bough::signal_progress bypass{comm};
//   bough::operation op = bough::start_reduce(comm, x, bough::plus{}, bough::root{0});
//   {
//       const auto here = bypass.interruptible();
//       compute();                              // late children are combined, and passed on, meanwhile
//   }
//   op.wait();
// What a signal handler may do depends on what it has interrupted: progress allocates and calls the user's op, which it must
// not if the interrupted code is in malloc, in a lock or in bough itself. So the signal does its work only inside of a
// region that you declare interruptible(): there the thread computes, and neither allocates, locks, throws, does I/O nor calls
// bough. Elsewhere it only sets a flag, which the next region, or any call that makes progress, serves. A thread is in one
// region at a time, whatever the object: regions do not nest. Deadlines are not looked at inside of one unless a signal comes:
// an operation that nobody sends anything for ends by its deadline in the first call after it.
//
// Only one signal is raised until it has been served. The kernel raises none for eventfds and epoll queues (fcntl, F_SETSIG),
// so a thread of this object's own does: it sleeps until the transport's descriptor is readable, and uses no processor time
// otherwise. To be made, used and destroyed by the communicator's thread, which is the one that is interrupted. In the child
// of a fork there are no signals, and what the parent has goes on.
// Source: Wagner, Buntinas, Brightwell, Panda, Application-Bypass Reduction for Large-Scale Clusters, 2003, section IV.
#ifndef BOUGH_PROGRESS_SIGNALS_HPP
#define BOUGH_PROGRESS_SIGNALS_HPP

#include <bough/core/config.hpp>
#include <bough/progress/events.hpp>
#include <bough/progress/signals/delivery.hpp>

#include <atomic>
#include <csignal>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

template <class T>
class signal_progress final : private detail::signal_target {
public:
    // Pre: nobody else uses this signal, but other objects of this kind. Throws bough::error, no_resources,
    // if its three descriptors or its thread cannot be had; then nothing has changed.
    explicit signal_progress(communicator<T>& comm, int signal = SIGRTMIN + 2)
        : signal_target(signal), events_(comm), ringer_(events_.descriptor(), signal) {
        listen();
    }
    ~signal_progress() {
        BOUGH_EXPECTS(!inside(), "signal_progress: destroyed inside of an interruptible region");
        ringer_.stop();
        deaf();
    }
    signal_progress(const signal_progress&) = delete;
    signal_progress& operator=(const signal_progress&) = delete;

    class region {
    public:
        explicit region(signal_progress& owner) : owner_(&owner) { owner.enter(); }
        region(const region&) = delete;
        region& operator=(const region&) = delete;
        ~region() { owner_->leave(); }

    private:
        signal_progress* owner_;
    };
    // Until the end of the region this thread only computes. Pre: it is in no region, of this object or of another.
    [[nodiscard]] region interruptible() { return region(*this); }

    // How many signals have come, and how many of them have been served where they came.
    std::uint64_t signals() const noexcept { return signals_; }
    std::uint64_t served() const noexcept { return served_; }

private:
    void enter() {
        BOUGH_EXPECTS(!inside(), "interruptible: regions do not nest");
        for (;;) {
            pending_ = 0;
            turn();
            mine_ = 1;
            set_inside(true);
            if (pending_ == 0) return;
            leave(); // a signal came before the region had begun
        }
    }
    void leave() noexcept {
        set_inside(false);
        mine_ = 0;
    }
    // Of the handler.
    void taken() noexcept override {
        signals_ = signals_ + 1;
        if (!inside() || mine_ == 0) { // elsewhere, or in the region of another object
            pending_ = 1;
            return;
        }
        served_ = served_ + 1;
#if BOUGH_HAS_EXCEPTIONS
        try {
            turn();
        } catch (...) { // memory ran out: it is tried again, here or in the next call
            ringer_.arm_after(a_while_ns);
        }
#else
        turn();
#endif
    }
    // Serves what is there, and has itself called again for what comes later.
    void turn() {
        for (int again = 0; again != 1000; ++again) {
            const int sleep_ms = events_.prepare();
            if (sleep_ms == 0) continue;
            if (sleep_ms > 1) ringer_.arm();
            if (sleep_ms == 1) break; // there is no descriptor after all
            return;
        }
        ringer_.arm_after(a_while_ns); // nothing else raises it
    }

    static constexpr long a_while_ns = 1'000'000;

    event_progress<T> events_;
    detail::signal_ringer ringer_;
    volatile std::sig_atomic_t mine_ = 0, pending_ = 0; // the region is this object's; a signal came outside of it
    volatile std::uint64_t signals_ = 0, served_ = 0;
};

} // namespace bough

#endif
