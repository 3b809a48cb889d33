// SPDX-License-Identifier: BSL-1.0
// session_port: through it the engine of an operation uses the transport of its session. It is an
// EnginePort (bough/engine/engine.hpp).
#ifndef BOUGH_SESSION_PORT_HPP
#define BOUGH_SESSION_PORT_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/engine/engine.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/session/in_flight.hpp>
#include <bough/session/operation.hpp>
#include <bough/session/unexpected.hpp>

#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// Why the engine of an operation has stopped. peer_aborted: the operation needs a message that
// `peer` has taken back.
inline status why_stopped(prepared& work, std::uint32_t operation) noexcept {
    const engine& stopped = work.engine();
    const detail::plain_list<bound_step>& steps = work.bound().steps;
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

template <Transport T>
struct session_port {
    in_flight<T>& flight;
    unexpected_messages<T>& early;
    session_operation& op;

    posted send(std::uint32_t step, rank_t to, std::uint32_t segment, const std::byte* data, std::uint64_t bytes) {
        return flight.send(op, step, to, segment, {data, static_cast<std::size_t>(bytes)});
    }
    posted take(const held_message& held, std::byte* into, std::uint64_t bytes, std::uint32_t step) {
        const posted result =
            early.take(held.handle, {into, static_cast<std::size_t>(bytes)}, in_flight<T>::post_id(op, step));
        if (result == posted::pending) ++op.pending_;
        return result;
    }
    posted take_pieces(const held_message& held, std::uint64_t grain, std::uint32_t step) {
        const posted result = early.take_pieces(held.handle, grain, in_flight<T>::post_id(op, step));
        if (result == posted::pending) ++op.pending_;
        return result;
    }
    bool claim(const held_message& held) { return early.claim(held.handle); }
    void release(const held_message& held) { early.release(held.handle); }
};

} // namespace bough::detail

#endif
