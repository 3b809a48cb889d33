// SPDX-License-Identifier: BSL-1.0
// Letting_go: the end of a communicator. Each member tells the others when it destroys its own, and
// when all have, nothing of it is left and its number is free (contexts.hpp).
//
// It needs the membership, which has the numbers, and control to tell the others. What the matching,
// the failure and the disputes know of the communicator is forgotten.
#ifndef BOUGH_SESSION_LETTING_GO_HPP
#define BOUGH_SESSION_LETTING_GO_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/session/control.hpp>
#include <bough/session/disputes.hpp>
#include <bough/session/failure.hpp>
#include <bough/session/matching.hpp>
#include <bough/session/membership.hpp>
#include <bough/session/unexpected.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
struct letting_go {
    membership& members;
    control<T>& messages;
    matching<T>& matched;
    failure<T>& failed;
    disputes<T>& disputed;

    // Pre: contexts::open() with a list of members, and not 0; none of its operations is in flight.
    void by_this_rank(std::uint16_t context) {
        envelope of_it;
        of_it.context = context;
        for (const rank_t r : *members.communicators().members(context))
            if (r != members.rank() && !members.is_lost(r)) messages.put(r, let_go_segment, of_it, {});
        if (members.communicators().close(context)) forget(context);
        messages.flush();
    }
    void by_peer(std::uint16_t context) {
        if (members.communicators().let_go(context)) forget(context);
    }

private:
    void forget(std::uint16_t context) {
        matched.early().drop(
            [&](const event& e) { return members.is_of_epoch(e.envelope) && e.envelope.context == context; });
        failed.forget(context);
        disputed.forget(context);
        messages.forget_inbox(context);
    }
};

} // namespace bough::detail

#endif
