// SPDX-License-Identifier: BSL-1.0
// The events of a transport that have not been handed over yet, in the order in which they came
// about.
#ifndef BOUGH_TRANSPORT_DETAIL_DUE_EVENTS_HPP
#define BOUGH_TRANSPORT_DETAIL_DUE_EVENTS_HPP

#include <bough/concepts/transport.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class due_events {
public:
    due_events() { events_.reserve(16); }

    bool empty() const noexcept { return events_.empty(); }
    // The operation `id` with that peer is over.
    void complete(std::uint64_t id, errc code, rank_t peer) {
        add({.what = event::kind::complete, .code = code, .peer = peer, .id = id});
    }
    void lost(rank_t peer, errc code) { add({.what = event::kind::lost, .code = code, .peer = peer}); }
    // Takes the first event. Pre: there is one.
    event take() noexcept {
        const event first = events_[next_++];
        if (next_ == events_.size()) events_.clear(), next_ = 0;
        return first;
    }
    // Takes as many as `events` has room for. Returns how many.
    std::size_t hand_over(std::span<event> events) noexcept {
        std::size_t n = 0;
        while (n != events.size() && !empty()) events[n++] = take();
        return n;
    }
    // Whether the operation `id` is over, but its event has not been handed over.
    bool has_completed(std::uint64_t id) const noexcept {
        return std::any_of(events_.begin() + static_cast<std::ptrdiff_t>(next_), events_.end(),
                           [id](const event& e) { return e.what == event::kind::complete && e.id == id; });
    }

private:
    void add(const event& e) {
        // A user who takes one event whenever another comes never empties the queue.
        if (next_ >= 32 && next_ >= events_.size() / 2) {
            events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(next_));
            next_ = 0;
        }
        events_.push_back(e);
    }

    std::vector<event> events_; // those from next_ on have not been handed over; empty if there are none
    std::size_t next_ = 0;
};

} // namespace bough::detail

#endif
