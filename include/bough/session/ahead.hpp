// SPDX-License-Identifier: BSL-1.0
// Ahead: bounds what a rank may send for operations that are not its oldest in flight.
//
// A peer that is late has started none of them, and keeps what comes for them. Without a bound,
// that would fill the transport: the oldest operation, in which the peer may be waiting, could not
// send any more, and nobody would go on. So what is sent ahead to one peer is bounded by what its
// session copies out when nothing else moves: half of early_limits. Where the peer cannot copy, the
// bound is that and four messages, for which the transport must have memory. A message that is
// longer than the bound is never sent ahead. The oldest operation may always send. When an
// operation becomes the oldest, what it has sent ahead no longer counts. When one ends that the peer
// has started, too, it does not count either, as the peer takes it. But an operation may end here
// while the peer has not started it, as a broadcast at its root: what it has sent lies in the way
// until the operations that were older have ended. Limits should be equal on all ranks.
#ifndef BOUGH_SESSION_AHEAD_HPP
#define BOUGH_SESSION_AHEAD_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/session/unexpected.hpp>

#include <algorithm>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

class ahead {
public:
    // `copies`: receivers can copy early messages out.
    ahead(rank_t ranks, const early_limits& limits, bool copies) noexcept
        : most_(std::min(limits.bytes_per_peer, limits.bytes / ranks) / 2), least_(copies ? 0 : most_ / 4) {}

    // Makes room for the peers of `by`: the functions below do not allocate.
    void prepare(prepared& by) {
        const auto& channels = by.outgoing(); // by peer
        if (channels.empty() || channels.back().peer < sent_.size()) return;
        left_.resize(std::size_t{channels.back().peer} + 1, left_behind{});
        sent_.resize(std::size_t{channels.back().peer} + 1, 0);
    }
    // `oldest`: the ticket of the oldest operation.
    bool fits(rank_t to, std::uint64_t bytes, std::uint32_t oldest) const noexcept {
        std::uint64_t used = to < sent_.size() ? sent_[to] : 0;
        if (to < left_.size() && left_[to].bytes != 0 && is_before(oldest, left_[to].latest)) used += left_[to].bytes;
        return used <= most_ && cost(bytes) <= most_ - used;
    }
    // Pre: prepare(by) was called, and `to` is one of its peers.
    void sent(prepared& by, rank_t to, std::uint64_t bytes) noexcept {
        sent_[to] += cost(bytes);
        total_ += cost(bytes);
        for (auto& channel : by.outgoing())
            if (channel.peer == to) channel.ahead += cost(bytes), channel.ahead_bytes += bytes + 256;
    }
    // `by` has ended, and is not the oldest. `ticket`: its own; `oldest`: that of the oldest one.
    void end(prepared& by, std::uint32_t ticket, std::uint32_t oldest) noexcept {
        if (total_ == 0) return;
        for (const auto& channel : by.outgoing()) {
            if (channel.ahead_bytes == 0 || has_heard(by, channel.peer)) continue;
            left_behind& left = left_[channel.peer];
            if (!is_before(oldest, left.latest)) left.bytes = 0; // nobody older than those is in flight
            if (left.bytes == 0 || is_before(left.latest, ticket)) left.latest = ticket;
            left.bytes += channel.ahead_bytes;
        }
        forget(by);
    }
    // What `by` has sent ahead no longer counts: it is the oldest now, or has ended.
    void forget(prepared& by) noexcept {
        if (total_ == 0) return;
        for (auto& channel : by.outgoing()) {
            if (channel.ahead == 0) continue;
            sent_[channel.peer] -= channel.ahead;
            total_ -= channel.ahead;
            channel.ahead = channel.ahead_bytes = 0;
        }
    }

private:
    // Bytes of operations that have ended here, and of which nothing came from the peer.
    struct left_behind {
        std::uint64_t bytes = 0;
        std::uint32_t latest = 0; // the highest ticket among them
    };
    // Tickets have 31 bits, and wrap.
    static bool is_before(std::uint32_t a, std::uint32_t b) noexcept {
        return a != b && ((b - a) & 0x7fff'ffffu) < 0x4000'0000u;
    }
    static bool has_heard(prepared& by, rank_t peer) noexcept {
        return std::any_of(by.incoming().begin(), by.incoming().end(),
                           [peer](const auto& channel) { return channel.peer == peer && channel.arrived != 0; });
    }
    std::uint64_t cost(std::uint64_t bytes) const noexcept { return std::max(bytes + 256, least_); }

    std::uint64_t most_;  // bytes to one peer
    std::uint64_t least_; // bytes that a message counts for, at least
    std::uint64_t total_ = 0;
    detail::plain_list<std::uint64_t> sent_; // by peer
    detail::plain_list<left_behind> left_;   // by peer
};

} // namespace bough

#endif
