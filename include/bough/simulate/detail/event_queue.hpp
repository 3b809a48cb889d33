// SPDX-License-Identifier: BSL-1.0
// The queue of the discrete-event engine: a radix heap over the bits of the time. Events of equal
// times come out in the order in which they were put in.
//
// No event is put in with an earlier time than the event that came out last. So an event's bucket
// only tells how its time differs from that last time: bucket k has the events whose highest
// differing bit is bit k - 1. The next event is in the lowest bucket that is not empty; when the
// time moves there, that bucket's events move to lower buckets, in order. (Ahuja, Mehlhorn, Orlin,
// Tarjan 1990.) Symmetric collectives have many events at one time; these come out without any
// comparison.
#ifndef BOUGH_SIMULATE_DETAIL_EVENT_QUEUE_HPP
#define BOUGH_SIMULATE_DETAIL_EVENT_QUEUE_HPP

#include <bough/core/config.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

struct sim_event {
    double at_ns = 0;
    std::uint32_t what = 0;
    std::uint32_t a = 0; // a rank, a message or a channel
    std::uint32_t b = 0;
};

class event_queue {
public:
    constexpr bool empty() const noexcept { return filled_ == 0; }
    // The time of the next event. Pre: !empty().
    constexpr double next_ns() const noexcept {
        return std::bit_cast<double>(buckets_[static_cast<std::size_t>(std::countr_zero(filled_))].least);
    }

    // Pre: at_ns is not negative, and not before the last pop.
    constexpr void push(double at_ns, std::uint32_t what, std::uint32_t a, std::uint32_t b = 0) {
        put({at_ns, what, a, b});
    }
    // Pre: !empty().
    constexpr sim_event pop() {
        const std::size_t lowest = static_cast<std::size_t>(std::countr_zero(filled_));
        bucket& from = buckets_[lowest];
        if (lowest != 0) {
            last_ = from.least;
            filled_ &= ~(std::uint64_t{1} << lowest);
            from.least = never;
            if (from.events.size() == 1) {
                const sim_event only = from.events.front();
                from.events.clear();
                return only;
            }
            for (const sim_event& e : from.events) put(e);
            from.events.clear();
        }
        bucket& now = buckets_[0];
        const sim_event first = now.events[read_++];
        if (read_ == now.events.size()) {
            now.events.clear();
            read_ = 0;
            filled_ &= ~std::uint64_t{1};
        }
        return first;
    }

private:
    static constexpr std::uint64_t never = ~std::uint64_t{0};
    struct bucket {
        std::vector<sim_event> events{};
        std::uint64_t least = never;
    };

    constexpr void put(const sim_event& e) {
        const std::uint64_t key = std::bit_cast<std::uint64_t>(e.at_ns); // grows with the time if that is not negative
        const std::size_t at = static_cast<std::size_t>(std::bit_width(key ^ last_));
        bucket& b = buckets_[at];
        b.events.push_back(e);
        if (key < b.least || at == 0) b.least = key;
        filled_ |= std::uint64_t{1} << at;
    }

    std::array<bucket, 64> buckets_{};
    std::uint64_t filled_ = 0; // a bit for each bucket that is not empty
    std::uint64_t last_ = 0;   // the time of the last pop
    std::size_t read_ = 0;     // how many events of bucket 0 have come out
};

} // namespace bough::detail

#endif
