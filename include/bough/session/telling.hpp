// SPDX-License-Identifier: BSL-1.0
// Telling: what a session tells the other ranks by itself: that its group is broken, that it has
// refused a call, and the messages of an agreement.
#ifndef BOUGH_SESSION_TELLING_HPP
#define BOUGH_SESSION_TELLING_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/status.hpp>
#include <bough/session/control_messages.hpp>
#include <bough/session/inquiry.hpp>
#include <bough/session/mismatch.hpp>
#include <bough/session/outbox.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Puts the cause into the outbox for every rank from `told` on that is not lost. `told` moves on
// with each message.
inline void tell_poison(outbox& out, const status& why, std::uint32_t epoch, rank_t me, rank_t& told,
                        const std::vector<errc>& lost) {
    envelope tag;
    tag.epoch = epoch;
    tag.operation = why.operation;
    tag.context = why.context;
    tag.segment = abort_segment;
    const abort_notice said = abort_notice::of(why);
    for (; told != lost.size(); ++told)
        if (told != me && lost[told] == errc::ok) out.put(told, tag, std::as_bytes(std::span(&said, 1)));
}

// Tells the members (empty: all ranks) that are not lost that this rank refuses a call. `call`: its
// envelope; `why`: the error.
template <Transport T>
void tell_refusal(T& transport, outbox& out, envelope call, errc why, std::uint32_t epoch,
                  std::span<const rank_t> members, const std::vector<errc>& lost) {
    const abort_notice said = abort_notice::of({.code = why, .peer = transport.rank()});
    call.epoch = epoch;
    call.segment = refusal_segment;
    const std::size_t count = members.empty() ? lost.size() : members.size();
    for (std::size_t i = 0; i != count; ++i) {
        const rank_t r = members.empty() ? static_cast<rank_t>(i) : members[i];
        if (r != transport.rank() && lost[r] == errc::ok)
            out.send(transport, r, call, std::as_bytes(std::span(&said, 1)));
    }
}

// Have all messages of the session to `to` left this process?
template <Transport T>
bool has_told(T& transport, const outbox& out, rank_t to) {
    if (to == transport.rank()) return true;
    if constexpr (GatheringTransport<T>)
        if (transport.handed_over(to) < transport.accepted(to)) return false;
    return !out.holds_for(to);
}

// Reserves memory for so many more messages, each way. If it throws, only the capacity of `inbox`
// has changed.
inline void reserve_words(std::vector<control_message>& inbox, notices& in, outbox& out, std::size_t messages,
                          std::size_t bytes) {
    inbox.reserve(inbox.size() + in.room() + messages);
    struct undo {
        notices& in;
        std::size_t messages, bytes;
        ~undo() { in.unreserve(messages, bytes); } // undoes nothing, unless memory runs out
    } half{in, 0, bytes};
    in.reserve(messages, bytes);
    half.messages = messages;
    out.reserve(messages, bytes);
    half.messages = 0;
}

} // namespace bough::detail

#endif
