// SPDX-License-Identifier: BSL-1.0
// Failure: ends operations with an error, and decides how far an error reaches: to one call, to one
// communicator, or to the whole group. No other place gives an operation in flight, a communicator
// or the group an error, except in the child of a fork.
//
//   what has happened                            reach           on this rank               told to
//   cancelled, deadline                          the call        end(op)                    its members
//   the same, in a call for late ranks           communicator    end() of its operations    its members
//   a member makes no further call               later calls     end() of these             nobody: it told all
//   calls differ, refused calls, an op throws    communicator    end() of its operations    its members
//   no memory for an operation                   communicator    end() of its operations    its members
//   a rank is lost                               group           end() of what needs it     every rank
//   no memory for messages of the session        group           end() of all               every rank
//
// Each rank that is told does the same, and tells others in turn: so all hear of it, even if the
// first rank dies meanwhile. A failed operation ends when the transport has given back the last byte
// that it had borrowed. The first failure of a communicator, or of the group, is kept, and every later
// call of it is refused with it. This class needs the operations in flight, the membership, the early
// messages (those of what has failed are dropped), and control to tell others; none of these calls it.
#ifndef BOUGH_SESSION_FAILURE_HPP
#define BOUGH_SESSION_FAILURE_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/absence.hpp>
#include <bough/core/config.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/session/control.hpp>
#include <bough/session/dispute.hpp>
#include <bough/session/given_up.hpp>
#include <bough/session/in_flight.hpp>
#include <bough/session/membership.hpp>
#include <bough/session/mismatch.hpp>
#include <bough/session/operation.hpp>
#include <bough/session/port.hpp>
#include <bough/session/records.hpp>
#include <bough/session/refusals.hpp>
#include <bough/session/telling.hpp>
#include <bough/session/unexpected.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// How much ends with an error.
enum class reach : std::uint8_t { call, communicator, group };
constexpr reach reach_of(const status& why) noexcept {
    switch (why.code == errc::peer_aborted || why.code == errc::group_poisoned ? why.cause : why.code) {
    case errc::cancelled:
    case errc::deadline: return reach::call; // the ranks are in step, and all are there, or may come
    case errc::peer_dead:
    case errc::forked_child: return reach::group;
    default: return reach::communicator;
    }
}

template <Transport T>
class failure {
public:
    failure(T& transport, membership& members, control<T>& control, unexpected_messages<T>& early, in_flight<T>& flight)
        : transport_(transport), members_(members), control_(control), early_(early), flight_(flight),
          others_(transport, members, control), records_(flight, early) {}
    failure(const failure&) = delete;
    failure& operator=(const failure&) = delete;

    detail::records<T>& records() noexcept { return records_; }
    // What broke the group; ok: nothing has.
    const status& poison() const noexcept { return poison_; }
    // What broke a communicator, or the group; ok: nothing has.
    const status& poison(std::uint16_t context) const noexcept {
        if (poison_) return poison_;
        for (const broken_communicator& b : broken_)
            if (b.context == context) return b.why;
        return poison_;
    }
    // At most one is open. While it is, no operation of its communicator ends well.
    bough::detail::dispute& dispute() noexcept { return dispute_; }
    const bough::detail::dispute& dispute() const noexcept { return dispute_; }

    // --- an operation fails ---

    // Ends an operation, and what else the error reaches. Does nothing if the operation has failed already.
    void fail(session_operation& op, const status& why) { fail(op, why, reach_of(why)); }
    BOUGH_COLD void fail(session_operation& op, const status& why, reach how_far) {
        if (op.result_) return;
        const envelope call = op.tag_;
        // Late places are of no use any more: this rank does not do the rest of its part. The notice says
        // how far it reaches, as a rank that has done its part has no operation in flight to tell it from.
        if (how_far == reach::call && op.waits_for_late()) how_far = reach::communicator;
        if (!detail::is_forked(transport_)) record(why, how_far == reach::group, call.context);
        if (!end(op, why)) return;
        switch (how_far) {
        case reach::call: return sheltered([&] { tell_given_up(call, why); });
        case reach::communicator: return break_communicator(call.context, why);
        case reach::group: return poison_with(why);
        }
    }
    BOUGH_COLD void fail(session_operation& op, errc code) {
        fail(op, {.code = code, .operation = op.tag_.operation, .context = op.tag_.context});
    }
    // Those that no program waits for are cancelled. True: none of them is in flight any more.
    BOUGH_COLD bool end_unattended() {
        for (std::size_t i = flight_.size(); i-- != 0; i = std::min(i, flight_.size())) // others may end, too
            if (flight_[i].heed_.unattended) fail(flight_[i], errc::cancelled);
        for (std::size_t i = 0; i != flight_.size(); ++i)
            if (flight_[i].heed_.unattended) return false;
        return true;
    }
    // Its engine has an error.
    BOUGH_COLD void stopped(session_operation& op) {
        status why = why_stopped(*op.work_, op.tag_.operation);
        if (why.code == errc::peer_aborted) return taken_back(op, why.peer);
        const reach how_far = reach_of(why);
        if (why.code == errc::peer_dead && members_.is_lost(why.peer)) why.code = members_.why_lost(why.peer);
        fail(op, why, how_far);
    }
    // A sender has taken back a message that the operation needs. Its notice or its loss says why.
    void taken_back(session_operation& op, rank_t peer) {
        op.taken_back_by_ = peer;
        release_held(op); // the notice may be waiting for a slot
        if (members_.any_lost()) fail_if_lost(op);
    }
    // Fails if the operation still needs a message from a lost rank.
    void fail_if_lost(session_operation& op) {
        if (op.result_) return;
        const auto fails = [&](rank_t r) {
            fail(op, {.code = members_.why_lost(r), .peer = r, .operation = op.tag_.operation}, reach::group);
        };
        if (const late_part& late = op.late_; late.places != nullptr)
            for (rank_t r = 0; r != late.places->size(); ++r)
                if (const rank_t peer = late.places->world_rank(r); members_.is_lost(peer) && late.needs(r))
                    return fails(peer);
        if (const rank_t r = op.taken_back_by_; r != no_rank && members_.is_lost(r)) return fails(r);
        for (const auto& channel : op.work_->incoming())
            if (members_.is_lost(channel.peer) && channel.arrived != channel.count && !has_come(op, channel))
                return fails(channel.peer);
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
        record(why, true);
        poison_with(why);
        end_all(why, [](const session_operation&) { return true; });
    }
    // The communicator with this context, and no other one.
    BOUGH_COLD void break_communicator(std::uint16_t context, const status& why) {
        if (poison(context)) return;
        record(why, false, context);
        sheltered([&] {
            broken_.push_back({context, as_seen_by(members_.rank(), why)});
            given_up_.forget(context);
            note();
            if (dispute_.is_of(context)) dispute_.close();
            early_.drop([&](const event& e) { return is_call_of(e, context); });
            others_.broken(context, why);
        });
        end_all(why, [context](const session_operation& op) { return op.tag_.context == context; });
        flight_.room().forget(context); // its members drop what is early of it
    }
    // A peer has given up this call; `why`: with what the call must end.
    BOUGH_COLD void given_up_by_peer(const envelope& call, const status& why) {
        if (poison(call.context)) return;
        if (members_.communicators().was_started(call)) {
            session_operation* op = flight_.find(call);
            if (op != nullptr) fail(*op, why, reach::call);
        } else if (given_up_.is_full()) {
            break_communicator(call.context, {.code = errc::no_resources, .operation = call.operation});
        } else if (!given_up_.has(call)) {
            given_up_.add(call, why);
            note();
            early_.drop([&](const event& e) { return is_call_of(e, call.context) && same_call(e.envelope, call); });
        }
    }
    // Has this rank still to make this call, and has a peer given it up, or will a peer never make it?
    bool is_given_up(const envelope& call) const noexcept {
        return given_up_.has(call) || members_.communicators().end_before(call) != nullptr;
    }
    // Would the start of this call be refused?
    bool would_refuse(const envelope& call) const noexcept {
        return may_refuse_ && (poison(call.context) || is_given_up(call) || refusals_.why_theirs(call));
    }
    // This rank gives up a call that it has not started, and never will.
    BOUGH_COLD void give_up(const envelope& call, const status& why) {
        record(why, false, call.context);
        (void)given_up_.take(call); // if another rank has given it up, too
        note();
        members_.communicators().give_up(call);
        sheltered([&] {
            early_.drop([&](const event& e) { return is_call_of(e, call.context) && same_call(e.envelope, call); });
            tell_given_up(call, why);
        });
    }
    // A member makes no call after `last`, and has told all others. What this rank has made without it
    // ends.
    BOUGH_COLD void ends_after(const envelope& last) {
        note();
        if (poison(last.context) || dispute_.is_of(last.context)) return; // which breaks the communicator
        const auto is_after = [&](const envelope& call) {
            return call.context == last.context && contexts::before(last.operation, call.operation);
        };
        sheltered(
            [&] { early_.drop([&](const event& e) { return is_call_of(e, last.context) && is_after(e.envelope); }); });
        for (std::size_t i = 0; i < flight_.size();) {
            session_operation& op = flight_[i++];
            if (op.result_ || !is_after(op.tag_)) continue;
            const status why = without_a_member(op.tag_);
            record(why, false, last.context);
            if (!end(op, why)) return;
            i = 0;
        }
    }
    // There will be no answer.
    BOUGH_COLD void conclude_dispute() { break_communicator(dispute_.context(), dispute_.known()); }
    // Does this operation wait for the end of a dispute?
    bool is_disputed(const session_operation& op) const noexcept { return dispute_.is_of(op.tag_.context); }

    // --- calls that are refused ---

    // Refuses the start of an operation if its communicator is broken, or a peer has given up or
    // refused this call. True: it is refused, and its result says why.
    bool refuse_start(session_operation& op) { return may_refuse_ && refuses(op); }
    // Is there anything for which a call may be refused?
    bool may_refuse() const noexcept { return may_refuse_; }
    // This rank refuses a call, and tells those of `whom` (empty: all ranks) that are not lost.
    BOUGH_COLD void refuse(const envelope& call, errc why, std::span<const rank_t> whom) {
        if (poison(call.context)) return;
        const bool is_over = given_up_.take(call).code != errc::ok;
        note();
        if (is_over) return members_.communicators().give_up(call);
        refusals_.mine(call, why);
        others_.refused(call, why, whom);
        if (early_.any([&](const event& e) { return same_call(e.envelope, call); })) meets_refused(call);
    }
    bool has_refused(const envelope& call) const noexcept { return refusals_.why_mine(call) != errc::ok; }
    // A peer has started a call that this rank has refused.
    BOUGH_COLD void meets_refused(const envelope& call) {
        break_communicator(call.context, {.code = refusals_.why_mine(call),
                                          .peer = members_.rank(),
                                          .operation = call.operation,
                                          .context = call.context});
    }
    // A peer refuses a call; `said`: with what error the call must end.
    BOUGH_COLD void refused_by_peer(const envelope& call, const status& said) {
        if (poison(call.context) || has_refused(call)) return;
        if (members_.communicators().was_started(call)) return break_communicator(call.context, said);
        refusals_.theirs(call, said);
        note();
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

    const telling<T>& others() const noexcept { return others_; }
    bool has_to_tell() const noexcept { return !others_.is_over(); }
    // Goes on to tell the others that the group is broken. If memory runs out, a later call tries again.
    BOUGH_COLD void tell() {
        ignore_exceptions([this] { others_.go_on(); });
    }

    // The poison ends. Pre: no operation is in flight.
    void begin_epoch() noexcept {
        poison_ = {};
        others_.begin_epoch();
        refusals_.clear();
        given_up_.clear();
        broken_.clear();
        dispute_.close();
        note();
    }
    // All members have let a communicator go: nothing of it is left.
    void forget(std::uint16_t context) noexcept {
        broken_.erase_if([context](const broken_communicator& b) { return b.context == context; });
        given_up_.forget(context);
        refusals_.forget(context);
        if (dispute_.is_of(context)) dispute_.close();
        note();
    }

    // What calls are refused for has changed.
    void note() noexcept {
        may_refuse_ = poison_ || !refusals_.empty() || !given_up_.empty() || !broken_.empty() ||
                      members_.communicators().any_incomplete();
    }

private:
    struct broken_communicator {
        std::uint16_t context;
        status why;
    };

    // Notes what was in flight, before anything of it is cleared away.
    void record(const status& why, bool of_all, std::uint16_t context = 0) {
        records_.fails(as_seen_by(members_.rank(), why), of_all, context);
    }
    // The one place where an operation in flight gets its error. False: this is the child of a fork,
    // and nothing but the operation ends.
    BOUGH_COLD bool end(session_operation& op, const status& why) {
        if (detail::is_forked(transport_)) return op.end_in_child(), false; // the user's op has forked
        op.result_ = as_seen_by(members_.rank(), why);
        if (op.record_.in != nullptr) op.record_.in->fails(op.tag_.operation, op.result_.code);
        op.tell_if_watched({.what = operation_event::kind::end, .code = op.result_.code});
        members_.communicators().give_up(op.tag_);
        release_held(op);
        const bound_schedule& bound = op.work_->bound();
        for (std::uint32_t i = 0; i != bound.steps.size() && op.pending_ != 0; ++i)
            if (bound.steps[i].verb == verb::send || bound.steps[i].verb == verb::receive)
                (void)transport_.cancel(in_flight<T>::post_id(op, i));
        if (op.pending_ == 0) flight_.remove(op);
        return true;
    }
    // Ends all operations that are meant.
    template <class F>
    void end_all(const status& why, F&& is_meant) {
        for (std::size_t i = 0; i < flight_.size();) {
            session_operation& op = flight_[i];
            op.result_ || !is_meant(std::as_const(op)) ? void(++i) : (void(end(op, why)), void(i = 0));
        }
    }
    // The one place where the group gets its error: the first one is kept. Every rank whose link is
    // alive is told.
    BOUGH_COLD void poison_with(const status& why) {
        if (poison_) return;
        poison_ = as_seen_by(members_.rank(), why);
        others_.poison(why);
        dispute_.close();
        note();
        // Control messages stay: survivors need them, and begin_epoch() of the session finds some
        // among the early ones. So do messages of operations in flight, which may not need what is lost: they
        // wait behind one whose payload is under way.
        early_.drop([this](const event& e) {
            return members_.is_of_epoch(e.envelope) && e.envelope.segment != control_segment &&
                   flight_.find(e.envelope) == nullptr;
        });
        tell();
    }
    void release_held(session_operation& op) { op.work_->engine().release_held(session_port<T>{flight_, early_, op}); }
    BOUGH_COLD bool refuses(session_operation& op) {
        if (const status& why = poison(op.tag_.context)) return op.result_ = poisoned(why), true;
        if (const status why = given_up_.take(op.tag_)) {
            note();
            op.result_ = as_seen_by(members_.rank(), why);
            members_.communicators().give_up(op.tag_);
            sheltered([&] { tell_given_up(op.tag_, why); });
            return true;
        }
        if (members_.communicators().end_before(op.tag_) != nullptr) {
            op.result_ = without_a_member(op.tag_);
            members_.communicators().give_up(op.tag_);
            return true;
        }
        if (op.result_ = refusals_.why_theirs(op.tag_); !op.result_) return false;
        break_communicator(op.tag_.context, op.result_);
        return true;
    }
    // A member will never make this call. It has told all; but it may have died while it did.
    BOUGH_COLD status without_a_member(const envelope& call) {
        contexts::member_end& its = *members_.communicators().end_before(call);
        if (!std::exchange(its.is_told, true)) sheltered([&] { others_.ended(its); });
        return {.code = errc::peer_aborted,
                .cause = errc::cancelled,
                .peer = its.rank,
                .operation = call.operation,
                .context = call.context};
    }
    BOUGH_COLD void tell_given_up(const envelope& call, const status& why) {
        if (!others_.given_up(call, why))
            break_communicator(call.context, {.code = errc::no_resources, .operation = call.operation});
    }
    // Are all messages of this channel here? Some may wait behind one whose payload is under way.
    BOUGH_COLD bool has_come(const session_operation& op, const prepared::incoming_channel& channel) const {
        return channel.arrived + early_.count([&](const event& e) {
            return e.peer == channel.peer && e.envelope.segment < inquiry_segment && members_.is_of_epoch(e.envelope) &&
                   same_call(e.envelope, op.tag_);
        }) >= channel.count;
    }
    bool is_call_of(const event& e, std::uint16_t context) const noexcept {
        return members_.is_of_epoch(e.envelope) && e.envelope.context == context &&
               e.envelope.segment != control_segment;
    }

    T& transport_;
    membership& members_;
    control<T>& control_;
    unexpected_messages<T>& early_;
    in_flight<T>& flight_;
    status poison_{}; // of the group
    telling<T> others_;
    bool may_refuse_ = false;
    plain_list<broken_communicator> broken_;
    given_up_calls given_up_;
    refusals refusals_;
    bough::detail::dispute dispute_;
    detail::records<T> records_;
};

} // namespace bough::detail

#endif
