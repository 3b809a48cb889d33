// SPDX-License-Identifier: BSL-1.0
// in_turns: how a poll takes the messages of many peers: one of each, and then of each the next.
#ifndef BOUGH_TRANSPORT_IN_TURNS_HPP
#define BOUGH_TRANSPORT_IN_TURNS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// Fills `events` by peek(peer, event), which is false if that peer has sent nothing more. Returns how many
// events there are. Looks once at each peer, and again only at those (up to 16) that had a message. Once
// `events` is full, the peers behind the last one of the first look come first next time: so one that sends
// much does not keep this rank from the others.
template <class Peers, class Peek>
BOUGH_ALWAYS_INLINE std::size_t take_in_turns(Peers& peers, std::span<event> events, const Peek& peek) {
    std::array<decltype(peers.begin()), 16> senders;
    std::size_t found = 0, count = 0;
    auto next = peers.begin();
    for (; next != peers.end() && found != events.size(); ++next) {
        if (!peek(**next, events[found])) continue;
        ++found;
        if (count != senders.size()) senders[count++] = next;
    }
    while (count != 0 && found != events.size()) {
        std::size_t kept = 0;
        for (std::size_t k = 0; k != count && found != events.size(); ++k)
            if (peek(**senders[k], events[found])) ++found, senders[kept++] = senders[k];
        count = kept;
    }
    if (found == events.size() && found != 0) [[unlikely]]
        std::rotate(peers.begin(), next == peers.end() && peers.size() > 1 ? peers.begin() + 1 : next, peers.end());
    return found;
}

} // namespace bough::detail

#endif
