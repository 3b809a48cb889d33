// SPDX-License-Identifier: BSL-1.0
// Inquiries: an operation that has waited for long tells its call to the ranks that it waits for.
//
// When calls differ, usually the first message that meets another call shows it. But there is no
// message if each side only waits for the other, as when two ranks both take themselves for the
// root of a reduction. So after a while (deadline_stages.hpp) an operation sends, once, an empty message
// with its own envelope to every rank from which it still needs one. The receiver compares the call with
// its own of that number: one that is running, one of its latest, or the next one that it starts. If they
// differ, the communicator is broken with both values (bough/session/dispute.hpp). Every
// chain of waiting ranks ends at a rank that made another call, or that has not come yet.
//
// It costs nothing before: only idle ranks look at the time. Only the oldest operation of a rank
// asks.
#ifndef BOUGH_SESSION_INQUIRY_HPP
#define BOUGH_SESSION_INQUIRY_HPP

#include <bough/concepts/transport.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/session/control.hpp>
#include <bough/session/membership.hpp>

namespace bough::inline BOUGH_ABI {

namespace detail {

template <Transport T>
void ask(control<T>& out, const membership& members, prepared& work, const envelope& call) {
    for (const auto& channel : work.incoming())
        if (channel.arrived != channel.count && !members.is_lost(channel.peer))
            out.send(channel.peer, inquiry_segment, call, {});
}

} // namespace detail

} // namespace bough

#endif
