// SPDX-License-Identifier: BSL-1.0
// Ahead: bounds what a rank may send for operations that are not its oldest in flight.
//
// A peer that is late has started none of them, and keeps what comes for them. Without a bound,
// that would fill the transport: the oldest operation, in which the peer may be waiting, could not
// send any more, and nobody would go on. So what is sent ahead to one peer is bounded by what its
// session copies out when nothing else moves: half of early_limits. Where the peer cannot copy, the
// bound is that and four messages, for which the transport must have memory. A message that is
// longer than the bound is never sent ahead. The oldest operation may always send. When an
// operation becomes the oldest, or ends, what it has sent ahead no longer counts. Limits should be
// equal on all ranks.
//
// Not bounded: what operations leave behind that end before their peer has started them, as broadcasts at
// their root. Hundreds of these can fill the transport while an older operation is still to send
// (doc/design/010-split-phase.md).
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
        if (!channels.empty() && channels.back().peer >= sent_.size())
            sent_.resize(std::size_t{channels.back().peer} + 1, 0);
    }
    bool fits(rank_t to, std::uint64_t bytes) const noexcept {
        const std::uint64_t used = to < sent_.size() ? sent_[to] : 0;
        return used <= most_ && cost(bytes) <= most_ - used;
    }
    // Pre: prepare(by) was called, and `to` is one of its peers.
    void sent(prepared& by, rank_t to, std::uint64_t bytes) noexcept {
        sent_[to] += cost(bytes);
        total_ += cost(bytes);
        for (auto& channel : by.outgoing())
            if (channel.peer == to) channel.ahead += cost(bytes);
    }
    // What `by` has sent ahead no longer counts: it is the oldest now, or has ended.
    void forget(prepared& by) noexcept {
        if (total_ == 0) return;
        for (auto& channel : by.outgoing()) {
            if (channel.ahead == 0) continue;
            sent_[channel.peer] -= channel.ahead;
            total_ -= channel.ahead;
            channel.ahead = 0;
        }
    }

private:
    std::uint64_t cost(std::uint64_t bytes) const noexcept { return std::max(bytes + 256, least_); }

    std::uint64_t most_;  // bytes to one peer
    std::uint64_t least_; // bytes that a message counts for, at least
    std::uint64_t total_ = 0;
    detail::plain_list<std::uint64_t> sent_; // by peer
};

} // namespace bough

#endif
