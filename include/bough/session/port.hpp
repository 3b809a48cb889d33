// SPDX-License-Identifier: BSL-1.0
// Session_port: through it the engine of an operation uses the transport of its session. It is an
// EnginePort (bough/engine/engine.hpp).
#ifndef BOUGH_SESSION_PORT_HPP
#define BOUGH_SESSION_PORT_HPP

#include <bough/concepts/transport.hpp>
#include <bough/engine/engine.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/session/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Why the engine of an operation has stopped. peer_aborted: the operation needs a message that
// `peer` has taken back.
inline status why_stopped(prepared& work, std::uint32_t operation) noexcept {
    const engine& stopped = work.engine();
    const std::vector<bound_step>& steps = work.bound().steps;
    const bound_step& s = steps[stopped.error_step()];
    const rank_t peer = s.partner != not_a_step && s.verb == verb::combine ? steps[s.partner].peer : s.peer;
    const mismatch what = stopped.error() == errc::call_mismatch ? mismatch::count : mismatch::none;
    return {.code = stopped.error(),
            .mismatch = what,
            .peer = peer,
            .operation = operation,
            .mine = stopped.expected(),
            .theirs = stopped.came()};
}

template <class Session>
struct session_port {
    Session& self;
    session_operation& op;

    posted send(std::uint32_t step, rank_t to, std::uint32_t segment, const std::byte* data, std::uint64_t bytes) {
        const bool oldest = self.active_.front() == &op;
        if (!oldest && !self.ahead_.fits(to, bytes)) return self.blocked_ = true, posted::would_block;
        op.tag_.segment = segment;
        posted result = self.transport_.post_send(to, op.tag_, {data, static_cast<std::size_t>(bytes)}, id(step));
        // The peer is lost, but its last messages may be among the events that are still to be
        // handled. retry() sends again after those.
        if (result == posted::failed && self.handling_) result = posted::would_block;
        if (result == posted::pending) ++op.pending_;
        if (result == posted::would_block) self.blocked_ = true;
        if (!oldest && (result == posted::pending || result == posted::complete))
            self.ahead_.sent(*op.work_, to, bytes);
        return result;
    }
    posted take(const held_message& held, std::byte* into, std::uint64_t bytes, std::uint32_t step) {
        const posted result = self.early_.take(held.handle, {into, static_cast<std::size_t>(bytes)}, id(step));
        if (result == posted::pending) ++op.pending_;
        return result;
    }
    bool claim(const held_message& held) { return self.early_.claim(held.handle); }
    void release(const held_message& held) { self.early_.release(held.handle); }

    std::uint64_t id(std::uint32_t step) const noexcept { return std::uint64_t{op.ticket_} << 32 | step; }
};

} // namespace bough::detail

#endif
