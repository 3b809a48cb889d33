// SPDX-License-Identifier: BSL-1.0
// Disputes: opens and settles the dispute of a session (dispute.hpp), when a message or a question
// shows that a peer has made another call.
//
// It compares calls with those in flight and with the latest ones of this rank. Every dispute ends
// in failure: break_communicator() with what differs. Nothing calls back from there. It needs the
// operations in flight, the lost ranks, control to ask the peer, and the transport's clock.
#ifndef BOUGH_SESSION_DISPUTES_HPP
#define BOUGH_SESSION_DISPUTES_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/status.hpp>
#include <bough/session/control.hpp>
#include <bough/session/dispute.hpp>
#include <bough/session/failure.hpp>
#include <bough/session/in_flight.hpp>
#include <bough/session/membership.hpp>
#include <bough/session/mismatch.hpp>
#include <bough/session/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
class disputes {
public:
    disputes(T& transport, const membership& members, control<T>& control, const in_flight<T>& flight,
             failure<T>& failure) noexcept
        : transport_(transport), members_(members), control_(control), flight_(flight), failure_(failure) {}
    disputes(const disputes&) = delete;
    disputes& operator=(const disputes&) = delete;

    // This rank makes a call that no recorder records.
    void started(const envelope& tag, const call_signature& signature) noexcept { recent_.add(tag, signature); }
    // The latest call of this rank; operation 0: there is none.
    envelope latest_call() const noexcept {
        const envelope recorded = failure_.records().latest_call();
        return recorded.operation != 0 ? recorded : recent_.latest();
    }
    void begin_epoch() noexcept { recent_.clear(); }
    void forget(std::uint16_t context) noexcept { recent_.forget(context); }

    // Handles a message of a call that this rank has made: the message differs from the call, the
    // call is complete without it, or it only inquires. `op`: the operation, if it is at hand.
    BOUGH_COLD void heard(session_operation* op, const event& e) {
        made_call running;
        const made_call* mine = find(op, e.envelope, running);
        if (mine != nullptr && bough::differ(mine->tag, e.envelope)) {
            failure_.sheltered([&] { differ(op, *mine, e.envelope, e.peer); });
        } else if (e.envelope.segment != inquiry_segment && !members_.communicators().may_be_late(e.envelope)) {
            failure_.break_communicator(e.envelope.context, {.code = errc::call_mismatch,
                                                             .mismatch = mismatch::operation,
                                                             .peer = e.peer,
                                                             .operation = e.envelope.operation});
        }
    }
    // Handles a question or an answer. If it is about no dispute of this rank, only the peer has
    // seen a difference so far.
    BOUGH_COLD void told(rank_t peer, const envelope& theirs, std::span<const std::byte> bytes) {
        if (failure_.poison(theirs.context)) return;
        const told_signature said = told_signature::read(bytes);
        // A late answer to a dispute that has ended. The number may be another communicator's by now.
        if (said.asks == 0 && !(failure_.dispute().is_with(peer) && failure_.dispute().find(theirs))) return;
        made_call running;
        const made_call* mine = failure_.dispute().find(theirs);
        if (mine == nullptr) mine = find(flight_.find(theirs), theirs, running);
        if (mine == nullptr) { // this rank is far ahead
            if (!failure_.dispute().is_open()) failure_.dispute().open_for_forgotten(theirs, peer, transport_.now_ns());
            return tell(peer, theirs, {});
        }
        // An answer without a signature carries this rank's own envelope: the message that opened
        // the dispute says more.
        if (said.known == 0 && failure_.dispute().is_with(peer) && failure_.dispute().find(theirs))
            return failure_.conclude_dispute();
        status why = call_mismatch(mine->tag, theirs, peer);
        if (said.asks != 0) tell(peer, mine->tag, {mine->signature, 1, 0});
        if (said.known != 0) why = call_mismatch(mine->signature, said.signature, peer, theirs.operation);
        failure_.break_communicator(theirs.context, why);
    }

private:
    // This rank's call of that number; null: it is forgotten. `running` is memory for the call of
    // an operation.
    const made_call* find(const session_operation* op, const envelope& tag, made_call& running) const noexcept {
        if (op == nullptr)
            return failure_.records().find(tag, running.tag, running.signature) ? &running : recent_.find(tag);
        running = {op->tag_, op->signature_};
        return &running;
    }
    void differ(session_operation* op, const made_call& mine, const envelope& theirs, rank_t peer) {
        if (failure_.poison(theirs.context)) return;
        const bool is_first = !failure_.dispute().is_open();
        if (!is_first && !failure_.dispute().is_of(theirs.context))
            return failure_.break_communicator(theirs.context, call_mismatch(mine.tag, theirs, peer));
        if (is_first) failure_.dispute().open(mine, theirs, peer, transport_.now_ns());
        if (members_.is_lost(peer) || (is_first && theirs.kind != mine.tag.kind))
            return failure_.conclude_dispute(); // no answer, or none needed
        // Nothing more is delivered.
        if (op != nullptr && !op->done_ && !op->result_) failure_.taken_back(*op, peer);
        if (is_first) tell(peer, mine.tag, {mine.signature, 1, 1});
    }
    void tell(rank_t to, const envelope& call, const told_signature& what) {
        control_.send(to, signature_segment, call, what.bytes());
    }

    T& transport_;
    const membership& members_;
    control<T>& control_;
    const in_flight<T>& flight_;
    failure<T>& failure_;
    recent_calls recent_;
};

} // namespace bough::detail

#endif
