// SPDX-License-Identifier: BSL-1.0
// signal_progress: a signal interrupts this thread's computation when there is work for its
// operations. There are no signals while no operation is in flight. Linux.
//
//   bough::signal_progress bypass{comm};
//   bough::operation op = bough::start_reduce(comm, x, bough::plus{}, bough::root{0});
//   {
//       const auto here = bypass.interruptible();
//       compute();                   // meanwhile, late children are combined and passed on
//   }
//   op.wait();
// What a signal handler may do depends on the code that it has interrupted. Progress allocates and
// calls the user's op; it must not do so if the interrupted code is in malloc, holds a lock or is
// in bough itself. So the signal does its work only inside a region that you declare
// interruptible(). There the thread computes, and does not allocate, lock, throw, do I/O or call
// bough. Elsewhere the signal only sets a flag; the next region, or any call that makes progress,
// then does the work.
//
// A thread is in one region at a time, whatever the object: regions do not nest. Inside a region,
// deadlines are looked at only when a signal comes. So an operation for which no messages come ends
// by its deadline only in the first call after the region.
//
// After a signal, no other is raised until it has been served. The kernel raises no signals for
// eventfds and epoll queues (fcntl, F_SETSIG), so a thread of this object does. That thread sleeps
// until the transport's descriptor is readable, and uses no processor time otherwise. The object is
// made, used and destroyed by the communicator's thread, which is the one that is interrupted. In
// the child of a fork there are no signals, and the parent's operations go on.
//
// Source: Wagner, Buntinas, Brightwell, Panda, Application-Bypass Reduction for Large-Scale
// Clusters, 2003, section IV.
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
    // Pre: only objects of this kind use this signal. Throws bough::error, no_resources, if it
    // cannot have its three descriptors or its thread; then nothing has changed.
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
    // Until the end of the region this thread only computes. Pre: it is in no region, of this
    // object or of another.
    [[nodiscard]] region interruptible() { return region(*this); }

    // How many signals have come, and how many of them came in a region and were served at once.
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
    // The handler calls this.
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
        } catch (...) { // memory ran out: it tries again, here or in the next call
            ringer_.arm_after(a_while_ns);
        }
#else
        turn();
#endif
    }
    // Does the work that is there, and arms the ringer for work that comes later.
    void turn() {
        for (int again = 0; again != 1000; ++again) {
            const int sleep_ms = events_.prepare();
            if (sleep_ms == 0) continue;
            if (sleep_ms > 1) ringer_.arm();
            if (sleep_ms == 1) break; // there is no descriptor after all
            return;
        }
        ringer_.arm_after(a_while_ns); // nothing else would raise the signal
    }

    static constexpr long a_while_ns = 1'000'000;

    event_progress<T> events_;
    detail::signal_ringer ringer_;
    // In a region of this object; a signal came outside of one.
    volatile std::sig_atomic_t mine_ = 0, pending_ = 0;
    volatile std::uint64_t signals_ = 0, served_ = 0;
};

} // namespace bough

#endif
