// SPDX-License-Identifier: BSL-1.0
// Inquiries: an operation that has waited for long tells its call to the ranks that it waits for.
//
// When calls differ, usually the first message that meets another call shows it. But there is no
// message if each side only waits for the other, as when two ranks both take themselves for the
// root of a reduction. So after ask_after_ns an operation sends, once, an empty message with its
// own envelope to every rank from which it still needs one. The receiver compares the call with its
// own of that number: one that is running, one of its latest sixteen, or the next one that it
// starts. If they differ, the group is broken with both values (bough/session/dispute.hpp). Every
// chain of waiting ranks ends at a rank that made another call, or that has not come yet.
//
// It costs nothing before: only idle ranks look at the time. Only the oldest operation of a rank
// asks.
#ifndef BOUGH_SESSION_INQUIRY_HPP
#define BOUGH_SESSION_INQUIRY_HPP

#include <bough/concepts/transport.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/session/outbox.hpp>

#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

// Segments of messages that do not belong to operations. inquiry_segment is the least of them.
inline constexpr std::uint32_t inquiry_segment = 0xffff'fff8u;
inline constexpr std::uint32_t signature_segment = 0xffff'fff9u; // bough/session/dispute.hpp
inline constexpr std::uint32_t search_segment = 0xffff'fffau;    // and the next two: bough/session/deadline_watch.hpp
inline constexpr std::uint32_t answer_segment = 0xffff'fffbu;
inline constexpr std::uint32_t proposal_segment = 0xffff'fffcu;
inline constexpr std::uint32_t refusal_segment = 0xffff'fffdu;
inline constexpr std::uint32_t control_segment = 0xffff'fffeu;
inline constexpr std::uint32_t abort_segment = 0xffff'ffffu;

// `lost`: by rank: why it is lost; ok: it is not.
template <Transport T>
void ask(T& transport, outbox& out, prepared& work, envelope tag, const std::vector<errc>& lost) {
    tag.segment = inquiry_segment;
    for (const auto& channel : work.incoming())
        if (channel.arrived != channel.count && lost[channel.peer] == errc::ok)
            out.send(transport, channel.peer, tag, {});
}

} // namespace detail

} // namespace bough

#endif
