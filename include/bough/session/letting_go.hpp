// SPDX-License-Identifier: BSL-1.0
// Letting_go: the end of a communicator. Each member tells the others when it destroys its own, and
// when all have, nothing of it is left and its number is free (contexts.hpp).
//
// It needs the membership, which has the numbers, and control to tell the others. What the matching,
// the failure, the disputes and the late places know of the communicator is forgotten.
#ifndef BOUGH_SESSION_LETTING_GO_HPP
#define BOUGH_SESSION_LETTING_GO_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/session/control.hpp>
#include <bough/session/deadline_watch.hpp>
#include <bough/session/disputes.hpp>
#include <bough/session/failure.hpp>
#include <bough/session/late_ranks.hpp>
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
    late_ranks<T>& late;
    deadline_watch<T>& watch;

    // Pre: contexts::open() with a list of members, and not 0; none of its operations is in flight.
    void by_this_rank(std::uint16_t context) {
        envelope of_it;
        of_it.context = context;
        for (const rank_t r : *members.communicators().members(context))
            if (r != members.rank() && !members.is_lost(r)) messages.put(r, let_go_segment, of_it, {});
        const bool is_first = members.communicators().first_member(context) == members.rank();
        if (members.communicators().close(context)) forget(context, is_first);
        messages.flush();
    }
    void by_peer(std::uint16_t context) {
        const bool is_first = members.communicators().first_member(context) == members.rank();
        if (members.communicators().let_go(context)) forget(context, is_first);
    }

private:
    // The late places lie with the first member. It clears them here, and only then agrees to use the
    // number again: nobody is at work in them any more, and nobody is yet.
    void forget(std::uint16_t context, bool is_first) {
        matched.early().drop(
            [&](const event& e) { return members.is_of_epoch(e.envelope) && e.envelope.context == context; });
        failed.forget(context);
        disputed.forget(context);
        watch.forget(context);
        messages.forget_inbox(context);
        if (is_first && members.epoch() == 1) late.forget(context);
    }
};

} // namespace bough::detail

#endif
