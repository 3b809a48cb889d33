// SPDX-License-Identifier: BSL-1.0
// Ahead: bounds what a rank may send for operations that are not its oldest in flight.
//
// A peer that is late has started none of them, and keeps what comes for them. Without a bound,
// that would fill the transport: the oldest operation, in which the peer may be waiting, could not
// send any more, and nobody would go on. So what is sent ahead to one peer is bounded by what its
// session copies out when nothing else moves: half of early_limits. Where the peer cannot copy, the
// bound is half of what the transport keeps by itself if it says so (KeepsEarly), and otherwise half
// of early_limits and four messages, for which the transport must have memory. A message that is
// longer than the bound is never sent ahead. The oldest operation may always send. When an
// operation becomes the oldest, what it has sent ahead no longer counts. Limits should be equal on
// all ranks.
//
// An operation may end before its peer has started it, as a broadcast does at its root. What it has
// sent ahead is left behind there, and counts on. The peer knows how much of it lies unused, so it is
// asked when half of the bound is left behind, or when something had to wait (early_reports.hpp). It
// answers when no more than half of that lies there.
// Nothing is left behind if the peer has sent a message of that operation, as it has started it.
#ifndef BOUGH_SESSION_AHEAD_HPP
#define BOUGH_SESSION_AHEAD_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/session/unexpected.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace bough::inline BOUGH_ABI {

class ahead {
public:
    // What may be ahead at one peer. `most`: bytes. `least`: bytes that a message counts for, at least.
    struct bound {
        std::uint64_t most = 0, least = early_message_bytes;
    };

    // `copies`: receivers can copy early messages out.
    ahead(rank_t ranks, const early_limits& limits, bool copies) noexcept
        : bound_{std::min(limits.bytes_per_peer, limits.bytes / ranks) / 2, early_message_bytes} {
        if (!copies) bound_.least = std::max(bound_.least, bound_.most / 4);
    }
    // The bound at a peer whose transport keeps so many bytes of early messages by itself; 0: it does not say.
    bound at_peer(std::uint64_t kept_by_transport) const noexcept {
        if (kept_by_transport == 0) return bound_;
        return {std::min(bound_.most, kept_by_transport / 2), early_message_bytes};
    }

    // Makes room for the peers of `by`: the functions below do not allocate.
    void prepare(prepared& by) {
        const auto& channels = by.outgoing(); // by peer
        if (!channels.empty() && channels.back().peer >= peers_.size())
            peers_.resize(std::size_t{channels.back().peer} + 1, peer{});
    }
    bool fits(rank_t to, std::uint64_t bytes, const bound& b) const noexcept {
        const std::uint64_t used = to < peers_.size() ? peers_[to].in_flight + peers_[to].left : 0;
        return used <= b.most && cost(bytes, b) <= b.most - used;
    }
    // Pre: prepare(by) was called, and `to` is one of its peers.
    void sent(prepared& by, rank_t to, std::uint64_t bytes, const bound& b) noexcept {
        peers_[to].in_flight += cost(bytes, b);
        peers_[to].at_most = b;
        total_ += cost(bytes, b);
        for (auto& channel : by.outgoing())
            if (channel.peer == to) channel.ahead += cost(bytes, b);
    }
    // `by` is the oldest now: what it has sent ahead no longer counts.
    void forget(prepared& by) noexcept {
        if (total_ == 0) return;
        for (auto& channel : by.outgoing())
            if (channel.ahead != 0) take_off(channel);
    }
    // `by` has ended. What it has sent ahead counts on, unless the peer has started it, too.
    void ended(prepared& by) noexcept {
        if (total_ == 0) return;
        for (auto& channel : by.outgoing()) {
            if (channel.ahead == 0) continue;
            const std::uint64_t bytes = take_off(channel);
            if (has_heard(by, channel.peer)) continue;
            peer& p = peers_[channel.peer];
            p.left += bytes;
            if (p.is_asked) p.since += bytes;
            if (p.left >= p.at_most.most / 2) wants_to_ask(p);
        }
    }
    // A message to this peer did not fit.
    void refused(rank_t to) noexcept {
        if (to < peers_.size() && peers_[to].left != 0) wants_to_ask(peers_[to]);
    }

    // Is there a peer to be asked how much lies there?
    bool has_to_ask() const noexcept { return has_to_ask_; }
    // Calls f(peer, limit, least) for each. The peer is to answer when no more than `limit` bytes lie there, if
    // each message counts for at least `least` of them.
    template <class F>
    BOUGH_COLD void ask(F&& f) {
        for (rank_t r = 0; r != peers_.size(); ++r) {
            peer& p = peers_[r];
            if (!p.is_to_be_asked) continue;
            f(r, p.left / 2, p.at_most.least); // may throw
            p.is_to_be_asked = false;
            p.is_asked = true;
            p.since = 0;
        }
        has_to_ask_ = false;
    }
    // The peer's answer: so many bytes of what had been sent when it was asked lie there.
    BOUGH_COLD void told(rank_t from, std::uint64_t bytes) noexcept {
        if (from >= peers_.size() || !peers_[from].is_asked) return;
        peer& p = peers_[from];
        p.left = std::min(p.left, bytes + p.since);
        p.is_asked = false;
        if (p.left >= p.at_most.most / 2) wants_to_ask(p);
    }
    // All messages of the past are void. Pre: no operation is in flight.
    void begin_epoch() noexcept {
        for (peer& p : peers_) p = {};
        has_to_ask_ = false;
    }

private:
    struct peer {
        std::uint64_t in_flight = 0; // bytes sent ahead by operations in flight
        std::uint64_t left = 0;      // by those that have ended
        std::uint64_t since = 0;     // of `left`, what was added since it was asked
        bound at_most{};             // when something was last sent ahead
        bool is_to_be_asked = false, is_asked = false;
    };
    static std::uint64_t cost(std::uint64_t bytes, const bound& b) noexcept {
        return std::max(bytes + early_message_bytes, b.least);
    }
    template <class Channel>
    std::uint64_t take_off(Channel& channel) noexcept {
        const std::uint64_t bytes = std::exchange(channel.ahead, 0);
        peers_[channel.peer].in_flight -= bytes;
        total_ -= bytes;
        return bytes;
    }
    static bool has_heard(prepared& by, rank_t peer) noexcept {
        return std::any_of(by.incoming().begin(), by.incoming().end(),
                           [peer](const auto& c) { return c.peer == peer && c.arrived != 0; });
    }
    void wants_to_ask(peer& p) noexcept {
        if (p.is_asked) return;
        p.is_to_be_asked = true;
        has_to_ask_ = true;
    }

    bound bound_;
    std::uint64_t total_ = 0; // bytes sent ahead by operations in flight
    bool has_to_ask_ = false;
    detail::plain_list<peer> peers_;
};

} // namespace bough

#endif
