// SPDX-License-Identifier: BSL-1.0
// Inquiries: an operation that has waited for long tells its call to those that it waits for.
//
// A call that differs is seen in the first message of it that meets another. Where each side only waits for the other, as two
// ranks that both take themselves for the root of a reduction, there is none. So after ask_after_ns an operation sends, once,
// an empty message with its own envelope to every rank of which it still needs one. Who gets it compares the call with its
// own of that number: running, among its latest sixteen, or the next one that it will start; and if they differ the group
// is broken with both values. Every chain of waiting ranks ends at one that made another call, or has not come yet.
// Costs nothing before: the time is looked at only by ranks that are idle. Only the oldest operation of a rank asks.
#ifndef BOUGH_EXECUTE_INQUIRY_HPP
#define BOUGH_EXECUTE_INQUIRY_HPP

#include <bough/concepts/transport.hpp>
#include <bough/execute/mismatch.hpp>
#include <bough/execute/outbox.hpp>
#include <bough/execute/prepared.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace bough {

namespace detail {

// Segments of messages that are not those of operations, inquiry_segment the least of them.
inline constexpr std::uint32_t inquiry_segment = 0xffff'fffcu;
inline constexpr std::uint32_t refusal_segment = 0xffff'fffdu;
inline constexpr std::uint32_t control_segment = 0xffff'fffeu;
inline constexpr std::uint32_t abort_segment = 0xffff'ffffu;

// The latest calls of this rank, over all communicators.
class recent_calls {
public:
    void add(const envelope& tag) noexcept { kept_[next_++ % kept_.size()] = tag; }
    // Null: it is not among them.
    const envelope* find(const envelope& tag) const noexcept {
        for (const envelope& e : kept_)
            if (e.operation != 0 && same_call(e, tag)) return &e;
        return nullptr;
    }
    void clear() noexcept { kept_ = {}; }

private:
    std::array<envelope, 16> kept_{}; // operations count from 1
    std::uint32_t next_ = 0;
};

// `lost`: of each rank, why; ok if it is not.
template <Transport T>
void ask(T& transport, outbox& out, prepared& work, envelope tag, const std::vector<errc>& lost) {
    tag.segment = inquiry_segment;
    for (const auto& channel : work.incoming())
        if (channel.arrived != channel.count && lost[channel.peer] == errc::ok)
            out.send(transport, channel.peer, tag, {});
}

// A message of a call that this rank has made: `mine`, null if that is not known any more. It is complete without the
// message, or it was only asked for. Empty: all is well.
inline status heard(const envelope* mine, const envelope& theirs, rank_t peer) noexcept {
    if (mine != nullptr && differ(*mine, theirs)) return call_mismatch(*mine, theirs, peer);
    if (theirs.segment == inquiry_segment) return {};
    return {.code = errc::call_mismatch, .mismatch = mismatch::operation, .peer = peer, .operation = theirs.operation};
}

} // namespace detail

} // namespace bough

#endif
