// SPDX-License-Identifier: BSL-1.0
// The session: everything between a transport and the engines of the operations in flight. Written once, for all
// transports: matching by operation, early messages, call signatures, deadlines, the death of peers, and poison.
//
// A message belongs to the operation that its envelope names, never to "the oldest open one from this sender". One that
// comes before its operation has started is kept (bough/execute/early.hpp). One whose signature differs from mine, or that
// my plan does not expect, is a call_mismatch. The first failure poisons the group: its cause is told to every rank whose
// link is alive, and every later operation fails at once. The group of a session is that of its transport;
// communicators are contexts within it and share its fate.
#ifndef BOUGH_EXECUTE_SESSION_HPP
#define BOUGH_EXECUTE_SESSION_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/execute/contexts.hpp>
#include <bough/execute/early.hpp>
#include <bough/execute/mismatch.hpp>
#include <bough/execute/notices.hpp>
#include <bough/execute/operation.hpp>
#include <bough/execute/outbox.hpp>
#include <bough/execute/prepared.hpp>
#include <bough/execute/refusals.hpp>

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
        : transport_(std::move(transport)), early_(transport_, limits), lost_(transport_.size(), 0) {}
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
    void start(operation& op, prepared& work, const call& c, const envelope& tag, std::uint64_t timeout_ns) {
        op.work_ = &work;
        op.tag_ = tag;
        op.tag_.epoch = epoch_;
        op.ticket_ = ++tickets_ & 0x7fff'ffffu;
        op.timeout_ns_ = timeout_ns;
        op.deadline_ns_ = 0;
        op.pending_ = 0;
        op.taken_back_by_ = no_rank;
        op.result_ = {};
        contexts_.start(tag);
        if (const status bad = unusable(tag.operation)) return void(op.result_ = bad);
        if (const rank_t peer = refusals_.refused_by(tag); peer != no_rank) {
            op.result_ = refused_call(peer, tag.operation);
            return set_poison(op.result_);
        }
        work.prepare(c);
        std::fill(work.arrived().begin(), work.arrived().end(), 0u);
        active_.push_back(&op);
        op.done_ = false;
        port p{*this, op};
        guarded(op, [&] { work.engine().start(c, p); });
        settle(op);
        if (!early_.empty() && !op.done_) deliver_early(op);
        if (any_lost_ && !op.done_) fail_if_lost(op);
    }

    // This rank's call broke a rule and was not started. If others start it, they must not wait for this rank: they are
    // told (`members`: who they are; empty: all), and their first message poisons the group. If all refuse it, nothing
    // has happened.
    void refuse(const envelope& tag, std::span<const rank_t> members = {}) {
        contexts_.start(tag);
        if (poison_) return;
        refusals_.mine(tag);
        envelope notice = tag;
        notice.epoch = epoch_;
        notice.segment = refusal_segment;
        for (rank_t i = 0; i != (members.empty() ? size() : members.size()); ++i) {
            const rank_t r = members.empty() ? i : members[i];
            if (r != rank() && lost_[r] == 0) outbox_.send(transport_, r, notice, {});
        }
        if (early_.any([&](const event& e) { return belongs(e.envelope, tag); })) refused(tag.operation);
    }

    // After an exception that is not the op's, as when memory runs out: ends the operation, and the group with it.
    void abandon(operation& op) noexcept {
        const std::uint64_t last =
            transport_.now_ns() + 1'000'000'000; // an event may have been lost with the exception
        guarded(op, [&] { fail(op, {.code = errc::no_resources, .operation = op.tag_.operation}); });
        while (!op.done_ && transport_.now_ns() < last) guarded(op, [&] { progress(); });
        if (!op.done_) remove(op);
    }

    // Gives an operation up: it ends with errc::cancelled, and the group with it.
    void cancel(operation& op) {
        if (!op.done_) fail(op, {.code = errc::cancelled, .operation = op.tag_.operation});
    }

    // Polls once and moves on what can move. Returns true if something happened.
    bool progress() {
        const std::size_t found = transport_.poll(events_);
        handling_ = true;
        for (std::size_t i = 0; i != found; ++i) handle(events_[i]);
        handling_ = false;
        if (blocked_) retry();
        if (!outbox_.empty()) outbox_.flush(transport_);
        return found != 0;
    }

    // Progress until the operation is done. Never longer than its timeout, unless the transport breaks its rules.
    const status& wait(operation& op) {
        wait_until([&op] { return op.done_; }, op.deadline_ns_);
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
        if (active_.empty()) return;
        const std::uint64_t now = transport_.now_ns();
        for (std::size_t i = active_.size(); i-- != 0;) {
            operation& op = *active_[i];
            if (op.result_) continue;
            if (op.deadline_ns_ == 0)
                op.deadline_ns_ = now + op.timeout_ns_;
            else if (now >= op.deadline_ns_)
                fail(op, {.code = errc::deadline, .operation = op.tag_.operation});
            i = std::min(i, active_.size());
        }
    }

    // Its communicators (bough/group.hpp).
    bough::contexts& contexts() noexcept { return contexts_; }

    // --- for the agreement of survivors (bough/execute/agreement.hpp) ---

    void send_control(rank_t to, envelope tag, std::span<const std::byte> bytes) {
        tag.epoch = epoch_;
        tag.segment = control_segment;
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
    // How an engine reaches the transport.
    struct port {
        session& self;
        operation& op;

        posted send(std::uint32_t step, rank_t to, std::uint32_t segment, const std::byte* data, std::uint64_t bytes) {
            envelope tag = op.tag_;
            tag.segment = segment;
            posted result = self.transport_.post_send(to, tag, {data, static_cast<std::size_t>(bytes)}, id(step));
            // Lost, but its last words may be among the events that are yet to be handled: retry() will tell.
            if (result == posted::failed && self.handling_) result = posted::would_block;
            if (result == posted::pending) ++op.pending_;
            if (result == posted::would_block) self.blocked_ = true;
            return result;
        }
        posted take(const held_message& held, std::byte* into, std::uint64_t bytes, std::uint32_t step) {
            const posted result = self.early_.take(held.handle, {into, static_cast<std::size_t>(bytes)}, id(step));
            if (result == posted::pending) ++op.pending_;
            return result;
        }
        bool claim(const held_message& held) { return self.early_.claim(held.handle); }
        void release(const held_message& held) { self.early_.release(held.handle); }

        std::uint64_t id(std::uint32_t step) const noexcept { return std::uint64_t{op.ticket_} << 32 | step; }
    };

    // Not messages of operations.
    static constexpr std::uint32_t abort_segment = 0xffff'ffffu;
    static constexpr std::uint32_t control_segment = 0xffff'fffeu;
    static constexpr std::uint32_t refusal_segment = 0xffff'fffdu;

    static bool belongs(const envelope& a, const envelope& b) noexcept {
        return a.operation == b.operation && a.context == b.context;
    }

    // Why no operation can start, if none can.
    status unusable(std::uint32_t number) const {
        if constexpr (requires { transport_.forked(); })
            if (transport_.forked()) return {.code = errc::forked_child, .operation = number};
        if (!poison_) return {};
        return poisoned(poison_);
    }

    // Runs what may call the user's op.
    template <class F>
    void guarded(operation& op, F&& f) {
#if BOUGH_HAS_EXCEPTIONS
        try {
            f();
        } catch (const std::bad_alloc&) {
            fail(op, {.code = errc::no_resources, .operation = op.tag_.operation});
        } catch (...) {
            fail(op, {.code = errc::op_threw, .operation = op.tag_.operation});
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
        if (tag.epoch != epoch_) {
            if (bough::contexts::before(epoch_, tag.epoch)) return early_.keep(e); // its sender has shrunk already
            ++stale_;
            early_.release(e.id);
        } else if (tag.segment == abort_segment || tag.segment == control_segment) {
            if (control_message m; notices_.read(transport_, early_, e, m)) notice(std::move(m));
        } else if (tag.segment == refusal_segment) {
            early_.release(e.id);
            if (!poison_ && !refusals_.is_mine(tag)) {
                if (contexts_.was_started(tag))
                    break_group(refused_call(e.peer, tag.operation));
                else
                    refusals_.theirs(e.peer, tag);
            }
        } else if (operation* op = find(tag)) {
            deliver(*op, e);
        } else if (poison_) {
            early_.release(e.id);
        } else if (refusals_.is_mine(tag)) {
            early_.release(e.id);
            refused(tag.operation);
        } else if (contexts_.was_started(tag)) { // and was complete without this message
            early_.release(e.id);
            break_group({.code = errc::call_mismatch,
                         .mismatch = mismatch::operation,
                         .peer = e.peer,
                         .operation = tag.operation});
        } else {
            early_.keep(e);
        }
    }

    // A message of a session, not of an operation.
    void notice(control_message&& m) {
        if (m.tag.epoch != epoch_) return;
        if (m.tag.segment != abort_segment) return inbox_.push_back(std::move(m));
        break_group(
            abort_notice::read(m.bytes).as_status(m.peer, m.tag.operation)); // a peer gave up: so does this rank
    }

    operation* find(const envelope& tag) noexcept {
        for (operation* op : active_)
            if (belongs(op->tag_, tag)) return op;
        return nullptr;
    }
    // A peer has started a call that this rank refused.
    void refused(std::uint32_t number) {
        break_group({.code = errc::invalid_argument, .peer = rank(), .operation = number});
    }

    void deliver(operation& op, const event& e) {
        if (op.result_ || op.taken_back_by_ != no_rank) return early_.release(e.id);
        if (e.envelope.signature != op.tag_.signature || e.envelope.plan != op.tag_.plan) {
            early_.release(e.id);
            return fail(op, call_mismatch(op.tag_, e.envelope, e.peer));
        }
        const bound_schedule& bound = op.work_->bound();
        std::size_t channel = 0;
        while (channel != bound.channels.size() && bound.channels[channel].peer != e.peer) ++channel;
        if (channel == bound.channels.size() || e.envelope.segment != op.work_->arrived()[channel] ||
            e.envelope.segment >= bound.channels[channel].count) {
            early_.release(e.id);
            return fail(op, {.code = errc::call_mismatch,
                             .mismatch = mismatch::segment,
                             .peer = e.peer,
                             .operation = op.tag_.operation,
                             .theirs = e.envelope.segment});
        }
        ++op.work_->arrived()[channel];
        const std::uint32_t step = bound.receives[bound.channels[channel].first + e.envelope.segment];
        port p{*this, op};
        guarded(op, [&] { op.work_->engine().arrived(step, {e.data, e.bytes, e.id, e.peer, true}, p); });
        settle(op);
    }
    void deliver_early(operation& op) {
        for (event e; !op.done_ && early_.next(e, [&](const event& x) {
                 return x.envelope.epoch == epoch_ && belongs(x.envelope, op.tag_);
             });)
            deliver(op, e);
    }

    void completed(const event& e) {
        const auto ticket = static_cast<std::uint32_t>(e.id >> 32);
        if (ticket == outbox::id_mark) return outbox_.completed(e.id);
        if (ticket == notices::id_mark) {
            if (control_message m; notices_.taken(e, m)) notice(std::move(m));
            return;
        }
        for (operation* op : active_) {
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
    void fail_if_lost(operation& op) {
        if (op.result_) return;
        if (const rank_t r = op.taken_back_by_; r != no_rank && lost_[r] != 0)
            return fail(op, {.code = errc::peer_dead, .peer = r, .operation = op.tag_.operation});
        const bound_schedule& bound = op.work_->bound();
        for (std::size_t k = 0; k != bound.channels.size(); ++k)
            if (lost_[bound.channels[k].peer] != 0 && op.work_->arrived()[k] != bound.channels[k].count)
                return fail(op,
                            {.code = errc::peer_dead, .peer = bound.channels[k].peer, .operation = op.tag_.operation});
    }

    // The first failure poisons the group and is told to everybody whose link is alive.
    void set_poison(const status& why) {
        if (poison_) return;
        poison_ = why;
        envelope tag;
        tag.epoch = epoch_;
        tag.operation = why.operation;
        tag.segment = abort_segment;
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

    void fail(operation& op, const status& why) {
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
    void taken_back(operation& op, rank_t peer) {
        op.taken_back_by_ = peer;
        op.work_->engine().release_held(port{*this, op}); // its reason may be waiting for a slot
        if (any_lost_) fail_if_lost(op);
    }
    // A failed operation ends when the transport has given all its bytes back.
    void finish_failed(operation& op) {
        if (op.pending_ == 0) remove(op);
    }
    void settle(operation& op) {
        bough::engine& engine = op.work_->engine();
        if (op.result_) return;
        if (engine.error() != errc::ok) {
            const std::vector<bound_step>& steps = op.work_->bound().steps;
            const bound_step& s = steps[engine.error_step()];
            const rank_t peer = s.partner != not_a_step && s.verb == verb::combine ? steps[s.partner].peer : s.peer;
            const mismatch what = engine.error() == errc::call_mismatch ? mismatch::count : mismatch::none;
            if (engine.error() != errc::peer_aborted)
                fail(op, {engine.error(), {}, what, peer, op.tag_.operation, engine.expected(), engine.came()});
            else
                taken_back(op, peer);
        } else if (engine.done()) {
            remove(op);
        }
    }
    void remove(operation& op) {
        op.done_ = true;
        if (active_.back() == &op)
            active_.pop_back();
        else
            std::erase(active_, &op);
    }

    void retry() {
        blocked_ = false;
        for (std::size_t i = 0; i < active_.size();) {
            operation& op = *active_[i];
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
    std::uint32_t epoch_ = 1;
    std::uint32_t tickets_ = 0; // operations started: operations of two communicators may have the same number
    std::array<event, 8> events_;
    std::vector<operation*> active_;
    refusals refusals_;
    std::vector<unsigned char> lost_;
    std::vector<control_message> inbox_;
    bough::contexts contexts_;
    std::uint64_t stale_ = 0;
    bool blocked_ = false; // an engine has a refused send
    bool any_lost_ = false;
    bool handling_ = false; // events that have been polled
    status poison_{};
};

} // namespace bough

#endif
