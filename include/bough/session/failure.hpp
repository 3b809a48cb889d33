// SPDX-License-Identifier: BSL-1.0
// Failure: ends operations with an error, and breaks the group of their session. No other place
// gives an operation in flight or the group an error, except in the child of a fork.
//
//   which operations fail?                            one operation      the group
//   lost(peer), taken_back, stopped, fail          -> end(op, why)    -> poison_with(why)
//   break_group, conclude_dispute, no memory       -> poison_with(why), then end() of every operation
//
// A failed operation ends when the transport has given back the last byte that it had borrowed. The
// first failure poisons the group: tell() tells it to every rank that is not lost, and every later
// call is refused. It needs the operations in flight, the membership, the early messages (those of
// the group are dropped), and control to tell others; none of them calls it.
#ifndef BOUGH_SESSION_FAILURE_HPP
#define BOUGH_SESSION_FAILURE_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/absence.hpp>
#include <bough/core/config.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/session/control.hpp>
#include <bough/session/departures.hpp>
#include <bough/session/dispute.hpp>
#include <bough/session/in_flight.hpp>
#include <bough/session/membership.hpp>
#include <bough/session/mismatch.hpp>
#include <bough/session/operation.hpp>
#include <bough/session/port.hpp>
#include <bough/session/refusals.hpp>
#include <bough/session/unexpected.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// Is this process a child that was forked since the transport connected? Then no list may be used:
// another thread may have been changing it.
template <Transport T>
bool is_forked(const T& transport) noexcept {
    if constexpr (requires { transport.forked(); })
        return transport.forked();
    else
        return false;
}

template <Transport T>
class failure {
public:
    failure(T& transport, membership& members, control<T>& control, unexpected_messages<T>& early, in_flight<T>& flight)
        : transport_(transport), members_(members), control_(control), early_(early), flight_(flight),
          told_(members.size()) {}
    failure(const failure&) = delete;
    failure& operator=(const failure&) = delete;

    // What broke the group; ok: nothing has.
    const status& poison() const noexcept { return poison_; }
    // At most one is open, as its end is the end of the group. While it is, no operation ends well.
    bough::detail::dispute& dispute() noexcept { return dispute_; }
    const bough::detail::dispute& dispute() const noexcept { return dispute_; }

    // --- an operation fails ---

    // Ends an operation, and breaks the group. Nothing, if the operation has failed.
    BOUGH_COLD void fail(session_operation& op, const status& why) {
        if (op.result_) return;
        if (detail::is_forked(transport_)) return op.end_in_child(); // the user's op has forked
        end(op, why);
        poison_with(why);
    }
    BOUGH_COLD void fail(session_operation& op, errc code) { fail(op, {.code = code, .operation = op.tag_.operation}); }
    // Its engine has an error.
    BOUGH_COLD void stopped(session_operation& op) {
        status why = why_stopped(*op.work_, op.tag_.operation);
        if (why.code == errc::peer_dead && members_.is_lost(why.peer)) why.code = members_.why_lost(why.peer);
        why.code == errc::peer_aborted ? taken_back(op, why.peer) : fail(op, why);
    }
    // A sender has taken back a message that the operation needs. Its abort or its loss says why.
    void taken_back(session_operation& op, rank_t peer) {
        op.taken_back_by_ = peer;
        release_held(op); // the notice may be waiting for a slot
        if (members_.any_lost()) fail_if_lost(op);
    }
    // Fails if the operation still needs a message from a lost rank.
    void fail_if_lost(session_operation& op) {
        if (op.result_) return;
        const auto fails = [&](rank_t r) {
            fail(op, {.code = members_.why_lost(r), .peer = r, .operation = op.tag_.operation});
        };
        if (const rank_t r = op.taken_back_by_; r != no_rank && members_.is_lost(r)) return fails(r);
        for (const auto& channel : op.work_->incoming())
            if (members_.is_lost(channel.peer) && channel.arrived != channel.count) return fails(channel.peer);
    }
    // One post of a failed operation has ended. With the last one the operation ends.
    void gave_back(session_operation& op) {
        if (--op.pending_ == 0) flight_.remove(op);
    }

    // --- all of them, or those that it concerns ---

    BOUGH_COLD void lost(rank_t peer, errc why) {
        members_.lose(peer, why);
        control_.forget(peer);
        if (dispute_.is_with(peer)) conclude_dispute();
        for (std::size_t i = flight_.size(); i-- != 0;) {
            fail_if_lost(flight_[i]);
            i = std::min(i, flight_.size());
        }
    }
    BOUGH_COLD void break_group(const status& why) {
        poison_with(why);
        for (std::size_t i = 0; i < flight_.size();)
            flight_[i].result_ ? void(++i) : (fail(flight_[i], why), void(i = 0));
    }
    // There will be no answer.
    BOUGH_COLD void conclude_dispute() { break_group(dispute_.known()); }

    // --- calls that are refused ---

    // Refuses the start of an operation, if the group is broken or a peer has refused this call. True: it
    // is refused, and its result says why.
    bool refuse_start(session_operation& op) { return has_refused_any() && refuses(op); }
    // Is the group broken, or has a call been refused?
    bool has_refused_any() const noexcept { return poison_ || !refusals_.empty(); }
    // This rank refuses a call, and tells those of `whom` (empty: all ranks) that are not lost.
    BOUGH_COLD void refuse(const envelope& call, errc why, std::span<const rank_t> whom) {
        if (poison_) return;
        refusals_.mine(call, why);
        tell_refusal(call, why, whom);
        if (early_.any([&](const event& e) { return same_call(e.envelope, call); })) meets_refused(call);
    }
    bool has_refused(const envelope& call) const noexcept { return refusals_.why_mine(call) != errc::ok; }
    // A peer has started a call that this rank has refused.
    BOUGH_COLD void meets_refused(const envelope& call) {
        break_group({.code = refusals_.why_mine(call), .peer = members_.rank(), .operation = call.operation});
    }
    // A peer refuses a call; `said`: with what error the call must end.
    BOUGH_COLD void refused_by_peer(const envelope& call, const status& said) {
        if (poison_ || has_refused(call)) return;
        members_.communicators().was_started(call) ? break_group(said) : refusals_.theirs(call, said);
    }

    // --- exceptions ---

    // Runs f, which may call the user's op: an exception fails the operation.
    template <class F>
    BOUGH_ALWAYS_INLINE void guarded(session_operation& op, F&& f) {
#if BOUGH_HAS_EXCEPTIONS
        try {
            f();
        } catch (const std::bad_alloc&) {
            fail(op, errc::no_resources);
        } catch (...) {
            fail(op, errc::op_threw);
        }
#else
        (void)op;
        f();
#endif
    }
    // Runs f, which may allocate: an exception breaks the group.
    template <class F>
    BOUGH_ALWAYS_INLINE void sheltered(F&& f) {
#if BOUGH_HAS_EXCEPTIONS
        try {
            f();
        } catch (...) {
            break_group({.code = errc::no_resources});
        }
#else
        f();
#endif
    }

    // --- telling the others ---

    bool has_to_tell() const noexcept { return told_ != members_.size(); }
    // Sends what others must be told. If memory runs out, a later call tries again.
    BOUGH_COLD void tell() {
        ignore_exceptions([this] {
            put_poison();
            control_.flush();
            departures<T>::flush(transport_);
        });
    }

    // The poison ends. Pre: no operation is in flight.
    void begin_epoch() noexcept {
        poison_ = {};
        told_ = members_.size();
        refusals_.clear();
        dispute_.close();
    }

private:
    // The one place where an operation in flight gets its error.
    BOUGH_COLD void end(session_operation& op, const status& why) {
        op.result_ = as_seen_by(members_.rank(), why);
        release_held(op);
        const bound_schedule& bound = op.work_->bound();
        for (std::uint32_t i = 0; i != bound.steps.size() && op.pending_ != 0; ++i)
            if (bound.steps[i].verb == verb::send || bound.steps[i].verb == verb::receive)
                (void)transport_.cancel(in_flight<T>::post_id(op, i));
        if (op.pending_ == 0) flight_.remove(op);
    }
    // The one place where the group gets its error: the first one is kept. Every rank whose link is
    // alive is told.
    BOUGH_COLD void poison_with(const status& why) {
        if (poison_) return;
        poison_ = as_seen_by(members_.rank(), why);
        tells_ = why;
        dispute_.close();
        told_ = 0;
        // Control messages stay: survivors need them, and begin_epoch() of the session finds some
        // among the early ones.
        early_.drop([this](const event& e) {
            return members_.is_of_epoch(e.envelope) && e.envelope.segment != control_segment;
        });
        tell();
    }
    void release_held(session_operation& op) { op.work_->engine().release_held(session_port<T>{flight_, early_, op}); }
    BOUGH_COLD bool refuses(session_operation& op) {
        if (poison_) return op.result_ = poisoned(poison_), true;
        if (op.result_ = refusals_.why_theirs(op.tag_); !op.result_) return false;
        poison_with(op.result_);
        return true;
    }

    // Puts the cause into control for every rank that is not lost and has not been told.
    void put_poison() {
        envelope call;
        call.operation = tells_.operation;
        call.context = tells_.context;
        const abort_notice said = abort_notice::of(tells_);
        for (; told_ != members_.size(); ++told_)
            if (told_ != members_.rank() && !members_.is_lost(told_))
                control_.put(told_, abort_segment, call, std::as_bytes(std::span(&said, 1)));
    }
    void tell_refusal(const envelope& call, errc why, std::span<const rank_t> whom) {
        const abort_notice said = abort_notice::of({.code = why, .peer = members_.rank()});
        const std::size_t count = whom.empty() ? members_.size() : whom.size();
        for (std::size_t i = 0; i != count; ++i) {
            const rank_t r = whom.empty() ? static_cast<rank_t>(i) : whom[i];
            if (r != members_.rank() && !members_.is_lost(r))
                control_.send(r, refusal_segment, call, std::as_bytes(std::span(&said, 1)));
        }
    }

    T& transport_;
    membership& members_;
    control<T>& control_;
    unexpected_messages<T>& early_;
    in_flight<T>& flight_;
    status poison_{};
    status tells_{}; // the same, as it is told to others
    rank_t told_;    // ranks below this one have been told of the poison
    refusals refusals_;
    bough::detail::dispute dispute_;
};

} // namespace bough::detail

#endif
