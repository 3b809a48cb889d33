// SPDX-License-Identifier: BSL-1.0
// straight_port: through it a short operation uses the transport of its session, step by step. It is
// a StraightPort (bough/engine/straight_run.hpp).
#ifndef BOUGH_SESSION_STRAIGHT_PORT_HPP
#define BOUGH_SESSION_STRAIGHT_PORT_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/relax.hpp>
#include <bough/engine/engine.hpp>
#include <bough/engine/straight_run.hpp>
#include <bough/session/in_flight.hpp>
#include <bough/session/operation.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
struct straight_port {
    T& transport;
    session_operation& op;
    event& latest;           // the message that next() has found last
    std::uint32_t looks = 1; // of next() at a peer, until it gives up; at least 1
    bool is_unused = false;  // nobody has released it

    posted send(std::uint32_t step, rank_t to, std::uint32_t segment, const std::byte* data, std::uint64_t bytes) {
        op.tag_.segment = segment;
        const posted result =
            transport.post_send(to, op.tag_, {data, static_cast<std::size_t>(bytes)}, in_flight<T>::post_id(op, step));
        if (result == posted::pending) ++op.pending_;
        if (op.record_.in != nullptr && result != posted::would_block) op.record_.in->sent(bytes);
        return result;
    }
    // A message that differs in anything from the one that the step waits for is `other`.
    BOUGH_ALWAYS_INLINE next_message next(rank_t from, std::uint32_t segment, held_message& message) {
        if (!transport.poll_from(from, latest) && (looks == 1 || !look_again(from))) return next_message::none;
        is_unused = true;
        op.tag_.segment = segment;
        if (!is_same(latest.envelope, op.tag_)) return next_message::other;
        message = {latest.data, latest.bytes, latest.id, from, true};
        return next_message::expected;
    }
    bool claim(const held_message& held) { return transport.claim(held.handle); }
    BOUGH_ALWAYS_INLINE void release(const held_message& held) {
        is_unused = false;
        transport.release(held.handle);
    }

private:
    // Looks as often as it may besides the first time. Most messages are there at once.
    BOUGH_COLD bool look_again(rank_t from) {
        for (std::uint32_t left = looks; --left != 0;) {
            relax();
            if (transport.poll_from(from, latest)) return true;
        }
        return false;
    }
    static bool is_same(const envelope& a, const envelope& b) noexcept {
        const auto x = std::bit_cast<std::array<std::uint64_t, 4>>(a);
        const auto y = std::bit_cast<std::array<std::uint64_t, 4>>(b);
        return ((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3])) == 0;
    }
};

} // namespace bough::detail

#endif
