// SPDX-License-Identifier: BSL-1.0
// tcp_event_queue: the events of a rank that no read brings: the ends of sends and takes, and ranks
// that were lost without a connection. They wait here until poll() hands them over.
#ifndef BOUGH_TRANSPORT_TCP_EVENT_QUEUE_HPP
#define BOUGH_TRANSPORT_TCP_EVENT_QUEUE_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class tcp_event_queue {
public:
    tcp_event_queue() { waiting_.reserve(16); }

    bool empty() const noexcept { return next_ == waiting_.size(); }
    void complete(std::uint64_t id, errc code, rank_t peer) {
        event e;
        e.what = event::kind::complete;
        e.code = code;
        e.peer = peer;
        e.id = id;
        waiting_.push_back(e);
    }
    BOUGH_COLD void lost(rank_t peer, errc code) {
        event e;
        e.what = event::kind::lost;
        e.code = code;
        e.peer = peer;
        waiting_.push_back(e);
    }
    // The post or take has ended, and its event has not been handed over yet.
    bool has_completed(std::uint64_t id) const noexcept {
        for (std::size_t i = next_; i != waiting_.size(); ++i)
            if (waiting_[i].what == event::kind::complete && waiting_[i].id == id) return true;
        return false;
    }

    // Hands over what `events` has room for, in the order in which it came. Returns how many.
    std::size_t hand_over(std::span<event> events) {
        std::size_t n = 0;
        while (n != events.size() && next_ != waiting_.size()) events[n++] = waiting_[next_++];
        if (next_ == waiting_.size()) {
            waiting_.clear();
            next_ = 0;
        }
        return n;
    }

private:
    std::vector<event> waiting_;
    std::size_t next_ = 0; // the events before this one have been handed over
};

} // namespace bough::detail

#endif
