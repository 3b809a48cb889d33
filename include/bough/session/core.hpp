// SPDX-License-Identifier: BSL-1.0
// Session_core: the work of a session, without its lock. Others use bough/session/session.hpp.
//
// It hands events from the transport to the engines of the operations in flight, and ends
// operations that cannot go on. Once an operation has started nothing is thrown: if memory runs
// out, the group is broken with no_resources, and others are told when there is memory for that.
#ifndef BOUGH_SESSION_CORE_HPP
#define BOUGH_SESSION_CORE_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/absence.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/session/ahead.hpp>
#include <bough/session/contexts.hpp>
#include <bough/session/control_messages.hpp>
#include <bough/session/deadline_watch.hpp>
#include <bough/session/departures.hpp>
#include <bough/session/dispute.hpp>
#include <bough/session/inquiry.hpp>
#include <bough/session/mismatch.hpp>
#include <bough/session/operation.hpp>
#include <bough/session/outbox.hpp>
#include <bough/session/port.hpp>
#include <bough/session/refusals.hpp>
#include <bough/session/telling.hpp>
#include <bough/session/unexpected.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
class session_core {
public:
    session_core(T transport, const early_limits& limits)
        : transport_(std::move(transport)), early_(transport_, limits),
          ahead_(transport_.size(), limits, InPlaceTransport<T>), told_(transport_.size()),
          lost_(transport_.size(), errc::ok) {}
    session_core(const session_core&) = delete;
    session_core& operator=(const session_core&) = delete;

    rank_t rank() const noexcept { return transport_.rank(); }
    rank_t size() const noexcept { return transport_.size(); }
    T& transport() noexcept { return transport_; }
    const T& transport() const noexcept { return transport_; }
    std::uint32_t epoch() const noexcept { return epoch_; }
    const status& poison() const noexcept { return poison_; }
    bool is_lost(rank_t r) const noexcept { return lost_[r] != errc::ok; }
    std::uint64_t stale_messages() const noexcept { return stale_; }
    const unexpected_messages<T>& early() const noexcept { return early_; }
    std::size_t outstanding() const noexcept { return active_.size(); }
    bool is_disputed() const noexcept { return dispute_.is_open(); }
    // When check_deadlines() must look at this operation again.
    std::uint64_t attend_ns(const session_operation& op) const noexcept {
        return std::min(op.attend_ns_, dispute_.last_ns());
    }
    bool has_to_send() const noexcept { return !outbox_.empty() || told_ != size(); }
    bool unsent() const noexcept { return departures<T>::unsent(transport_); }
    bough::contexts& contexts() noexcept { return contexts_; }
    std::vector<control_message>& inbox() noexcept { return inbox_; }
    // In the child of a fork, no list may be used: another thread may have been changing it.
    bool forked() const noexcept {
        if constexpr (requires { transport_.forked(); })
            return transport_.forked();
        else
            return false;
    }

    void start(session_operation& op, prepared& work, const call& c, const envelope& tag,
               const call_signature& signature, std::uint64_t timeout_ns) {
        op.work_ = &work;
        op.tag_ = tag;
        op.tag_.epoch = epoch_;
        sign(op.tag_, op.signature_ = signature);
        op.ticket_ = ++tickets_ & 0x7fff'ffffu;
        op.timeout_ns_ = timeout_ns;
        op.attend_ns_ = 0;
        op.pending_ = 0;
        op.taken_back_by_ = no_rank;
        if (op.result_) op.result_ = {};
        if (forked()) return op.end_in_child();
        contexts_.start(tag);
        recent_.add(op.tag_, signature);
        if ((poison_ || !refusals_.empty()) && refuses_to_start(op)) return;
        work.prepare(c);
        for (auto& channel : work.incoming()) channel.arrived = 0;
        if (!active_.empty()) ahead_.prepare(work);
        active_.push_back(&op);
        op.done_ = false;
        port p{*this, op};
        guarded(op, [&] { work.engine().start(c, p); });
        settle(op);
        if (!early_.empty()) deliver_early(op);
        if (any_lost_ && !op.done_) fail_if_lost(op);
        hand_over();
    }
    void refuse(const envelope& tag, errc why, std::span<const rank_t> members) {
        sheltered([&] {
            contexts_.start(tag);
            if (poison_) return;
            refusals_.mine(tag, why);
            detail::tell_refusal(transport_, outbox_, tag, why, epoch_, members, lost_);
            if (early_.any([&](const event& e) { return same_call(e.envelope, tag); })) refused(tag);
        });
        hand_over();
    }
    BOUGH_COLD void fail_as(session_operation& op, errc code) {
        fail(op, {.code = code, .operation = op.tag_.operation});
    }

    bool progress() {
        std::size_t found = 0, next = 0;
        sheltered([&] { found = transport_.poll(events_); });
        handling_ = true;
        while (next != found) // begins again after an exception
            sheltered([&] {
                while (next != found) handle(events_[next++]);
            });
        handling_ = false;
        if (found == 0 && forked()) return false;
        if (found == 0 && (++idle_turns_ & 31u) == 0) make_way();
        const std::size_t before = active_.size();
        if (blocked_) retry();
        if (has_to_send()) flush();
        hand_over();
        return found != 0 || active_.size() != before; // the end of one may let another go on
    }

    // Copies early messages out of the transport to free their slots, when nothing else moves. If
    // an older operation's message found no slot, its sender and this rank would deadlock.
    BOUGH_COLD void make_way() {
        if (active_.empty()) return;
        early_.copy_all();
        if (active_.size() != 1) free_slots();
    }
    // Frees the slots of the messages that operations hold, too.
    BOUGH_COLD void free_slots() {
        early_.copy_all();
        for (session_operation* op : active_)
            op->work_->engine().for_each_held([this](held_message& held) { early_.detach(held); });
    }

    void check_deadlines() {
        if (active_.empty() && !dispute_.is_open()) return;
        const std::uint64_t now = transport_.now_ns();
        if (dispute_.is_late(now)) disputes().conclude();
        deadline_watch<session_core>{*this}.look(now);
        hand_over();
    }

    void send_control(rank_t to, envelope tag, std::span<const std::byte> bytes) {
        tag.epoch = epoch_;
        tag.segment = control_segment;
        outbox_.send(transport_, to, tag, bytes);
        hand_over();
    }
    bool has_told(rank_t to) { return is_lost(to) || detail::has_told(transport_, outbox_, to); }
    void recycle(std::vector<std::byte>&& bytes) { notices_.recycle(std::move(bytes)); }
    void reserve_control(std::size_t messages, std::size_t bytes) {
        reserve_words(inbox_, notices_, outbox_, messages, bytes);
    }
    void unreserve_control(std::size_t messages, std::size_t bytes) noexcept {
        notices_.unreserve(messages, bytes);
        outbox_.unreserve(messages, bytes);
    }
    // What runs on control messages has failed: the group fails, as with an operation.
    void give_up(const status& why) { break_group(why); }
    void suspect(rank_t r) {
        mark_lost(r, errc::peer_dead);
        stale_ += early_.drop([r](const event& e) { return e.peer == r; });
    }
    void begin_epoch() {
        BOUGH_EXPECTS(active_.empty(), "session: an epoch ends with operations in flight");
        ++epoch_;
        poison_ = {};
        told_ = size();
        refusals_.clear();
        contexts_.clear();
        recent_.clear();
        search_.clear();
        dispute_.close();
        std::erase_if(inbox_, [this](const control_message& m) { return m.tag.epoch != epoch_; });
        stale_ += early_.drop([this](const event& e) { return bough::contexts::before(e.envelope.epoch, epoch_); });
        // What came for this epoch before it began here; messages still early are kept again.
        const auto due = [this](const event& e) { return e.envelope.epoch == epoch_; };
        std::size_t left = early_.count(due);
        for (event e; left != 0 && early_.next(e, due); --left) sheltered([&] { arrived(e); });
    }

private:
    friend struct session_port<session_core>; // through it an engine reaches the transport
    friend struct deadline_watch<session_core>;
    friend class session_disputes<session_core>;
    using port = session_port<session_core>;

    // True: the operation cannot start, and its result says why.
    BOUGH_COLD bool refuses_to_start(session_operation& op) {
        if (poison_) return op.result_ = poisoned(poison_), true;
        if (op.result_ = refusals_.why_theirs(op.tag_); !op.result_) return false;
        set_poison(op.result_);
        return true;
    }

    // Runs f, which may call the user's op: an exception fails the operation.
    template <class F>
    BOUGH_ALWAYS_INLINE void guarded(session_operation& op, F&& f) {
#if BOUGH_HAS_EXCEPTIONS
        try {
            f();
        } catch (const std::bad_alloc&) {
            fail_as(op, errc::no_resources);
        } catch (...) {
            fail_as(op, errc::op_threw);
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

    void handle(const event& e) {
        switch (e.what) {
        case event::kind::arrived: !is_lost(e.peer) ? arrived(e) : (++stale_, early_.release(e.id)); break;
        case event::kind::complete: completed(e); break;
        case event::kind::lost: lost(e.peer, e.code == errc::ok ? errc::peer_dead : e.code); break;
        }
    }

    void arrived(const event& e) {
        const envelope& tag = e.envelope;
        if (tag.epoch == epoch_ && tag.segment < inquiry_segment) [[likely]]
            if (session_operation* op = find(tag)) {
                if (!early_.empty()) [[unlikely]]
                    early_.overtaken(e.peer);
                return deliver(*op, e);
            }
        arrived_for_nobody(e);
    }
    BOUGH_COLD void arrived_for_nobody(const event& e) {
        const envelope& tag = e.envelope;
        if (tag.epoch != epoch_) {
            if (bough::contexts::before(epoch_, tag.epoch)) return early_.keep(e); // its sender has begun it
            ++stale_;
            early_.release(e.id);
        } else if (tag.segment > inquiry_segment) {
            if (control_message m; notices_.read(transport_, early_, e, m)) notice(std::move(m));
        } else if (poison_) {
            early_.release(e.id);
        } else if (refusals_.why_mine(tag) != errc::ok) {
            early_.release(e.id);
            refused(tag);
        } else if (contexts_.was_started(tag)) { // complete without this message, or this is an inquiry
            early_.release(e.id);
            disputes().heard(find(tag), e);
        } else {
            early_.keep(e);
        }
    }

    void notice(control_message&& m) {
        if (m.tag.epoch != epoch_) return;
        if (m.tag.segment == control_segment) return inbox_.push_back(std::move(m));
        if (m.tag.segment == signature_segment) return disputes().told(m.peer, m.tag, m.bytes);
        status said = abort_notice::read(m.bytes).as_status(m.peer, m.tag.operation, m.tag.context);
        if (m.tag.segment == abort_segment) return break_group(said); // the sender gave up: this rank does, too
        if (m.tag.segment != refusal_segment) return deadline_watch<session_core>{*this}.heard(m);
        said.peer = m.peer; // the sender refuses a call
        if (poison_ || refusals_.why_mine(m.tag) != errc::ok) return;
        contexts_.was_started(m.tag) ? break_group(said) : refusals_.theirs(m.tag, said);
    }

    session_operation* find(const envelope& tag) noexcept {
        for (session_operation* op : active_)
            if (same_call(op->tag_, tag)) return op;
        return nullptr;
    }
    session_disputes<session_core> disputes() noexcept { return session_disputes<session_core>(*this); }
    // A peer has started a call that this rank refused.
    void refused(const envelope& tag) {
        break_group({.code = refusals_.why_mine(tag), .peer = rank(), .operation = tag.operation});
    }

    void deliver(session_operation& op, const event& e) {
        if (op.result_ || op.taken_back_by_ != no_rank) return early_.release(e.id);
        if (differ(e.envelope, op.tag_)) {
            early_.release(e.id);
            return disputes().heard(&op, e);
        }
        auto channel = op.work_->incoming().begin();
        const auto end = op.work_->incoming().end();
        while (channel != end && channel->peer != e.peer) ++channel;
        if (channel == end || e.envelope.segment != channel->arrived || channel->arrived == channel->count) {
            early_.release(e.id);
            if (e.envelope.segment == inquiry_segment) return;
            return fail(op, unexpected_message(e));
        }
        const std::uint32_t step = op.work_->bound().receives[channel->first + channel->arrived++];
        port p{*this, op};
        guarded(op, [&] { op.work_->engine().arrived(step, {e.data, e.bytes, e.id, e.peer, true}, p); });
        settle(op);
    }
    void deliver_early(session_operation& op) {
        const auto its = [&](const event& x) { return x.envelope.epoch == epoch_ && same_call(x.envelope, op.tag_); };
        for (event e; early_.next(e, its);) {
            if (!op.done_)
                deliver(op, e);
            else if (early_.release(e.id); !op.result_) // it needs no more: another call, or an inquiry
                disputes().heard(&op, e);
        }
    }

    void completed(const event& e) {
        const auto ticket = static_cast<std::uint32_t>(e.id >> 32);
        if (ticket == outbox::id_mark) return outbox_.completed(e.id);
        if (ticket == notices::id_mark) {
            if (control_message m; notices_.taken(e, m)) notice(std::move(m));
            return;
        }
        for (session_operation* op : active_) {
            if (op->ticket_ != ticket) continue;
            --op->pending_;
            if (op->result_) return finish_failed(*op);
            if (e.code == errc::peer_aborted && e.peer < size()) return taken_back(*op, e.peer); // a take
            if (e.code != errc::ok) return fail(*op, {.code = e.code, .peer = e.peer, .operation = op->tag_.operation});
            port p{*this, *op};
            guarded(*op, [&] { op->work_->engine().completed(static_cast<std::uint32_t>(e.id), p); });
            return settle(*op);
        }
    }

    void mark_lost(rank_t r, errc why) noexcept {
        if (!is_lost(r)) lost_[r] = why;
        any_lost_ = true;
        outbox_.forget(r);
    }
    void lost(rank_t peer, errc why) {
        mark_lost(peer, why);
        if (dispute_.is_with(peer)) disputes().conclude();
        for (std::size_t i = active_.size(); i-- != 0;) {
            fail_if_lost(*active_[i]);
            i = std::min(i, active_.size());
        }
    }
    // An operation that still needs a message from a lost rank cannot end well.
    void fail_if_lost(session_operation& op) {
        if (op.result_) return;
        const auto fails = [&](rank_t r) { fail(op, {.code = lost_[r], .peer = r, .operation = op.tag_.operation}); };
        if (const rank_t r = op.taken_back_by_; r != no_rank && is_lost(r)) return fails(r);
        for (const auto& channel : op.work_->incoming())
            if (is_lost(channel.peer) && channel.arrived != channel.count) return fails(channel.peer);
    }

    // The first failure poisons the group. Every rank whose link is alive is told.
    BOUGH_COLD void set_poison(const status& why) {
        if (poison_) return;
        poison_ = as_seen_by(rank(), why);
        tells_ = why;
        dispute_.close();
        told_ = 0;
        // Control messages stay: survivors need them, and begin_epoch() finds some among the early
        // ones.
        early_.drop(
            [this](const event& e) { return e.envelope.epoch == epoch_ && e.envelope.segment != control_segment; });
        flush();
    }
    // Sends what others must be told. If memory runs out, a later call tries again.
    BOUGH_COLD void flush() {
        ignore_exceptions([this] {
            tell_poison(outbox_, tells_, epoch_, rank(), told_, lost_);
            outbox_.flush(transport_);
            departures<T>::flush(transport_);
        });
    }
    void break_group(const status& why) {
        set_poison(why);
        for (std::size_t i = 0; i < active_.size();)
            active_[i]->result_ ? void(++i) : (fail(*active_[i], why), void(i = 0));
    }

    BOUGH_COLD void fail(session_operation& op, const status& why) {
        if (op.result_) return;
        if (forked()) return op.end_in_child(); // the user's op has forked
        op.result_ = as_seen_by(rank(), why);
        port p{*this, op};
        op.work_->engine().release_held(p);
        const bound_schedule& bound = op.work_->bound();
        for (std::uint32_t i = 0; i != bound.steps.size() && op.pending_ != 0; ++i)
            if (bound.steps[i].verb == verb::send || bound.steps[i].verb == verb::receive)
                (void)transport_.cancel(p.id(i));
        finish_failed(op);
        set_poison(why);
    }
    // The sender has taken back a message that the operation needs. Its notice or its loss says
    // why.
    void taken_back(session_operation& op, rank_t peer) {
        op.taken_back_by_ = peer;
        op.work_->engine().release_held(port{*this, op}); // the notice may be waiting for a slot
        if (any_lost_) fail_if_lost(op);
    }
    // A failed operation ends when the transport has given all its bytes back.
    void finish_failed(session_operation& op) {
        if (op.pending_ == 0) remove(op);
    }
    void settle(session_operation& op) {
        const bough::engine& engine = op.work_->engine();
        if (op.result_) return;
        if (engine.error() != errc::ok) return stopped(op);
        if (engine.done() && !dispute_.is_open() && !departures_.begins(transport_, op)) remove(op);
    }
    // Ends each call of the session: sends what was posted, ends operations that waited for that.
    BOUGH_ALWAYS_INLINE void hand_over() {
        if constexpr (GatheringTransport<T>) {
            sheltered([&] { transport_.flush(); });
            if (dispute_.is_open()) return;
            while (session_operation* op = departures_.next(transport_, active_)) remove(*op);
        }
    }
    BOUGH_COLD void stopped(session_operation& op) { // its engine has an error
        status why = why_stopped(*op.work_, op.tag_.operation);
        if (why.code == errc::peer_dead && is_lost(why.peer)) why.code = lost_[why.peer];
        why.code == errc::peer_aborted ? taken_back(op, why.peer) : fail(op, why);
    }
    void remove(session_operation& op) {
        if (op.proposed_ && !op.result_) [[unlikely]]
            deadline_watch<session_core>{*this}.withdraw(op);
        op.done_ = true;
        departures_.end(op);
        ahead_.forget(*op.work_);
        if (active_.back() == &op) return active_.pop_back();
        std::erase(active_, &op);
        ahead_.forget(*active_.front()->work_);
    }

    void retry() {
        blocked_ = false;
        for (std::size_t i = 0; i < active_.size();) {
            session_operation& op = *active_[i];
            if (!op.result_ && op.work_->engine().has_blocked()) {
                port p{*this, op};
                guarded(op, [&] { op.work_->engine().retry(p); });
                settle(op);
            }
            if (i < active_.size() && active_[i] == &op) ++i; // otherwise it has ended, and another is in its place
        }
    }

    outbox outbox_; // these two outlive the transport, which may still read or write their bytes
    notices notices_;
    T transport_;
    unexpected_messages<T> early_;
    ahead ahead_;
    std::uint32_t epoch_ = 1;
    std::uint32_t tickets_ = 0; // counts starts: operations of two communicators may have the same number
    rank_t told_;               // ranks below this one have been told of the poison
    std::array<event, 8> events_;
    std::vector<session_operation*> active_;
    departures<T> departures_; // of active_
    refusals refusals_;
    std::vector<errc> lost_; // by rank: why it is lost; ok: it is not
    std::vector<control_message> inbox_;
    bough::contexts contexts_;
    recent_calls recent_;
    dispute dispute_;
    std::uint64_t stale_ = 0;
    std::uint32_t idle_turns_ = 0;
    bool blocked_ = false; // a send of some engine was refused
    bool any_lost_ = false;
    bool handling_ = false; // progress() is handling the events that it polled
    status poison_{};
    status tells_{}; // the same, as it is told to others
    absence_search search_{size(), rank()};
};

} // namespace bough::detail

#endif
