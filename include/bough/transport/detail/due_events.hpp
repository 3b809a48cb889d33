// SPDX-License-Identifier: BSL-1.0
// The events of a transport that have not been handed over yet, in the order in which they came
// about.
#ifndef BOUGH_TRANSPORT_DETAIL_DUE_EVENTS_HPP
#define BOUGH_TRANSPORT_DETAIL_DUE_EVENTS_HPP

#include <bough/concepts/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// What ends an operation, or loses a peer, cannot be undone for want of memory. So a transport says before
// it accepts an operation that an event will come of it, and once for each peer.
class due_events {
public:
    due_events() : ring_(16) {}

    bool empty() const noexcept { return due_ == 0; }
    // So many more events will come, which then take no memory. If there is none for them, nothing has
    // happened.
    void expect(std::size_t more = 1) {
        make_room(more);
        expected_ += more;
    }
    // So that expect() allocates nothing.
    void make_room(std::size_t more = 1) {
        if (ring_.size() - due_ - expected_ < more) grow(due_ + expected_ + more);
    }
    // One that was expected will not come.
    void expect_less() noexcept { --expected_; }

    // The operation `id` with that peer is over. Throws only if it was not expected, as lost().
    void complete(std::uint64_t id, errc code, rank_t peer) {
        add({.what = event::kind::complete, .code = code, .peer = peer, .id = id});
    }
    void lost(rank_t peer, errc code) { add({.what = event::kind::lost, .code = code, .peer = peer}); }
    // Takes the first event. Pre: there is one.
    event take() noexcept {
        const event& first = ring_[next_];
        next_ = (next_ + 1) & (ring_.size() - 1);
        --due_;
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
        for (std::size_t i = 0; i != due_; ++i)
            if (const event& e = at(i); e.what == event::kind::complete && e.id == id) return true;
        return false;
    }

private:
    const event& at(std::size_t i) const noexcept { return ring_[(next_ + i) & (ring_.size() - 1)]; }
    void add(const event& e) {
        if (expected_ != 0)
            --expected_;
        else if (due_ == ring_.size())
            grow(due_ + 1);
        ring_[(next_ + due_++) & (ring_.size() - 1)] = e;
    }
    void grow(std::size_t least) {
        std::size_t size = 2 * ring_.size();
        while (size < least) size *= 2;
        std::vector<event> made(size);
        for (std::size_t i = 0; i != due_; ++i) made[i] = at(i);
        ring_ = std::move(made);
        next_ = 0;
    }

    std::vector<event> ring_; // as many as a power of two; from next_ on lie those that are due
    std::size_t next_ = 0, due_ = 0;
    std::size_t expected_ = 0; // for which there is room, too
};

} // namespace bough::detail

#endif
