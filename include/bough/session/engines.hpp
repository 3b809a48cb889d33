// SPDX-License-Identifier: BSL-1.0
// engines: gives the engine of each operation in flight what has come for it, lets it go on, and ends the
// operation when its engine is done.
//
// Matching has said before for which operation and step a message is (matching.hpp). Here it goes to the
// engine, and what differs or has no place goes to the disputes or to failure. An engine goes on only
// when all that a poll has found has been given to the engines: then each does first what its schedule
// has first (event_round.hpp). No operation ends well before its last message has left, while its
// communicator is in dispute, or after it has failed.
//
// It needs the number of ranks (membership), the operations in flight, the matching, failure, the
// disputes, and the deadline watch, which hears of an end.
#ifndef BOUGH_SESSION_ENGINES_HPP
#define BOUGH_SESSION_ENGINES_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/session/control.hpp>
#include <bough/session/deadline_watch.hpp>
#include <bough/session/disputes.hpp>
#include <bough/session/event_round.hpp>
#include <bough/session/failure.hpp>
#include <bough/session/in_flight.hpp>
#include <bough/session/matching.hpp>
#include <bough/session/membership.hpp>
#include <bough/session/mismatch.hpp>
#include <bough/session/operation.hpp>
#include <bough/session/port.hpp>

#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
class engines {
public:
    engines(const membership& members, in_flight<T>& flight, matching<T>& matching, failure<T>& failure,
            disputes<T>& disputes, deadline_watch<T>& watch) noexcept
        : members_(members), flight_(flight), matching_(matching), failure_(failure), disputes_(disputes),
          watch_(watch) {}
    engines(const engines&) = delete;
    engines& operator=(const engines&) = delete;

    // Calls f(port), in which the engine of an operation is set to work. What it says then becomes of the
    // operation.
    template <class F>
    void run(session_operation& op, F&& f) {
        port p{flight_, matching_.early(), op};
        failure_.guarded(op, [&] { f(p); });
        settle(op);
    }

    // --- what has come: go_on() must follow ---

    // A message. Pre: the matching has found the operation.
    void arrived(session_operation& op, const event& e) {
        if (op.result_ || op.taken_back_by_ != no_rank) return matching_.early().release(e.id);
        if (differ(e.envelope, op.tag_)) {
            matching_.early().release(e.id);
            go_on(); // what a dispute takes back must not be used any more
            return disputes_.heard(&op, e);
        }
        const std::uint32_t step = matching_.step_of(op, e);
        if (step == not_a_step) {
            matching_.early().release(e.id);
            if (e.envelope.segment == inquiry_segment) return;
            return failure_.fail(op, unexpected_message(e));
        }
        op.tell_if_watched({.what = operation_event::kind::arrived, .step = step, .peer = e.peer, .bytes = e.bytes});
        op.work_->engine().arrived(step, {e.data, e.bytes, e.id, e.peer, true});
        flight_.note_event(op, step, true);
    }
    // A part of a message that is taken in pieces. Its engine goes on at once.
    void piece(const event& e) {
        session_operation* op = flight_.find_post(e.id);
        if (op == nullptr || op->result_) return;
        const std::uint32_t step = pending_step(*op, e);
        failure_.guarded(*op, [&] { op->work_->engine().piece(step, e.data, e.bytes); });
    }
    // The end of a post or a take.
    void completed(const event& e) {
        session_operation* op = flight_.find_post(e.id);
        if (op == nullptr) return;
        if (op->result_) return failure_.gave_back(*op);
        const std::uint32_t step = pending_step(*op, e);
        --op->pending_;
        if (e.code == errc::peer_aborted && e.peer < members_.size()) // a take
            return go_on(), op->result_ ? void() : failure_.taken_back(*op, e.peer);
        if (e.code != errc::ok)
            return failure_.fail(*op, {.code = e.code, .peer = e.peer, .operation = op->tag_.operation});
        op->tell_if_watched({.what = operation_event::kind::completed, .step = step, .peer = e.peer});
        op->work_->engine().completed(step);
        flight_.note_event(*op, step, false);
    }

    // The payload of a message that was made way with is here. If it was early, its operation may have
    // started, or ended, meanwhile.
    BOUGH_COLD void early_taken(const event& e) {
        flight_.wants_turn(); // an operation may hold it
        envelope call;
        if (!matching_.early().taken(e, call) || !members_.is_of_epoch(call)) return;
        go_on();
        if (session_operation* op = flight_.find(call)) return take_early(*op);
        if (members_.communicators().was_started(call)) matching_.drop_early_of(call);
    }

    // --- going on ---

    // The engines go on for which something has come.
    void go_on() {
        flight_.take_noted(
            [&](session_operation& op) {
                port p{flight_, matching_.early(), op};
                if (!op.result_) failure_.guarded(op, [&] { op.work_->engine().go_on(p); });
            },
            [&](session_operation& op) { settle(op); });
    }
    // An operation has just started: takes in what has come early for it, and goes on.
    void take_early(session_operation& op) {
        std::size_t delivered = 0;
        for (event e; matching_.next_early(e, op);) {
            if (op.record_.in != nullptr) op.record_.in->was_early(e.bytes);
            if (!op.done_) {
                arrived(op, e);
                if (++delivered % event_round::most == 0) go_on();
            } else if (matching_.early().release(e.id); !op.result_) // it needs no more: another call, or an inquiry
                disputes_.heard(&op, e);
        }
        go_on();
    }
    // The engines try again to send what the transport had no room for. True: something was sent.
    // `all`: of many, all have a turn, and not some.
    bool retry(bool all = false) {
        bool moves = false;
        const auto its_turn = [&](session_operation& op) {
            if (op.result_ || !op.work_->engine().has_blocked()) return;
            run(op, [&](port& p) { moves |= op.work_->engine().retry(p); });
        };
        all ? flight_.for_all(its_turn) : flight_.for_some(its_turn);
        return moves;
    }

    // --- the end ---

    // Ends the operations whose last messages have left.
    void end_departed() {
        while (session_operation* op = flight_.next_departed()) end(*op);
    }
    // An operation ends well.
    void end(session_operation& op) {
        if (op.proposed_) [[unlikely]]
            watch_.withdraw(op);
        op.record_end();
        flight_.remove(op);
    }

private:
    using port = session_port<T>;

    // The step of whose post an event tells.
    static std::uint32_t pending_step(session_operation& op, const event& e) noexcept {
        const auto step = static_cast<std::uint32_t>(e.id);
        BOUGH_EXPECTS(op.work_->engine().is_pending(step), "a Transport's poll() tells of a post that is not pending");
        return step;
    }

    void settle(session_operation& op) {
        const bough::engine& engine = op.work_->engine();
        if (op.result_) return;
        if (engine.error() != errc::ok) return failure_.stopped(op);
        if (engine.done() && !failure_.is_disputed(op) && !flight_.is_leaving(op)) end(op);
    }

    const membership& members_;
    in_flight<T>& flight_;
    matching<T>& matching_;
    failure<T>& failure_;
    disputes<T>& disputes_;
    deadline_watch<T>& watch_;
};

} // namespace bough::detail

#endif
