// SPDX-License-Identifier: BSL-1.0
// emulated_arrivals: the links to one rank of bough::emulated. They hold back what has come until it
// is due.
//
// Not core/event_queue.hpp: the loss of a peer that has sent nothing for long may be due before the
// last event that came out.
#ifndef BOUGH_TRANSPORT_EMULATED_ARRIVALS_HPP
#define BOUGH_TRANSPORT_EMULATED_ARRIVALS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI {

// One direction of a pair of ranks, where it differs from the others.
struct emulated_link {
    rank_t from = 0, to = 0;
    double latency_ns = 0;
    double ns_per_byte = 0; // the inverse of the bandwidth
    double jitter_ns = 0;
    friend bool operator==(const emulated_link&, const emulated_link&) = default;
};

// In each period, for the first `duration_ns` of it on now_ns(), a byte takes `factor` times as
// long. A period of 0: never.
struct emulated_windows {
    double period_ns = 0, duration_ns = 0, factor = 1;
    friend bool operator==(const emulated_windows&, const emulated_windows&) = default;
};

namespace detail {

// The time at which `work_ns` of work is done that begins at `begin`. In the slow windows work
// takes `factor` times as long.
inline double through_windows(const emulated_windows& slow, double begin, double work_ns) {
    if (!(slow.period_ns > 0) || !(slow.duration_ns > 0) || !(slow.factor > 1)) return begin + work_ns;
    // Work in one period.
    const double in_period = slow.duration_ns / slow.factor + (slow.period_ns - slow.duration_ns);
    const double phase = std::fmod(begin, slow.period_ns);
    // Count as if the work had started with the period: so much of it would be done at `begin`.
    const double before =
        phase < slow.duration_ns ? phase / slow.factor : slow.duration_ns / slow.factor + (phase - slow.duration_ns);
    const double total = before + work_ns;
    const double periods = std::floor(total / in_period);
    const double rest = total - periods * in_period;
    const double in_window = slow.duration_ns / slow.factor;
    return begin - phase + periods * slow.period_ns +
           (rest < in_window ? rest * slow.factor : slow.duration_ns + (rest - in_window));
}

// One of 2^53 numbers in [0, 1), from a seed, a link and the number of a message on it.
inline double drawn(std::uint64_t seed, rank_t from, rank_t to, std::uint64_t number) noexcept {
    std::uint64_t x = seed;
    for (const std::uint64_t part : {std::uint64_t{from} << 32 | to, number}) x = mix_bits(x + part);
    return static_cast<double>(x >> 11) * 0x1p-53;
}

template <int>
class basic_emulated_arrivals {
public:
    // `alike`: what all links have but those in `others`. Of these, it takes the ones to `me`.
    basic_emulated_arrivals(rank_t me, rank_t size, const emulated_link& alike, std::span<const emulated_link> others,
                            const emulated_windows& slow, std::uint64_t seed)
        : me_(me), slow_(slow), seed_(seed), links_(size, link_of(alike)) {
        for (const emulated_link& l : others)
            if (l.to == me) links_[l.from] = link_of(l);
        for (const link& l : links_) take_time_ = take_time_ || l.latency > 0 || l.per_byte > 0 || l.jitter > 0;
    }

    // Does some link take time?
    bool take_time() const noexcept { return take_time_; }
    // The loss of the peer has come, and has been handed over or not.
    bool is_gone(rank_t peer) const noexcept { return links_[peer].state == peer_state::gone; }
    bool is_leaving(rank_t peer) const noexcept { return links_[peer].state == peer_state::leaving; }

    // So many more events can be held without memory for more.
    void make_room(std::size_t events) {
        if (held_.capacity() - held_.size() < events) held_.reserve(2 * held_.size() + events);
    }
    // Holds back a message or a loss that has come now.
    void hold(const event& e, double now_ns) {
        link& l = links_[e.peer];
        if (e.what == event::kind::arrived && take_time_) {
            const double begin = std::max(now_ns, l.free);
            l.free = through_windows(slow_, begin, l.per_byte * static_cast<double>(e.bytes));
            const double late = l.jitter > 0 ? l.jitter * drawn(seed_, e.peer, me_, l.messages) : 0;
            l.due = std::max(l.due, l.free + l.latency + late);
            ++l.messages;
        }
        if (e.what == event::kind::lost) l.state = peer_state::leaving;
        held_.push_back({l.due, ++arrivals_, e}); // a loss comes after what the peer has sent
        std::push_heap(held_.begin(), held_.end(), later);
    }
    bool empty() const noexcept { return held_.empty(); }
    // The next event, and when it is due. Pre: !empty().
    const event& next() const noexcept { return held_.front().what; }
    double next_ns() const noexcept { return held_.front().due; }
    event take() noexcept {
        std::pop_heap(held_.begin(), held_.end(), later);
        const event e = held_.back().what;
        held_.pop_back();
        if (e.what == event::kind::lost) links_[e.peer].state = peer_state::gone;
        return e;
    }

private:
    enum class peer_state : std::uint8_t { here, leaving, gone }; // leaving: the loss is still held back
    struct link {
        double latency = 0, per_byte = 0, jitter = 0;
        double free = 0; // when it has carried everything that came
        double due = 0;  // of its last message
        std::uint64_t messages = 0;
        peer_state state = peer_state::here;
    };
    struct held {
        double due;
        std::uint64_t number; // in order of arrival
        event what;
    };
    static link link_of(const emulated_link& l) noexcept {
        return {.latency = l.latency_ns, .per_byte = l.ns_per_byte, .jitter = l.jitter_ns};
    }
    static bool later(const held& a, const held& b) noexcept {
        return b.due != a.due ? b.due < a.due : b.number < a.number;
    }

    rank_t me_;
    emulated_windows slow_;
    std::uint64_t seed_;
    bool take_time_ = false;
    std::vector<link> links_; // by peer
    std::vector<held> held_;  // a heap, the next one first
    std::uint64_t arrivals_ = 0;
};
using emulated_arrivals = basic_emulated_arrivals<0>;

} // namespace detail

} // namespace bough

#endif
