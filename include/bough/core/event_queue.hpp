// SPDX-License-Identifier: BSL-1.0
// event_queue: the clock of all that runs in virtual time, and what is due then: the simulator, the
// simulated worlds, the simulated NICs.
//
//   event_queue<std::uint64_t, what> queue;          or with double; no time is negative
//   queue.push(500, {...});
//   while (!queue.empty()) run(queue.pop());         the clock moves on to queue.now() == 500
//
// Events of equal times come out in the order in which they were put in.
//
// It is a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990) over the bits of the time. No event is
// put in before the time at which the clock stands. So an event's bucket only tells how its time
// differs from the last time at which an event came out: bucket k has the events whose highest
// differing bit is bit k - 1. The next event is in the lowest bucket that is not empty; when the
// time moves there, that bucket's events move to lower buckets, in order. Collectives have many
// events at one time; these come out without any comparison.
//
// clear() keeps the memory.
#ifndef BOUGH_CORE_EVENT_QUEUE_HPP
#define BOUGH_CORE_EVENT_QUEUE_HPP

#include <bough/core/config.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <class Time, class Event>
class event_queue {
    static_assert(std::same_as<Time, double> || std::same_as<Time, std::uint64_t>);

public:
    // When GCC 12 evaluates a constant expression, it may spoil the initialisers of members: objects
    // at run time then begin with what that evaluation left there. So the constructor sets all.
    constexpr event_queue() { clear(); }

    // Where the clock stands.
    constexpr Time now() const noexcept { return now_; }
    constexpr bool empty() const noexcept { return filled_ == 0; }
    // When the next event is due. Pre: !empty().
    constexpr Time next() const noexcept { return time_of(buckets_[lowest()].least); }

    // Puts an event in. A whole number from 2^63 on counts as 2^63 - 1: there is no bucket for it.
    // Pre: at >= now().
    constexpr void push(Time at, Event event) {
        if constexpr (std::same_as<Time, std::uint64_t>)
            if (at > never / 2) at = never / 2;
        put({std::bit_cast<std::uint64_t>(at), std::move(event)});
    }
    // Takes the next event out. The clock moves on to its time, unless it stands later. Pre:
    // !empty().
    constexpr Event pop() {
        if (const std::size_t from = lowest(); from != 0) {
            bucket& opened = buckets_[from];
            last_ = std::exchange(opened.least, never);
            filled_ &= ~(std::uint64_t{1} << from);
            if (const Time at = time_of(last_); now_ < at) now_ = at;
            if (opened.entries.size() == 1) {
                Event only = std::move(opened.entries.front().event);
                opened.entries.clear();
                return only;
            }
            for (entry& e : opened.entries) put(std::move(e)); // those of the least time come into bucket 0
            opened.entries.clear();
        }
        std::vector<entry>& due = buckets_[0].entries;
        Event first = std::move(due[read_++].event);
        if (read_ == due.size()) {
            due.clear();
            buckets_[0].least = never;
            read_ = 0;
            filled_ &= ~std::uint64_t{1};
        }
        return first;
    }

    // Moves the clock to `to`, and takes out all events that are due by then: calls happen(event)
    // with each, while the clock stands at `to`. Does nothing to the clock if it stands later.
    template <class Happen>
    constexpr void pass(Time to, Happen&& happen) {
        if (now_ < to) now_ = to;
        while (!empty() && next() <= now_) happen(pop());
    }
    // The same, to the time of the next event. False if there is none.
    template <class Happen>
    constexpr bool skip(Happen&& happen) {
        if (empty()) return false;
        pass(next(), happen);
        return true;
    }

    // Forgets all events, and sets the clock to 0.
    constexpr void clear() noexcept {
        for (bucket& b : buckets_) b.entries.clear(), b.least = never;
        filled_ = last_ = 0;
        read_ = 0;
        now_ = 0;
    }

private:
    static constexpr std::uint64_t never = ~std::uint64_t{0};
    struct entry {
        std::uint64_t key; // the bits of the time: this number grows with the time
        Event event;
    };
    struct bucket {
        std::vector<entry> entries{};
        std::uint64_t least = 0; // the least key of the entries; never: there are none
    };

    static constexpr Time time_of(std::uint64_t key) noexcept { return std::bit_cast<Time>(key); }
    constexpr std::size_t lowest() const noexcept { return static_cast<std::size_t>(std::countr_zero(filled_)); }

    // Adds an entry to its bucket, as the last.
    constexpr void put(entry&& e) {
        const std::size_t at = static_cast<std::size_t>(std::bit_width(e.key ^ last_));
        bucket& b = buckets_[at];
        if (e.key < b.least) b.least = e.key;
        b.entries.push_back(std::move(e));
        filled_ |= std::uint64_t{1} << at;
    }

    std::array<bucket, 64> buckets_;
    std::uint64_t filled_ = 0; // a bit for each bucket that is not empty
    std::uint64_t last_ = 0;   // the key of the last event that came out
    std::size_t read_ = 0;     // how many entries of bucket 0 have come out
    Time now_ = 0;
};

} // namespace bough::detail

#endif
