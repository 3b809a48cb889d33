// SPDX-License-Identifier: BSL-1.0
// Inquiries: an operation that has waited for long tells its call to those that it waits for.
//
// A call that differs is seen in the first message of it that meets another. Where each side only waits for the other, as two
// ranks that both take themselves for the root of a reduction, there is none. So after ask_after_ns an operation sends, once,
// an empty message with its own envelope to every rank of which it still needs one. Who gets it compares the call with its
// own of that number: running, among its latest sixteen, or the next one that it will start; and if they differ the group
// is broken with both values (bough/session/dispute.hpp). Every chain of waiting ranks ends at one that made another call, or has not come yet.
// Costs nothing before: the time is looked at only by ranks that are idle. Only the oldest operation of a rank asks.
#ifndef BOUGH_SESSION_INQUIRY_HPP
#define BOUGH_SESSION_INQUIRY_HPP

#include <bough/concepts/transport.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/session/outbox.hpp>

#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

// Segments of messages that are not those of operations, inquiry_segment the least of them.
inline constexpr std::uint32_t inquiry_segment = 0xffff'fff8u;
inline constexpr std::uint32_t signature_segment = 0xffff'fff9u; // bough/session/dispute.hpp
inline constexpr std::uint32_t search_segment = 0xffff'fffau;    // and the next two: bough/session/deadline_watch.hpp
inline constexpr std::uint32_t answer_segment = 0xffff'fffbu;
inline constexpr std::uint32_t proposal_segment = 0xffff'fffcu;
inline constexpr std::uint32_t refusal_segment = 0xffff'fffdu;
inline constexpr std::uint32_t control_segment = 0xffff'fffeu;
inline constexpr std::uint32_t abort_segment = 0xffff'ffffu;

// `lost`: of each rank, why; ok if it is not.
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
