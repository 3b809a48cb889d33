// SPDX-License-Identifier: BSL-1.0
// in_turns: how a poll takes the messages of many peers: one of each, and then of each the next.
#ifndef BOUGH_TRANSPORT_IN_TURNS_HPP
#define BOUGH_TRANSPORT_IN_TURNS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// Fills `events` by peek(peer, event), which is false if that peer has sent nothing more. Returns how many there
// are. If they are all that was asked for, the first peer becomes the last, so that one that sends much does
// not keep this rank from the others.
template <class Peers, class Peek>
BOUGH_ALWAYS_INLINE std::size_t take_in_turns(Peers& peers, std::span<event> events, const Peek& peek) {
    std::size_t found = 0;
    for (bool more = true; more;) {
        more = false;
        for (auto* peer : peers)
            if (found != events.size() && peek(*peer, events[found])) ++found, more = true;
    }
    if (found == events.size() && peers.size() > 1) std::rotate(peers.begin(), peers.begin() + 1, peers.end());
    return found;
}

} // namespace bough::detail

#endif
