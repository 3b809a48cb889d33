// SPDX-License-Identifier: BSL-1.0
// The session: everything between a transport and the engines of the operations in flight. Written once, for all
// transports: matching by operation, early messages, call signatures, deadlines, the death of peers, and poison.
//
// A message belongs to the operation that its envelope names, never to "the oldest open one from this sender". One that
// comes before its operation has started is kept (bough/execute/early.hpp). One whose signature differs from mine, or that
// my plan does not expect, is a call_mismatch. The first failure poisons the group: its cause is told to every rank whose
// link is alive, and every later operation fails at once. The group of a session is that of its transport;
// communicators are contexts within it and share its fate.
//
// One thread at a time, unless the transport has a session_mutex (bough/serialised.hpp): then each public member locks it.
#ifndef BOUGH_EXECUTE_SESSION_HPP
#define BOUGH_EXECUTE_SESSION_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/execute/ahead.hpp>
#include <bough/execute/contexts.hpp>
#include <bough/execute/early.hpp>
#include <bough/execute/mismatch.hpp>
#include <bough/execute/notices.hpp>
#include <bough/execute/outbox.hpp>
#include <bough/execute/prepared.hpp>
#include <bough/execute/refusals.hpp>
#include <bough/execute/session_mutex.hpp>
#include <bough/execute/session_operation.hpp>
#include <bough/execute/session_port.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace bough {

template <Transport T>
class session {
public:
    explicit session(T transport, const early_limits& limits = {})
        : transport_(std::move(transport)), early_(transport_, limits),
          ahead_(transport_.size(), limits, InPlaceTransport<T>), lost_(transport_.size(), 0) {}
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    // Pre: no operation is in flight. What the other ranks must still be told is sent, as long as that takes no longer
    // than 100 ms.
    ~session() {
        if (outbox_.empty()) return;
        const std::uint64_t last = transport_.now_ns() + 100'000'000;
        for (std::uint32_t idle = 1; !outbox_.empty() && transport_.now_ns() < last; ++idle) {
            progress();
            if constexpr (WaitableTransport<T>) transport_.wait(idle, last);
        }
    }

    rank_t rank() const noexcept { return transport_.rank(); }
    rank_t size() const noexcept { return transport_.size(); }
    T& transport() noexcept { return transport_; }
    std::uint32_t epoch() const noexcept { return epoch_; }
    // What broke the group, if anything did.
    const status& poison() const noexcept { return poison_; }
    bool is_lost(rank_t r) const noexcept { return lost_[r] != 0; }
    // Messages of an earlier epoch, or of a suspect, that came and were dropped.
    std::uint64_t stale_messages() const noexcept { return stale_; }
    std::uint64_t early_bytes() const noexcept { return early_.copied_bytes(); }
    std::uint64_t early_allocations() const noexcept { return early_.allocations(); }

    // Starts an operation. Its end is seen by done() after enough calls of progress().
    void start(session_operation& op, prepared& work, const call& c, const envelope& tag, std::uint64_t timeout_ns) {
        const lock_guard held(mutex_);
        op.work_ = &work;
        op.tag_ = tag;
        op.tag_.epoch = epoch_;
        op.ticket_ = ++tickets_ & 0x7fff'ffffu;
        op.timeout_ns_ = timeout_ns;
        op.deadline_ns_ = 0;
        op.pending_ = 0;
        op.taken_back_by_ = no_rank;
        if (op.result_) op.result_ = {};
        contexts_.start(tag);
        if ((!usable() || !refusals_.empty()) && refuses_to_start(op)) return;
        work.prepare(c);
        for (auto& channel : work.incoming()) channel.arrived = 0;
        active_.push_back(&op);
        op.done_ = false;
        port p{*this, op};
        guarded(op, [&] { work.engine().start(c, p); });
        settle(op);
        if (!early_.empty()) deliver_early(op);
        if (any_lost_ && !op.done_) fail_if_lost(op);
    }

    // This rank's call broke a rule and was not started. If others start it, they must not wait for this rank: they are
    // told (`members`: who they are; empty: all), and their first message poisons the group. If all refuse it, nothing
    // has happened.
    void refuse(const envelope& tag, std::span<const rank_t> members = {}) {
        const lock_guard held(mutex_);
        contexts_.start(tag);
        if (poison_) return;
        refusals_.mine(tag);
        envelope notice = tag;
        notice.epoch = epoch_;
        notice.segment = detail::refusal_segment;
        for (rank_t i = 0; i != (members.empty() ? size() : members.size()); ++i) {
            const rank_t r = members.empty() ? i : members[i];
            if (r != rank() && lost_[r] == 0) outbox_.send(transport_, r, notice, {});
        }
        if (early_.any([&](const event& e) { return same_call(e.envelope, tag); })) refused(tag.operation);
    }

    // After an exception that is not the op's, as when memory runs out: ends the operation, and the group with it.
    void abandon(session_operation& op) noexcept {
        const lock_guard held(mutex_);
        const std::uint64_t last =
            transport_.now_ns() + 1'000'000'000; // an event may have been lost with the exception
        guarded(op, [&] { fail_as(op, errc::no_resources); });
        while (!op.done_ && transport_.now_ns() < last) guarded(op, [&] { progress(); });
        if (!op.done_) remove(op);
    }

    // Gives an operation up: it ends with errc::cancelled, and the group with it.
    void cancel(session_operation& op) {
        const lock_guard held(mutex_);
        if (!op.done_) fail_as(op, errc::cancelled);
    }

    // Polls once and moves on what can move. Returns true if something happened.
    bool progress() {
        const lock_guard held(mutex_);
        const std::size_t found = transport_.poll(events_);
        handling_ = true;
        for (std::size_t i = 0; i != found; ++i) handle(events_[i]);
        handling_ = false;
        if (blocked_) retry();
        if (!outbox_.empty()) outbox_.flush(transport_);
        return found != 0;
    }

    // Has the operation ended? As op.done(), if another thread may be at work on this session.
    bool is_done(const session_operation& op) const {
        const lock_guard held(mutex_);
        return op.done_;
    }
    // How many operations are in flight.
    std::size_t outstanding() const {
        const lock_guard held(mutex_);
        return active_.size();
    }

    // Progress until the operation is done. Never longer than its timeout, unless the transport breaks its rules.
    const status& wait(session_operation& op) {
        wait_until([this, &op] { return is_done(op); }, op.deadline_ns_);
        return op.result_;
    }

    // Progress until `done()`; deadline_ns only tells the transport how long it may sleep.
    template <class F>
    void wait_until(F&& done, const std::uint64_t& deadline_ns) {
        std::uint32_t idle = 0;
        for (std::uint32_t turn = 1; !done(); ++turn) {
            if ((turn & 1023u) == 0) check_deadlines(); // however busy other operations keep this rank
            if (progress()) {
                idle = 0;
                continue;
            }
            ++idle;
            if ((idle & 63u) == 0) check_deadlines();
            if constexpr (WaitableTransport<T>) transport_.wait(idle, deadline_ns);
        }
    }

    // Ends operations whose time is up. wait() calls it; who only calls progress() calls it now and then.
    void check_deadlines() {
        const lock_guard held(mutex_);
        if (active_.empty()) return;
        const std::uint64_t now = transport_.now_ns();
        for (std::size_t i = active_.size(); i-- != 0;) {
            session_operation& op = *active_[i];
            if (op.result_) continue;
            if (op.deadline_ns_ == 0)
                op.deadline_ns_ = now + op.timeout_ns_;
            else if (now >= op.deadline_ns_)
                fail_as(op, errc::deadline);
            i = std::min(i, active_.size());
        }
    }

    // Its communicators (bough/group.hpp).
    bough::contexts& contexts() noexcept { return contexts_; }

    // --- for the agreement of survivors (bough/execute/agreement.hpp) ---

    void send_control(rank_t to, envelope tag, std::span<const std::byte> bytes) {
        tag.epoch = epoch_;
        tag.segment = detail::control_segment;
        outbox_.send(transport_, to, tag, bytes);
    }
    static constexpr std::uint16_t shrink_context = 0xffff;
    // Control messages that have come, in order per peer; the reader removes what it has used.
    std::vector<control_message>& inbox() noexcept { return inbox_; }
    // Treats a rank as lost. Nothing of it is heard any more, however alive it is: it may live in another group now.
    void suspect(rank_t r) noexcept {
        mark_lost(r);
        stale_ += early_.drop([r](const event& e) { return e.peer == r; });
    }
    // Begins a new epoch: poison ends, what belongs to the old one is dropped. Pre: no operation is in flight.
    void begin_epoch() {
        BOUGH_EXPECTS(active_.empty(), "session: an epoch ends with operations in flight");
        ++epoch_;
        poison_ = {};
        refusals_.clear();
        contexts_.clear();
        std::erase_if(inbox_, [this](const control_message& m) { return m.tag.epoch != epoch_; });
        stale_ += early_.drop([this](const event& e) { return bough::contexts::before(e.envelope.epoch, epoch_); });
        // What came for this epoch before it began here, aborts and control messages included.
        std::vector<event> due;
        for (event e; early_.next(e, [this](const event& x) { return x.envelope.epoch == epoch_; });) due.push_back(e);
        for (const event& e : due) arrived(e);
    }

private:
    using lock_guard = detail::locked<typename detail::session_mutex_of<T>::type>;

    // How an engine reaches the transport.
    friend struct detail::session_port<session>;
    using port = detail::session_port<session>;

    // Can operations start?
    bool usable() const {
        if constexpr (requires { transport_.forked(); })
            if (transport_.forked()) return false;
        return !poison_;
    }
    // Why this one cannot, if it cannot.
    BOUGH_COLD bool refuses_to_start(session_operation& op) {
        const std::uint32_t number = op.tag_.operation;
        if constexpr (requires { transport_.forked(); })
            if (transport_.forked()) return op.result_ = {.code = errc::forked_child, .operation = number}, true;
        if (poison_) return op.result_ = poisoned(poison_), true;
        const rank_t peer = refusals_.refused_by(op.tag_);
        if (peer == no_rank) return false;
        set_poison(op.result_ = refused_call(peer, number));
        return true;
    }

    // Runs what may call the user's op.
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

    void handle(const event& e) {
        switch (e.what) {
        case event::kind::arrived: lost_[e.peer] == 0 ? arrived(e) : (++stale_, early_.release(e.id)); break;
        case event::kind::complete: completed(e); break;
        case event::kind::lost: lost(e.peer); break;
        }
    }

    void arrived(const event& e) {
        const envelope& tag = e.envelope;
        if (tag.epoch == epoch_ && tag.segment < detail::refusal_segment) [[likely]]
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
            if (bough::contexts::before(epoch_, tag.epoch)) return early_.keep(e); // its sender has shrunk already
            ++stale_;
            early_.release(e.id);
        } else if (tag.segment == detail::abort_segment || tag.segment == detail::control_segment) {
            if (control_message m; notices_.read(transport_, early_, e, m)) notice(std::move(m));
        } else if (tag.segment == detail::refusal_segment) {
            early_.release(e.id);
            if (!poison_ && !refusals_.is_mine(tag)) {
                if (contexts_.was_started(tag))
                    break_group(refused_call(e.peer, tag.operation));
                else
                    refusals_.theirs(e.peer, tag);
            }
        } else if (poison_) {
            early_.release(e.id);
        } else if (refusals_.is_mine(tag)) {
            early_.release(e.id);
            refused(tag.operation);
        } else if (contexts_.was_started(tag)) { // and was complete without this message
            early_.release(e.id);
            break_group({errc::call_mismatch, {}, mismatch::operation, e.peer, tag.operation});
        } else {
            early_.keep(e);
        }
    }

    // A message of a session, not of an operation.
    void notice(control_message&& m) {
        if (m.tag.epoch != epoch_) return;
        if (m.tag.segment != detail::abort_segment) return inbox_.push_back(std::move(m));
        break_group(
            abort_notice::read(m.bytes).as_status(m.peer, m.tag.operation)); // a peer gave up: so does this rank
    }

    session_operation* find(const envelope& tag) noexcept {
        for (session_operation* op : active_)
            if (same_call(op->tag_, tag)) return op;
        return nullptr;
    }
    // A peer has started a call that this rank refused.
    void refused(std::uint32_t number) {
        break_group({.code = errc::invalid_argument, .peer = rank(), .operation = number});
    }

    void deliver(session_operation& op, const event& e) {
        if (op.result_ || op.taken_back_by_ != no_rank) return early_.release(e.id);
        if (e.envelope.signature != op.tag_.signature || e.envelope.plan != op.tag_.plan) {
            early_.release(e.id);
            return fail(op, call_mismatch(op.tag_, e.envelope, e.peer));
        }
        auto channel = op.work_->incoming().begin();
        const auto end = op.work_->incoming().end();
        while (channel != end && channel->peer != e.peer) ++channel;
        if (channel == end || e.envelope.segment != channel->arrived || channel->arrived == channel->count) {
            early_.release(e.id);
            return fail(op,
                        {errc::call_mismatch, {}, mismatch::segment, e.peer, op.tag_.operation, 0, e.envelope.segment});
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
            else if (early_.release(e.id); !op.result_) // complete without it: its sender made another call
                break_group(call_mismatch(op.tag_, e.envelope, e.peer));
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
            if (e.code == errc::peer_aborted && e.peer < size()) return taken_back(*op, e.peer); // of a take
            if (e.code != errc::ok) return fail(*op, {.code = e.code, .peer = e.peer, .operation = op->tag_.operation});
            port p{*this, *op};
            guarded(*op, [&] { op->work_->engine().completed(static_cast<std::uint32_t>(e.id), p); });
            return settle(*op);
        }
    }

    void mark_lost(rank_t r) noexcept {
        lost_[r] = 1;
        any_lost_ = true;
        outbox_.forget(r);
    }
    void lost(rank_t peer) {
        mark_lost(peer);
        for (std::size_t i = active_.size(); i-- != 0;) {
            fail_if_lost(*active_[i]);
            i = std::min(i, active_.size());
        }
    }
    // An operation that still needs a message from a lost rank cannot end well.
    void fail_if_lost(session_operation& op) {
        if (op.result_) return;
        if (const rank_t r = op.taken_back_by_; r != no_rank && lost_[r] != 0)
            return fail(op, {.code = errc::peer_dead, .peer = r, .operation = op.tag_.operation});
        for (const auto& channel : op.work_->incoming())
            if (lost_[channel.peer] != 0 && channel.arrived != channel.count)
                return fail(op, {.code = errc::peer_dead, .peer = channel.peer, .operation = op.tag_.operation});
    }

    // The first failure poisons the group and is told to everybody whose link is alive.
    void set_poison(const status& why) {
        if (poison_) return;
        poison_ = why;
        envelope tag;
        tag.epoch = epoch_;
        tag.operation = why.operation;
        tag.segment = detail::abort_segment;
        const abort_notice said = abort_notice::of(why);
        for (rank_t r = 0; r != size(); ++r)
            if (r != rank() && lost_[r] == 0) outbox_.send(transport_, r, tag, std::as_bytes(std::span(&said, 1)));
        early_.drop([this](const event& e) { return e.envelope.epoch == epoch_; });
    }
    void break_group(const status& why) {
        set_poison(why);
        for (std::size_t i = 0; i < active_.size();)
            active_[i]->result_ ? void(++i) : (fail(*active_[i], why), void(i = 0));
    }

    BOUGH_COLD void fail_as(session_operation& op, errc code) {
        fail(op, {.code = code, .operation = op.tag_.operation});
    }
    BOUGH_COLD void fail(session_operation& op, const status& why) {
        if (op.result_) return;
        op.result_ = why;
        port p{*this, op};
        op.work_->engine().release_held(p);
        const bound_schedule& bound = op.work_->bound();
        for (std::uint32_t i = 0; i != bound.steps.size() && op.pending_ != 0; ++i)
            if (bound.steps[i].verb == verb::send || bound.steps[i].verb == verb::receive)
                (void)transport_.cancel(p.id(i));
        finish_failed(op);
        set_poison(why);
    }
    // A message that the operation needs was taken back: its sender gave up, or is gone. Its notice, or its loss, says why.
    void taken_back(session_operation& op, rank_t peer) {
        op.taken_back_by_ = peer;
        op.work_->engine().release_held(port{*this, op}); // its reason may be waiting for a slot
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
        if (engine.done()) remove(op);
    }
    BOUGH_COLD void stopped(session_operation& op) { // its engine has an error
        const status why = detail::why_stopped(*op.work_, op.tag_.operation);
        why.code == errc::peer_aborted ? taken_back(op, why.peer) : fail(op, why);
    }
    void remove(session_operation& op) {
        op.done_ = true;
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
            if (i < active_.size() && active_[i] == &op) ++i; // else it has ended, and another is here now
        }
    }

    outbox outbox_; // these two outlive the transport, which may still read or write their bytes
    notices notices_;
    T transport_;
    early_messages<T> early_;
    ahead ahead_;
    std::uint32_t epoch_ = 1;
    std::uint32_t tickets_ = 0; // operations started: operations of two communicators may have the same number
    std::array<event, 8> events_;
    std::vector<session_operation*> active_;
    refusals refusals_;
    std::vector<unsigned char> lost_;
    std::vector<control_message> inbox_;
    bough::contexts contexts_;
    std::uint64_t stale_ = 0;
    bool blocked_ = false; // an engine has a refused send
    bool any_lost_ = false;
    bool handling_ = false; // events that have been polled
    status poison_{};
    [[no_unique_address]] mutable typename detail::session_mutex_of<T>::type mutex_;
};

} // namespace bough

#endif
