// SPDX-License-Identifier: BSL-1.0
// notices: takes a control message of another session to the part of this one that it is for.
//
// Those of agreements, meetings, orders of names and NIC programs wait in the inbox for their readers
// (control.hpp). All others change what this session knows of a call, of a communicator, or of the group.
#ifndef BOUGH_SESSION_NOTICES_HPP
#define BOUGH_SESSION_NOTICES_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/session/attendants.hpp>
#include <bough/session/control.hpp>
#include <bough/session/deadline_watch.hpp>
#include <bough/session/disputes.hpp>
#include <bough/session/early_reports.hpp>
#include <bough/session/failure.hpp>
#include <bough/session/letting_go.hpp>
#include <bough/session/matching.hpp>
#include <bough/session/membership.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
struct notices {
    membership& members;
    attendants& waiting;
    control<T>& messages;
    matching<T>& matched;
    failure<T>& failed;
    disputes<T>& disputed;
    deadline_watch<T>& watch;
    letting_go<T> end_of;

    void take(control_message&& m) {
        hear(m);
        messages.recycle(std::move(m.bytes)); // if it was not kept: memory may be reserved for the next ones
    }

private:
    void hear(control_message& m) {
        if (!members.is_of_epoch(m.tag)) return;
        waiting.hear();
        if (m.tag.segment == control_segment) return messages.keep(std::move(m));
        if (m.tag.segment == signature_segment) return disputed.told(m.peer, m.tag, m.bytes);
        if (m.tag.segment == given_up_segment)
            return failed.given_up_by_peer(m.tag, given_up_notice::read(m.bytes, m.peer, m.tag));
        if (early_reports<T>::owns(m)) return matched.reports().heard(m);
        if (m.tag.segment == last_call_segment || m.tag.segment == let_go_segment) return end_of.by_peer(m);
        status said = abort_notice::read(m.bytes).as_status(m.peer, m.tag.operation, m.tag.context);
        if (m.tag.segment == abort_segment) return failed.break_group(said); // the sender gave up: this rank does, too
        if (m.tag.segment == broken_segment) return failed.break_communicator(m.tag.context, said);
        if (m.tag.segment != refusal_segment) return watch.heard(m);
        said.peer = m.peer; // the sender refuses a call
        failed.refused_by_peer(m.tag, said);
    }
};

} // namespace bough::detail

#endif
