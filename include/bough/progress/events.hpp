// SPDX-License-Identifier: BSL-1.0
// event_progress: moves operations on in a loop of your own, which sleeps in poll(), epoll or the
// like. POSIX.
//
//   bough::event_progress events{comm};
//   while (!over) {
//       pollfd of[] = {{my_socket, POLLIN, 0}, {events.descriptor(), POLLIN, 0}};
//       ::poll(of, 2, events.prepare());
//       events.progress();
//       ...
//   }
// Call prepare() before each sleep: it says how long the sleep may be, in milliseconds. Call
// progress() after it, whatever woke the loop. Call nothing of bough between the two. While no
// operation is in flight there are no notifications, and prepare() says -1: for ever.
//
// The transport must be a DescriptorTransport. If it has no descriptor after all (-1, which poll
// ignores), prepare() says 1. All communicators over the transport are served. In the child of a
// fork, the operations that were in flight have ended: prepare() says 0 once, so that the loop
// looks at them, and then -1.
#ifndef BOUGH_PROGRESS_EVENTS_HPP
#define BOUGH_PROGRESS_EVENTS_HPP

#include <bough/communicator.hpp>
#include <bough/concepts/explain_transport.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace bough::inline BOUGH_ABI {

template <class T>
class event_progress {
    static_assert(explain_descriptor_transport<T>());

public:
    // tick_ms: how often deadlines are looked at during a sleep, in milliseconds.
    explicit event_progress(communicator<T>& comm, int tick_ms = 20)
        : session_(comm.shared_session()), tick_ms_(tick_ms) {}
    event_progress(event_progress&& other) noexcept
        : session_(std::move(other.session_)), tick_ms_(other.tick_ms_), armed_(std::exchange(other.armed_, false)) {}
    event_progress& operator=(event_progress&&) = delete;
    ~event_progress() {
        if (armed_) session_->transport().disarm();
    }

    // The descriptor is always the same, and belongs to the transport.
    int descriptor() { return session_->transport().descriptor(); }
    int prepare() {
        const std::size_t before = session_->outstanding();
        // An operation may have ended: look at it first.
        if (progress() || session_->outstanding() != before) return 0;
        // What was in flight has ended.
        if (session_->forked()) return std::exchange(in_child_, true) ? -1 : 0;
        if (!busy()) return -1;
        if (descriptor() < 0) return 1;
        if (session_->make_way()) return 0;
        armed_ = session_->transport().arm();
        return armed_ ? tick_ms_ : 0;
    }
    // Polls until nothing is found. True: something was found.
    bool progress() {
        if (std::exchange(armed_, false)) session_->transport().disarm();
        bool moved = false;
        for (int polls = 0; polls != 64 && session_->progress(); ++polls) moved = true;
        session_->check_deadlines();
        return moved;
    }
    // Is an operation in flight, or something still to be sent?
    bool busy() { return session_->busy(); }

private:
    std::shared_ptr<session<T>> session_;
    int tick_ms_;
    bool armed_ = false, in_child_ = false;
};

} // namespace bough

#endif
