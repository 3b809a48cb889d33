// SPDX-License-Identifier: BSL-1.0
// letting_go: the end of a communicator. Each member tells the others when it will make no further
// call, and which was its last: a later call of theirs can not end well, so it ends at once. When
// nothing of the communicator is left on a member, that member tells the others again. When all have
// done so, the number of the communicator is free (contexts.hpp). Mostly a member tells both in one
// message: handles of ended operations are what may be left.
//
// This class needs the membership, which has the numbers, and control to tell the others. What the
// matching, the failure, the disputes and the late places know of the communicator is forgotten.
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
#include <cstring>

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

    // This rank makes no further call of it.
    void end_calls(std::uint16_t context) {
        tell(context, last_call_segment);
        members.communicators().end_calls(context);
        failed.note();
        messages.flush();
    }
    // Pre: contexts::open() with a list of members, and not 0; none of its operations is in flight.
    void by_this_rank(std::uint16_t context) {
        tell(context, let_go_segment);
        const bool is_first = members.communicators().first_member(context) == members.rank();
        if (members.communicators().close(context)) forget(context, is_first);
        failed.note();
        messages.flush();
    }
    // A message of one of those two segments. Its payload is another member, of which the peer tells; or
    // nothing: it tells of itself.
    void by_peer(const control_message& m) {
        contexts& all = members.communicators();
        const envelope& said = m.tag;
        const bool is_first = all.first_member(said.context) == members.rank();
        contexts::member_end its{.context = said.context, .rank = m.peer, .last = said.operation};
        if (m.bytes.size() == sizeof its.rank) std::memcpy(&its.rank, m.bytes.data(), sizeof its.rank);
        if (its.rank == members.rank()) return;
        all.ends(its);
        if (said.segment == let_go_segment && all.let_go(said.context)) return forget(said.context, is_first);
        failed.ends_after(said);
    }

private:
    void tell(std::uint16_t context, std::uint32_t segment) {
        envelope last;
        last.context = context;
        last.operation = members.communicators().latest(context);
        failed.others().for_each_member(last, [&](rank_t r) { messages.put(r, segment, last, {}); });
    }
    // The late places lie with the first member. It clears them here, and only then agrees to use the
    // number again: nobody is at work in them any more, and nobody is yet.
    void forget(std::uint16_t context, bool is_first) {
        matched.early().drop(
            [&](const event& e) { return members.is_of_epoch(e.envelope) && e.envelope.context == context; });
        failed.forget(context);
        disputed.forget(context);
        watch.forget(context);
        messages.forget_inbox(context);
        matched.reports().forget_communicator(context);
        if (is_first && members.epoch() == members.first_epoch()) late.forget(context);
    }
};

} // namespace bough::detail

#endif
