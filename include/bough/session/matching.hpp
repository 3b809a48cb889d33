// SPDX-License-Identifier: BSL-1.0
// Matching: finds for each message that comes the operation and the step that it is for.
//
// A message belongs to the operation that its envelope names. Within the operation it belongs to
// the channel of its sender, whose messages come in their order. A message that comes before its
// operation has started, or before its epoch has begun here, is kept among the early ones
// (unexpected.hpp); its sender may ask when that is over (early_reports.hpp). One of a past epoch or of a
// lost rank is stale: it is dropped. Matching says whose a message is; what follows from that is decided
// in bough/session/engines.hpp, and for what no operation expects in put_off.hpp.
//
// It needs the early messages, of the membership the epoch, the control, and the operations in flight. Of
// these it moves channels and held messages, and counts what they have sent ahead.
#ifndef BOUGH_SESSION_MATCHING_HPP
#define BOUGH_SESSION_MATCHING_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/session/control.hpp>
#include <bough/session/early_reports.hpp>
#include <bough/session/in_flight.hpp>
#include <bough/session/membership.hpp>
#include <bough/session/mismatch.hpp>
#include <bough/session/operation.hpp>
#include <bough/session/unexpected.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
class matching {
public:
    matching(unexpected_messages<T>& early, const membership& members, control<T>& messages, in_flight<T>& flight)
        : early_(early), members_(members), flight_(flight), reports_(messages, members, flight.room()) {}
    matching(const matching&) = delete;
    matching& operator=(const matching&) = delete;

    unexpected_messages<T>& early() noexcept { return early_; }
    const unexpected_messages<T>& early() const noexcept { return early_; }
    early_reports<T>& reports() noexcept { return reports_; }
    std::uint64_t stale() const noexcept { return stale_; } // messages that were dropped as stale

    // The operation whose step a message is for; null: none in flight, or the message is for no step, or
    // it has to wait for one that is under way.
    BOUGH_ALWAYS_INLINE session_operation* receiver(const event& e) {
        if (!members_.is_of_epoch(e.envelope) || e.envelope.segment >= inquiry_segment) [[unlikely]]
            return nullptr;
        session_operation* op = flight_.find(e.envelope);
        if (op != nullptr && !early_.empty()) [[unlikely]] {
            if (early_.has(e.envelope)) return nullptr; // it must not overtake one that is under way
            early_.overtaken(e.peer);
        }
        return op;
    }
    // The step that a message of this operation is for; its channel moves on. not_a_step: the plan
    // does not expect the message.
    BOUGH_ALWAYS_INLINE static std::uint32_t step_of(session_operation& op, const event& e) noexcept {
        auto channel = op.work_->incoming().begin();
        const auto end = op.work_->incoming().end();
        while (channel != end && channel->peer != e.peer) ++channel;
        if (channel == end || e.envelope.segment != channel->arrived || channel->arrived == channel->count)
            return not_a_step;
        return op.work_->bound().receives[channel->first + channel->arrived++];
    }
    // Takes out the first early message of an operation.
    bool next_early(event& e, const session_operation& op) { return early_.next_of(e, op.tag_); }

    // Has a message come early that has the number of this call, and shows that its sender has made
    // another one?
    bool has_another(const envelope& call) const {
        return early_.any([&](const event& e) {
            return members_.is_of_epoch(e.envelope) && same_call(e.envelope, call) && differ(e.envelope, call);
        });
    }

    // Keeps a message of an epoch that is still to come here, as its sender has begun it; drops one
    // of the past. False: it is of this epoch, and nothing was done.
    BOUGH_COLD bool handle_other_epoch(const event& e) {
        if (members_.is_of_epoch(e.envelope)) return false;
        members_.is_of_future(e.envelope) ? early_.keep(e) : drop(e);
        return true;
    }
    // Drops a message as stale.
    BOUGH_COLD void drop(const event& e) {
        ++stale_;
        early_.release(e.id);
    }
    BOUGH_COLD void drop_early_of(const envelope& call) {
        early_.drop([&](const event& e) { return members_.is_of_epoch(e.envelope) && same_call(e.envelope, call); });
    }
    BOUGH_COLD void drop_early_of(rank_t peer) {
        stale_ += early_.drop([peer](const event& e) { return e.peer == peer; });
        reports_.forget(peer);
    }
    // The membership has begun an epoch: drops what is early for a past one, and calls f(e) with
    // each message that came for this epoch before it began here. f may keep it again.
    template <class F>
    void begin_epoch(F&& f) {
        stale_ += early_.drop([this](const event& e) { return members_.is_of_past(e.envelope); });
        reports_.begin_epoch();
        const auto due = [this](const event& e) { return members_.is_of_epoch(e.envelope); };
        std::size_t left = early_.count(due);
        for (event e; left != 0 && early_.next(e, due); --left) f(e);
    }

    // Copies early messages out of the transport to free their slots, when nothing else moves. If an
    // older operation's message found no slot, its sender and this rank would deadlock. `always`: also if
    // none is in flight, as a message of the session is awaited. `fetches`: long ones that are still with
    // their senders, too.
    BOUGH_COLD void make_way(bool always = false, bool fetches = true) {
        if (flight_.empty() && !always) return;
        early_.copy_all(fetches);
        if (flight_.size() <= 1) return;
        // Of many, some in each call: so an idle poll takes no longer with thousands in flight.
        for (std::size_t n = 0; n != std::min<std::size_t>(flight_.size(), 64); ++n)
            free_slots_of(flight_[next_freed_++ % flight_.size()], fetches);
    }
    // The same for a poll that has found nothing, now and then. Long messages are copied once more than
    // they would be otherwise, so they wait until nothing has come for many polls, or for very many in
    // all.
    void idle(bool always) {
        ++idle_in_a_row_;
        if ((++idle_polls_ & 31u) == 0) make_way(always, idle_in_a_row_ >= 64 || (idle_polls_ & 0xffffu) == 0);
    }
    // A poll has found something.
    void moves() noexcept { idle_in_a_row_ = 0; }
    // Frees the slots of the messages that operations hold, too.
    BOUGH_COLD void free_slots() {
        early_.copy_all(true);
        for (std::size_t i = 0; i != flight_.size(); ++i) free_slots_of(flight_[i], true);
    }

private:
    void free_slots_of(session_operation& op, bool fetches) {
        op.work_->engine().for_each_held([&](held_message& held) { early_.detach(held, fetches); });
    }

    unexpected_messages<T>& early_;
    const membership& members_;
    const in_flight<T>& flight_;
    early_reports<T> reports_;
    std::uint64_t stale_ = 0;
    std::size_t next_freed_ = 0; // of make_way()
    std::uint32_t idle_polls_ = 0, idle_in_a_row_ = 0;
};

} // namespace bough::detail

#endif
