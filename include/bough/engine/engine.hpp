// SPDX-License-Identifier: BSL-1.0
// The engine: runs one rank's steps as soon as their dependences and messages allow. Freestanding.
//
// It knows no transport and no clock. An EnginePort (below) moves messages for it.
// The owner calls arrived(step, held) when the message of a receive step is there, completed(step) when
// a pending send or take has ended, go_on(port) after one or more of these, and retry(port) after
// polling. The owner also lends the memory; the engine allocates nothing.
//
// Of several messages that are there, go_on() takes the one first that the schedule has first, whichever
// came first: a schedule whose order matters, as its sends share a cable, is not turned into another
// one by a rank that is late and finds all its messages. What a message makes ready follows at once.
//
// A receive that is fused with its combine is not copied: the combine reads the payload where it
// landed. Sometimes the combine must wait for something else. Then the payload is held there only
// if the plan may hold messages, as the sender of a held message may be stuck until it is combined.
// Otherwise the payload is copied to its scratch plane at once.
//
// A call may combine all that the ranks contribute to a block at once (call::combine_many). Then the
// combines of a series do nothing but wait, and the last one combines all operands.
//
// A payload that is still with its sender may come in pieces (PiecePort). Then a combine that waits for
// nothing else combines each piece when it comes.
#ifndef BOUGH_ENGINE_ENGINE_HPP
#define BOUGH_ENGINE_ENGINE_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/step.hpp>
#include <bough/engine/bound_view.hpp>
#include <bough/engine/call.hpp>
#include <bough/engine/list_view.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

// A message that has come and is still needed.
struct held_message {
    const std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t handle = 0;
    rank_t peer = no_rank;
    bool present = false;
    bool in_pieces = false; // its receive combines it piece by piece: so far, `handle` bytes
};

// Through it the engine moves the messages of its steps. `bytes` is the length of `data` and of `into`. If
// take() says would_block, the owner calls retry() later.
template <class P>
concept EnginePort = requires(P& port, std::uint32_t step, rank_t to, std::uint32_t segment, const std::byte* data,
                              std::uint64_t bytes, const held_message& held, std::byte* into) {
    { port.send(step, to, segment, data, bytes) } -> std::same_as<posted>;
    { port.take(held, into, bytes, step) } -> std::same_as<posted>;
    { port.claim(held) } -> std::same_as<bool>; // may its payload be read now?
    port.release(held);                         // it is not needed any more
};

// Its messages may come in pieces. take_pieces() says pending if this one does; then the owner calls
// piece() for each, in order, and completed() after the last. would_block: it must be taken whole.
template <class P>
concept PiecePort = EnginePort<P> &&
    requires(P& port, const held_message& held, std::uint64_t grain, std::uint32_t step) {
    { port.take_pieces(held, grain, step) } -> std::same_as<posted>;
};

// Where a place lies for the current count and element size.
struct place_bytes {
    std::uint64_t offset = 0, bytes = 0; // from the start of its buffer
    std::uint32_t buffer = 0;            // index into engine_memory::buffers
};

// The memory that the owner lends: arrays with one element per step, place or buffer.
struct engine_memory {
    list_view<std::uint32_t> waits;       // one per step
    list_view<held_message> held;         // one per step
    list_view<std::uint32_t> ready;       // one per step
    list_view<std::uint32_t> blocked;     // one per step
    list_view<place_bytes> places;        // one per place
    list_view<std::byte*> buffers;        // two, and one per scratch plane; [0] is only read
    list_view<const std::byte*> operands; // as many as a series has
};

class engine {
public:
    constexpr engine(const bound_view& bound, const engine_memory& memory) noexcept : bound_(bound), memory_(memory) {
        reset_waits();
    }

    bool done() const noexcept { return left_ == 0; }
    std::uint32_t steps_left() const noexcept { return left_; }
    errc error() const noexcept { return error_; }
    std::uint32_t error_step() const noexcept { return error_step_; }
    // For a call_mismatch: the elements that the step has room for, and those that came. Otherwise
    // 0.
    std::uint64_t expected() const noexcept {
        return error_ != errc::call_mismatch ? 0 : bytes(bound_.steps[error_step_].out) / combine_.element_bytes;
    }
    std::uint64_t came() const noexcept {
        return error_ != errc::call_mismatch ? 0 : memory_.held[error_step_].bytes / combine_.element_bytes;
    }
    const bound_view& bound() const noexcept { return bound_; }

    // Starts the operation. Pre: the memory describes the buffers of this call, and nothing is in
    // flight. After an error: release_held has been called, or the transport of that run is gone.
    template <EnginePort Port>
    void start(const call& c, Port& port) {
        begin(combine_of(c));
        lengths_of_callers_ = !c.row_offsets.empty();
        for (std::size_t i = bound_.start.size(); i != 0;) memory_.ready[ready_++] = bound_.start[--i];
        drain(port);
    }
    // Goes on with an operation that a straight_run (straight_run.hpp) has begun: behind the steps
    // that have run there. Pre: as for start, but for the send that is pending there.
    template <class Run, EnginePort Port>
    BOUGH_COLD void resume(const Run& before, Port& port) {
        begin(before.combine());
        lengths_of_callers_ = false;
        const auto release_later = [this](std::uint32_t i) {
            const bound_step& s = bound_.steps[i];
            if (s.next_on_channel != not_a_step) --memory_.waits[s.next_on_channel];
        };
        before.for_each_done([&](std::uint32_t i) {
            const bound_step& s = bound_.steps[i];
            --left_;
            release_later(i);
            for (std::uint32_t e = 0; e != s.after_count; ++e) --memory_.waits[bound_.after[s.after + e]];
        });
        if (before.pending() != not_a_step) {
            release_later(before.pending());
            under_way(before.pending());
        }
        // What has run waits for nothing and must not run again.
        before.for_each_done([&](std::uint32_t i) { under_way(i); });
        for (std::size_t i = bound_.steps.size(); i-- != 0;)
            if (memory_.waits[i] == 0 && bound_.steps[i].verb != verb::receive)
                memory_.ready[ready_++] = static_cast<std::uint32_t>(i);
        before.for_each_done([&](std::uint32_t i) { memory_.waits[i] = bound_.waits[i]; });
        drain(port);
    }

    // Forgets a run that did not end, as its transport is gone.
    void forget() noexcept {
        if (left_ != 0) reset();
        left_ = 0;
    }

    // The message of receive step `i` has come. go_on() must follow.
    BOUGH_ALWAYS_INLINE void arrived(std::uint32_t i, const held_message& message) noexcept {
        held_message& held = memory_.held[i];
        held = message;
        held.present = true;
        // Otherwise its landing place is still in use: the message waits where it is.
        if (memory_.waits[i] == 0) memory_.ready[ready_++] = i;
    }
    // Is the send or the take of this step pending?
    bool is_pending(std::uint32_t i) const noexcept {
        return i < bound_.steps.size() && memory_.waits[i] == pending_post;
    }
    // A pending send or take is complete. go_on() must follow.
    void completed(std::uint32_t i) noexcept { complete(i, bound_.steps[i]); }
    // Does what has become ready since the last call.
    template <EnginePort Port>
    BOUGH_ALWAYS_INLINE void go_on(Port& port) {
        if (ready_ > 1) sort_ready();
        drain(port);
    }
    // The next piece of the message of receive step `i`, whose take is pending, has come: whole elements,
    // no more than the message has left.
    void piece(std::uint32_t i, const std::byte* data, std::uint64_t bytes) {
        held_message& held = memory_.held[i];
        BOUGH_EXPECTS(
            held.in_pieces && bytes <= held.bytes - held.handle,
            "a Transport's event::piece is of no message that is taken in pieces, or longer than what is left");
        const bound_step& s = bound_.steps[bound_.steps[i].partner];
        const std::byte* lower = at(s.a) + held.handle;
        const std::byte* upper = at(s.b) + held.handle;
        (s.partner_is_a ? lower : upper) = data;
        combine_(lower, upper, at(s.out) + held.handle, bytes);
        held.handle += bytes;
    }
    // Tries again what the transport refused. Call after polling. False: it was refused once more.
    template <EnginePort Port>
    bool retry(Port& port) {
        const std::uint32_t refused = blocked_;
        if (refused == 0) return false;
        blocked_ = 0;
        for (std::uint32_t k = 0; k != refused && error_ == errc::ok; ++k) fire(memory_.blocked[k], port);
        const bool moves = blocked_ != refused;
        drain(port);
        return moves;
    }
    bool has_blocked() const noexcept { return blocked_ != 0; }
    // Calls f(peer) for every step that waits until its peer takes its message, or until the
    // payload of a message has come.
    template <class F>
    void for_each_held_up(F&& f) const {
        for (std::uint32_t k = 0; k != blocked_; ++k) f(bound_.steps[memory_.blocked[k]].peer);
        for (std::size_t i = 0; i != bound_.steps.size(); ++i)
            if (memory_.waits[i] == pending_post) f(bound_.steps[i].peer);
    }

    // Calls f(held) for each held message. f may move the payload, if the handle then names the new
    // place.
    template <class F>
    void for_each_held(F&& f) {
        for (held_message& held : memory_.held)
            if (held.present) f(held);
    }
    // After an error: releases every message that is still held.
    template <class Port>
    requires EnginePort<std::remove_reference_t<Port>>
    void release_held(Port&& port) {
        for (held_message& held : memory_.held)
            if (held.present) held.present = false, port.release(held); // once, even if that throws
    }

private:
    static constexpr std::uint32_t pending_post = ~std::uint32_t{0}; // more than any step waits for
    std::byte* at(std::uint32_t place) const noexcept {
        const place_bytes& p = memory_.places[place];
        return memory_.buffers[p.buffer] + p.offset;
    }
    std::uint64_t bytes(std::uint32_t place) const noexcept { return memory_.places[place].bytes; }

    void begin(const combine_call& combine) noexcept {
        combine_ = combine;
        error_ = errc::ok;
        if (left_ != 0) reset(); // the run before did not end well
        left_ = static_cast<std::uint32_t>(bound_.steps.size());
        blocked_ = 0;
        ready_ = 0;
    }
    constexpr void reset_waits() noexcept {
        for (std::size_t i = 0; i != bound_.waits.size(); ++i) memory_.waits[i] = bound_.waits[i];
    }
    BOUGH_COLD void reset() noexcept {
        reset_waits();
        for (held_message& held : memory_.held) held.present = held.in_pieces = false;
    }

    BOUGH_COLD void fail(errc code, std::uint32_t i) noexcept {
        if (error_ != errc::ok) return;
        error_ = code;
        error_step_ = i;
    }

    template <EnginePort Port>
    void drain(Port& port) {
        while (ready_ != 0 && error_ == errc::ok) fire(memory_.ready[--ready_], port);
    }

    // A post of this step is pending. Its count of waits is not needed until complete(), so it
    // marks that.
    void under_way(std::uint32_t i) noexcept { memory_.waits[i] = pending_post; }
    // A receive is ready when its message is there, too.
    void satisfied(std::uint32_t later) noexcept {
        if (--memory_.waits[later] == 0 && (bound_.steps[later].verb != verb::receive || memory_.held[later].present))
            memory_.ready[ready_++] = later;
    }
    // The first step of the schedule goes to the end, where drain() begins. Heap sort: a late rank may have
    // thousands, most of them in the order of the schedule.
    void sort_ready() noexcept {
        for (std::uint32_t k = ready_ / 2; k-- != 0;) sink_ready(k, ready_);
        for (std::uint32_t end = ready_; end-- > 1;) {
            const std::uint32_t first = memory_.ready[0];
            memory_.ready[0] = memory_.ready[end];
            memory_.ready[end] = first;
            sink_ready(0, end);
        }
    }
    // Of `k` and those below it in the heap of `size`, the first step comes to the top.
    void sink_ready(std::uint32_t k, std::uint32_t size) noexcept {
        const std::uint32_t step = memory_.ready[k];
        for (std::uint32_t below = 0; (below = 2 * k + 1) < size; k = below) {
            if (below + 1 < size && memory_.ready[below + 1] < memory_.ready[below]) ++below;
            if (memory_.ready[below] > step) break;
            memory_.ready[k] = memory_.ready[below];
        }
        memory_.ready[k] = step;
    }
    void complete(std::uint32_t i, const bound_step& s) noexcept {
        --left_;
        memory_.waits[i] = bound_.waits[i]; // for the next run
        // In reverse: ready steps are taken from the end, and of several sends the first written
        // one must go first.
        for (std::uint32_t e = s.after + s.after_count; e != s.after;) satisfied(bound_.after[--e]);
    }

    template <EnginePort Port>
    BOUGH_ALWAYS_INLINE void fire(std::uint32_t i, Port& port) {
        const bound_step& s = bound_.steps[i];
        switch (s.verb) {
        case verb::send: {
            const posted result = port.send(i, s.peer, s.segment, at(s.a), bytes(s.a));
            if (result == posted::would_block) {
                memory_.blocked[blocked_++] = i;
            } else if (result == posted::failed) {
                fail(errc::peer_dead, i);
            } else {
                if (s.next_on_channel != not_a_step) satisfied(s.next_on_channel);
                result == posted::complete ? complete(i, s) : under_way(i);
            }
            break;
        }
        case verb::receive: // its message may have been released since, as its sender took it back
            if (memory_.held[i].present) consume(i, s, port);
            break;
        case verb::combine: combine(i, s, port); break;
        case verb::copy:
            if (bytes(s.out) != 0 && at(s.a) != at(s.out))
                __builtin_memcpy(at(s.out), at(s.a), static_cast<std::size_t>(bytes(s.out)));
            complete(i, s);
            break;
        }
    }

    template <EnginePort Port>
    BOUGH_ALWAYS_INLINE void consume(std::uint32_t i, const bound_step& s, Port& port) {
        const held_message& held = memory_.held[i];
        const bool here = held.data != nullptr || held.bytes == 0;
        // With alltoallv, each end states the length by itself. Then it is the calls that differ,
        // not the messages that are wrong.
        if (held.bytes != bytes(s.out))
            fail(lengths_of_callers_ ? errc::call_mismatch : errc::protocol_error, i);
        else if (here && s.partner != not_a_step && combine_.many == nullptr &&
                 (bound_.may_hold || memory_.waits[s.partner] == 1))
            complete(i, s); // the combine reads the message where it is
        else
            here || !combines_pieces(i, s, port) ? copy_out(i, s, here, port) : void();
    }
    // True: the message comes in pieces, or the step has failed.
    template <EnginePort Port>
    bool combines_pieces(std::uint32_t i, const bound_step& s, Port& port) {
        if constexpr (PiecePort<Port>) {
            if (s.partner == not_a_step || combine_.many != nullptr || memory_.waits[s.partner] != 1) return false;
            held_message& held = memory_.held[i];
            const posted result = port.take_pieces(held, combine_.element_bytes, i);
            if (result == posted::would_block) return false;
            if (result != posted::pending) return fail(errc::peer_aborted, i), true;
            held.present = false;
            held.in_pieces = true;
            held.handle = 0;
            under_way(i);
            return true;
        }
        return false;
    }
    // Copies a message to its place.
    template <EnginePort Port>
    void copy_out(std::uint32_t i, const bound_step& s, bool here, Port& port) {
        held_message& held = memory_.held[i];
        if (here) {
            if (!port.claim(held)) return fail(errc::peer_aborted, i); // release_held() will release it
            held.present = false;
            if (held.bytes != 0) __builtin_memcpy(at(s.out), held.data, static_cast<std::size_t>(held.bytes));
            port.release(held);
            complete(i, s);
            return;
        }
        const posted result = port.take(held, at(s.out), held.bytes, i);
        if (result == posted::would_block) { // the session makes way with it just now
            memory_.blocked[blocked_++] = i;
            return;
        }
        if (result != posted::complete && result != posted::pending)
            return fail(errc::peer_aborted, i); // its length is right, so its sender took it back
        held.present = false;
        result == posted::complete ? complete(i, s) : under_way(i);
    }

    template <EnginePort Port>
    BOUGH_ALWAYS_INLINE void combine(std::uint32_t i, const bound_step& s, Port& port) {
        if (combine_.many != nullptr) return combine_series(i, s);
        const std::byte* lower = at(s.a);
        const std::byte* upper = at(s.b);
        held_message* held = s.partner == not_a_step ? nullptr : &memory_.held[s.partner];
        if (held != nullptr && held->in_pieces) { // each was combined when it came
            held->in_pieces = false;
            return complete(i, s);
        }
        if (held != nullptr && held->present) {
            if (!port.claim(*held)) return fail(errc::peer_aborted, i);
            (s.partner_is_a ? lower : upper) = held->data;
        }
        combine_(lower, upper, at(s.out), bytes(s.out));
        if (held != nullptr && held->present) {
            held->present = false;
            port.release(*held);
        }
        complete(i, s);
    }

    // One combine of a series whose operands are combined at once: all of them, if it is the last one. No
    // message of such a series is combined where it landed.
    BOUGH_COLD void combine_series(std::uint32_t i, const bound_step& s) {
        if (s.series != not_a_step && bytes(s.out) != 0) {
            const std::uint32_t size = bound_.operands[s.series];
            for (std::uint32_t k = 0; k != size; ++k) memory_.operands[k] = at(bound_.operands[s.series + 1 + k]);
            combine_.many(combine_.state, memory_.operands.data(), size, at(s.out),
                          static_cast<std::size_t>(bytes(s.out) / combine_.element_bytes));
        }
        complete(i, s);
    }

    bound_view bound_;
    engine_memory memory_;
    combine_call combine_; // it comes with the call
    bool lengths_of_callers_ = false;
    std::uint32_t left_ = 0;
    std::uint32_t ready_ = 0;
    std::uint32_t blocked_ = 0;
    errc error_ = errc::ok;
    std::uint32_t error_step_ = not_a_step;
};

} // namespace bough

#endif
