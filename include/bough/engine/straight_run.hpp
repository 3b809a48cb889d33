// SPDX-License-Identifier: BSL-1.0
// straight_run: runs a short operation step by step, in an order that was fixed when the plan was bound
// (bough/engine/straight_order.hpp). Freestanding.
//
// The engine (bough/engine/engine.hpp) runs every step as soon as it can. That costs bookkeeping for
// each step, which pays when messages are long or late. When they are short and come soon, a fixed
// order is as good: this waits at each receive for its one message and keeps no books.
//
// It is no second engine. When the message does not come soon, or anything else is unusual, the owner
// hands the operation over: engine::resume() goes on behind the steps that have run here. The owner
// must do so after some idle turns: another message may have come, and peers may wait for what this
// rank sends once it has it.
#ifndef BOUGH_ENGINE_STRAIGHT_RUN_HPP
#define BOUGH_ENGINE_STRAIGHT_RUN_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/step.hpp>
#include <bough/engine/bound_view.hpp>
#include <bough/engine/call.hpp>
#include <bough/engine/engine.hpp>
#include <bough/engine/list_view.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace bough::inline BOUGH_ABI {

// What a peer has sent next: nothing yet, the message that the step waits for, or something else.
enum class next_message : std::uint8_t { none, expected, other };

// Like the port of the engine. But it takes no messages, and it looks at one peer alone.
// After `other`, and after an `expected` message that was not released, the operation is handed over
// to the engine, and the owner treats the message like any that has come.
template <class P>
concept StraightPort = requires(P& port, std::uint32_t step, rank_t peer, std::uint32_t segment, const std::byte* data,
                                std::uint64_t bytes, held_message& message, const held_message& held) {
    { port.send(step, peer, segment, data, bytes) } -> std::same_as<posted>;
    { port.next(peer, segment, message) } -> std::same_as<next_message>;
    { port.claim(held) } -> std::same_as<bool>;
    port.release(held);
};

// The argument of the status for an op that calls the library from inside a combine.
inline constexpr const char* op_calls_library = "op: it calls the library while the library calls it";

// One step of a straight order. A receive whose payload is combined where it landed is part of its combine.
struct straight_step {
    enum class action : std::uint8_t { send, receive, copy, combine, combine_with_lower, combine_with_upper };
    action what = action::send; // combine_with_...: a message is the operand that stands left, or right
    rank_t peer = no_rank;
    std::uint32_t segment = 0;
    std::uint32_t a = 0, b = 0, out = 0;          // places
    std::uint32_t step = 0, receive = not_a_step; // the bound step, and the receive that is part of it
};

class straight_run {
public:
    enum class state : std::uint8_t {
        done,
        waits, // for the message of its next step
        leaves // the engine must go on
    };

    // Pre: all of them outlive this. `list` is straight_order of the bound schedule
    // (bough/engine/straight_order.hpp); the places and the buffers are those of its engine.
    constexpr straight_run(list_view<const straight_step> list, list_view<const place_bytes> places,
                           list_view<std::byte* const> buffers) noexcept
        : list_(list), places_(places), buffers_(buffers) {}

    // Starts an operation. Pre: the memory describes the buffers of this call.
    void start(const combine_call& combine) noexcept {
        combine_ = combine;
        at_ = 0;
        has_pending_ = false;
    }
    // Runs steps until a message is missing. If the op throws, its message has been released, and the
    // operation cannot go on.
    template <StraightPort Port>
    BOUGH_ALWAYS_INLINE state run(Port& port) {
        using action = straight_step::action;
        std::uint32_t i = std::exchange(at_, running);
        const auto ends = [&](state s) { return at_ = i, s; };
        for (; i < list_.size(); ++i) {
            const straight_step& s = list_[i];
            switch (s.what) {
            case action::send: {
                const posted result = port.send(s.step, s.peer, s.segment, at(s.a), bytes(s.a));
                if (result == posted::complete) continue;
                has_pending_ = result == posted::pending;
                return ends(state::leaves);
            }
            case action::copy:
                if (bytes(s.out) != 0 && at(s.a) != at(s.out))
                    __builtin_memcpy(at(s.out), at(s.a), static_cast<std::size_t>(bytes(s.out)));
                continue;
            case action::combine: combine_(at(s.a), at(s.b), at(s.out), bytes(s.out)); continue;
            case action::receive:
            case action::combine_with_lower:
            case action::combine_with_upper: break;
            }
            held_message message;
            const next_message found = port.next(s.peer, s.segment, message);
            if (found == next_message::none) return ends(state::waits);
            if (found == next_message::other || !is_usable(message, s) || !port.claim(message))
                return ends(state::leaves);
            const release_after<Port> released{port, message};
            if (s.what == action::combine_with_lower)
                combine_(message.data, at(s.b), at(s.out), message.bytes);
            else if (s.what == action::combine_with_upper)
                combine_(at(s.a), message.data, at(s.out), message.bytes);
            else if (message.bytes != 0)
                __builtin_memcpy(at(s.out), message.data, static_cast<std::size_t>(message.bytes));
        }
        BOUGH_EXPECTS(i != running, op_calls_library);
        return ends(state::done);
    }
    // Is this called from within run(), by the user's op?
    bool is_running() const noexcept { return at_ == running; }

    std::uint32_t steps_done() const noexcept { return at_; }
    // Calls f(step) for each bound step that has run.
    template <class F>
    void for_each_done(F&& f) const {
        for (std::uint32_t i = 0; i != at_; ++i) {
            f(list_[i].step);
            if (list_[i].receive != not_a_step) f(list_[i].receive);
        }
    }
    // The send that the transport has accepted and not completed; not_a_step: none.
    std::uint32_t pending() const noexcept { return has_pending_ ? list_[at_].step : not_a_step; }
    const combine_call& combine() const noexcept { return combine_; }

private:
    template <class Port>
    struct release_after {
        Port& port;
        const held_message& message;
        BOUGH_ALWAYS_INLINE ~release_after() { port.release(message); }
    };

    std::byte* at(std::uint32_t place) const noexcept {
        const place_bytes& p = places_[place];
        return buffers_[p.buffer] + p.offset;
    }
    std::uint64_t bytes(std::uint32_t place) const noexcept { return places_[place].bytes; }
    bool is_usable(const held_message& message, const straight_step& s) const noexcept {
        return message.bytes == bytes(s.out) && (message.data != nullptr || message.bytes == 0);
    }

    list_view<const straight_step> list_;
    list_view<const place_bytes> places_;
    list_view<std::byte* const> buffers_;
    combine_call combine_;
    static constexpr std::uint32_t running = ~std::uint32_t{0};
    std::uint32_t at_ = 0; // index into list_; `running` while run() knows it
    bool has_pending_ = false;
};

} // namespace bough

#endif
