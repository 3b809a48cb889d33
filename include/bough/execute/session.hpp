// SPDX-License-Identifier: BSL-1.0
// The session: everything between a transport and the engines of the operations in flight. Written once, for all
// transports: matching by operation, early messages, call signatures, deadlines, the death of peers, and poison.
//
// A message belongs to the operation that its envelope names, never to "the oldest open one from this sender". One that
// comes before its operation has started stays where it landed (the transport's slots bound how many there can be). One
// whose signature differs from mine is a call_mismatch. The first failure poisons the group: it is flooded to every rank
// whose link is alive, and every later operation fails at once with its cause.
#ifndef BOUGH_EXECUTE_SESSION_HPP
#define BOUGH_EXECUTE_SESSION_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/execute/prepared.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bough {

// One operation of a communicator, from start to end. The caller owns it and keeps it alive and in place until done().
class operation {
public:
    bool done() const noexcept { return done_; }
    const status& result() const noexcept { return result_; }

private:
    template <Transport T>
    friend class session;
    prepared* work_ = nullptr;
    envelope tag_{}; // of its messages; the segment is filled in
    std::uint64_t timeout_ns_ = 0;
    std::uint64_t deadline_ns_ = 0; // of the transport's clock; 0: not yet computed
    std::uint32_t pending_ = 0;     // posts that the transport still holds
    bool done_ = true;
    status result_{};
};

template <Transport T>
class session {
public:
    explicit session(T transport) : transport_(std::move(transport)), lost_(transport_.size(), 0) {}
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    rank_t rank() const noexcept { return transport_.rank(); }
    rank_t size() const noexcept { return transport_.size(); }
    T& transport() noexcept { return transport_; }
    // What broke the group, if anything did: its code is the first cause.
    const status& poison() const noexcept { return poison_; }

    // Starts an operation. Its end is seen by done() after enough calls of progress().
    void start(operation& op, prepared& work, const call& c, const envelope& tag, std::uint64_t timeout_ns) {
        op.work_ = &work;
        op.tag_ = tag;
        op.tag_.epoch = epoch_;
        op.timeout_ns_ = timeout_ns;
        op.deadline_ns_ = 0;
        op.pending_ = 0;
        op.done_ = false;
        op.result_ = {};
        if (poison_) {
            op.result_ = poison_;
            op.result_.code = errc::group_poisoned;
            op.result_.cause = poison_.code;
            op.done_ = true;
            return;
        }
        work.prepare(c);
        std::fill(work.arrived().begin(), work.arrived().end(), 0u);
        active_.push_back(&op);
        port p{*this, op};
        guarded(op, [&] { work.engine().start(c, p); });
        settle(op);
        if (!early_.empty() && !op.done_) deliver_early();
    }

    // This rank's call broke a rule and was not started. If the others do start it, they must not wait for this rank: their
    // first message poisons the group.
    void refuse(const envelope& tag) {
        if (refused_.size() == 64) refused_.erase(refused_.begin());
        refused_.push_back({tag.operation, tag.context});
        for (const event& e : early_)
            if (e.envelope.operation == tag.operation && e.envelope.context == tag.context) return refused(e);
    }

    // Polls once and moves on what can move. Returns true if something happened.
    bool progress() {
        const std::size_t found = transport_.poll(events_);
        for (std::size_t i = 0; i != found; ++i) handle(events_[i]);
        if (found == 0 && blocked_ == 0) return false;
        retry();
        return found != 0;
    }

    // Progress until the operation is done. Never longer than its timeout, unless the transport breaks its rules.
    const status& wait(operation& op) {
        std::uint32_t idle = 0;
        while (!op.done_) {
            if (progress()) {
                idle = 0;
                continue;
            }
            ++idle;
            if ((idle & 63u) == 0) check_deadlines();
            if constexpr (WaitableTransport<T>) transport_.wait(idle, op.deadline_ns_);
        }
        return op.result_;
    }

private:
    // How an engine reaches the transport.
    struct port {
        session& self;
        operation& op;

        posted send(std::uint32_t step, rank_t to, std::uint32_t segment, const std::byte* data, std::uint64_t bytes) {
            envelope tag = op.tag_;
            tag.segment = segment;
            const posted result = self.transport_.post_send(to, tag, {data, static_cast<std::size_t>(bytes)}, id(step));
            if (result == posted::pending) ++op.pending_;
            if (result == posted::would_block) self.blocked_ = 1;
            return result;
        }
        posted take(const held_message& held, std::byte* into, std::uint64_t bytes, std::uint32_t step) {
            const posted result = self.transport_.take(held.handle, {into, static_cast<std::size_t>(bytes)}, id(step));
            if (result == posted::pending) ++op.pending_;
            return result;
        }
        bool claim(const held_message& held) {
            if constexpr (InPlaceTransport<T>)
                return self.transport_.claim(held.handle);
            else
                return true;
        }
        void release(const held_message& held) { self.transport_.release(held.handle); }

        std::uint64_t id(std::uint32_t step) const noexcept { return std::uint64_t{op.tag_.operation} << 32 | step; }
    };

    static constexpr std::uint32_t abort_segment = 0xffff'ffffu;

    // Runs what may call the user's op.
    template <class F>
    void guarded(operation& op, F&& f) {
#if BOUGH_HAS_EXCEPTIONS
        try {
            f();
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
        case event::kind::arrived: arrived(e); break;
        case event::kind::complete: completed(e); break;
        case event::kind::lost: lost(e.peer); break;
        }
    }

    void arrived(const event& e) {
        if (e.envelope.epoch != epoch_) {
            ++stale_;
            transport_.release(e.id);
        } else if (e.envelope.segment == abort_segment) {
            aborted(e);
        } else if (operation* op = find(e.envelope)) {
            deliver(*op, e);
        } else if (poison_) {
            transport_.release(e.id);
        } else if (was_refused(e.envelope)) {
            transport_.release(e.id);
            refused(e);
        } else {
            early_.push_back(e);
        }
    }

    bool was_refused(const envelope& tag) const noexcept {
        for (const auto& [number, context] : refused_)
            if (number == tag.operation && context == tag.context) return true;
        return false;
    }
    // A peer has started a call that this rank refused.
    void refused(const event& e) {
        const status s{.code = errc::invalid_argument, .peer = rank(), .operation = e.envelope.operation};
        poison(s);
        while (operation* op = first_running()) fail(*op, s);
    }

    operation* find(const envelope& tag) noexcept {
        for (operation* op : active_)
            if (op->tag_.operation == tag.operation && op->tag_.context == tag.context) return op;
        return nullptr;
    }

    void deliver(operation& op, const event& e) {
        if (e.envelope.signature != op.tag_.signature || e.envelope.plan != op.tag_.plan) {
            transport_.release(e.id);
            return fail(op, differing(op, e));
        }
        const bound_schedule& bound = op.work_->bound();
        std::size_t channel = 0;
        while (channel != bound.channels.size() && bound.channels[channel].peer != e.peer) ++channel;
        if (channel == bound.channels.size() || e.envelope.segment != op.work_->arrived()[channel] ||
            e.envelope.segment >= bound.channels[channel].count) {
            transport_.release(e.id);
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

    // What differs between my call and the peer's.
    static status differing(const operation& op, const event& e) noexcept {
        status s{.code = errc::call_mismatch, .peer = e.peer, .operation = op.tag_.operation};
        const call_signature& mine = op.tag_.signature;
        const call_signature& theirs = e.envelope.signature;
        const auto differ = [&s](mismatch what, std::uint64_t a, std::uint64_t b) {
            if (s.mismatch != mismatch::none || a == b) return;
            s.mismatch = what;
            s.mine = a;
            s.theirs = b;
        };
        differ(mismatch::collective, mine.kind, theirs.kind);
        differ(mismatch::op, mine.op, theirs.op);
        differ(mismatch::type, mine.type, theirs.type);
        differ(mismatch::count, mine.count, theirs.count);
        differ(mismatch::root, mine.root, theirs.root);
        differ(mismatch::plan, op.tag_.plan, e.envelope.plan);
        return s;
    }

    void completed(const event& e) {
        for (operation* op : active_) {
            if (op->tag_.operation != static_cast<std::uint32_t>(e.id >> 32)) continue;
            --op->pending_;
            if (op->result_) return finish_failed(*op);
            if (e.code != errc::ok) return fail(*op, {.code = e.code, .peer = e.peer, .operation = op->tag_.operation});
            port p{*this, *op};
            guarded(*op, [&] { op->work_->engine().completed(static_cast<std::uint32_t>(e.id), p); });
            return settle(*op);
        }
    }

    void lost(rank_t peer) {
        lost_[peer] = 1;
        for (std::size_t i = active_.size(); i-- != 0;) {
            operation& op = *active_[i];
            const bound_schedule& bound = op.work_->bound();
            for (std::size_t k = 0; k != bound.channels.size(); ++k)
                if (bound.channels[k].peer == peer && op.work_->arrived()[k] != bound.channels[k].count && !op.result_)
                    fail(op, {.code = errc::peer_dead, .peer = peer, .operation = op.tag_.operation});
            if (i > active_.size()) i = active_.size();
        }
    }

    // A peer gave up: the cause travels in the signature's fields.
    void aborted(const event& e) {
        const call_signature& said = e.envelope.signature;
        status s{.code = errc::peer_aborted,
                 .cause = static_cast<errc>(said.kind),
                 .mismatch = static_cast<mismatch>(said.type),
                 .peer = e.peer,
                 .operation = e.envelope.operation};
        s.theirs = said.root; // whose fault it was
        transport_.release(e.id);
        poison(s);
        while (operation* op = first_running()) fail(*op, s);
    }
    operation* first_running() noexcept {
        for (operation* op : active_)
            if (!op->result_) return op;
        return nullptr;
    }

    // The first failure poisons the group and is told to everybody whose link is alive.
    void poison(const status& why) {
        if (poison_) return;
        poison_ = why;
        envelope tag;
        tag.epoch = epoch_;
        tag.operation = why.operation;
        tag.segment = abort_segment;
        tag.signature.kind = static_cast<std::uint8_t>(why.code == errc::peer_aborted ? why.cause : why.code);
        tag.signature.type = static_cast<std::uint8_t>(why.mismatch);
        tag.signature.root = why.code == errc::peer_aborted ? static_cast<rank_t>(why.theirs) : why.peer;
        for (rank_t r = 0; r != size(); ++r)
            if (r != rank() && lost_[r] == 0) (void)transport_.post_send(r, tag, {}, 0);
        for (const event& e : early_) transport_.release(e.id);
        early_.clear();
    }

    void fail(operation& op, const status& why) {
        if (op.result_) return;
        op.result_ = why;
        poison(why);
        port p{*this, op};
        op.work_->engine().release_held(p);
        const bound_schedule& bound = op.work_->bound();
        if (op.pending_ != 0)
            for (std::uint32_t i = 0; i != bound.steps.size(); ++i)
                if (bound.steps[i].verb == verb::send || bound.steps[i].verb == verb::receive)
                    (void)transport_.cancel(p.id(i));
        finish_failed(op);
    }
    // A failed operation ends when the transport has given all its bytes back.
    void finish_failed(operation& op) {
        if (op.pending_ != 0) return;
        remove(op);
    }

    void settle(operation& op) {
        bough::engine& engine = op.work_->engine();
        if (engine.error() != errc::ok) {
            const bound_step& s = op.work_->bound().steps[engine.error_step()];
            fail(op, {.code = engine.error(), .peer = s.peer, .operation = op.tag_.operation});
        } else if (engine.done() && !op.result_) {
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
        if (blocked_ == 0) return;
        blocked_ = 0;
        for (std::size_t i = 0; i < active_.size(); ++i) {
            operation& op = *active_[i];
            if (op.result_ || !op.work_->engine().has_blocked()) continue;
            port p{*this, op};
            guarded(op, [&] { op.work_->engine().retry(p); });
            settle(op);
        }
    }

    void deliver_early() {
        for (std::size_t i = 0; i < early_.size();) {
            operation* op = find(early_[i].envelope);
            if (op == nullptr) {
                ++i;
                continue;
            }
            const event e = early_[i];
            early_.erase(early_.begin() + static_cast<std::ptrdiff_t>(i));
            deliver(*op, e);
        }
    }

    void check_deadlines() {
        const std::uint64_t now = transport_.now_ns();
        for (std::size_t i = active_.size(); i-- != 0;) {
            operation& op = *active_[i];
            if (op.result_) continue;
            if (op.deadline_ns_ == 0)
                op.deadline_ns_ = now + op.timeout_ns_;
            else if (now >= op.deadline_ns_)
                fail(op, {.code = errc::deadline, .operation = op.tag_.operation});
            if (i > active_.size()) i = active_.size();
        }
    }

    T transport_;
    std::uint32_t epoch_ = 1;
    std::array<event, 8> events_;
    std::vector<operation*> active_;
    std::vector<event> early_;
    std::vector<unsigned char> lost_;
    std::vector<std::pair<std::uint32_t, std::uint16_t>> refused_; // operation, context: the latest
    std::uint64_t stale_ = 0;
    std::uint32_t blocked_ = 0; // an engine has a refused send
    status poison_{};
};

} // namespace bough

#endif
