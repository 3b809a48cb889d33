// SPDX-License-Identifier: BSL-1.0
// in_flight: the operations of a session that have started and have not ended, in the order of their
// calls. That is the order of their starts, but for calls that have waited for their turn: these take the
// place that they would have had (call_order.hpp), as on a rank where they need not wait. So if all ranks
// make their calls in one order, all have the same oldest one. Until such a call starts, no operation
// behind its place counts as the oldest.
//
// It finds operations, by their call or by the id of a post, and says what each of them may send. While
// there is one communicator, the oldest may always send. Others send what their peers can keep, and more
// to those that have started them (ahead.hpp). With several communicators that holds for all: a peer may
// have started its operations in another order. If one has much to send, it asks the peer.
//
// If the transport has no room for a message of one with a higher priority, the others send that rank
// nothing until it has gone (with 64 and more in flight, which take turns, only in the same poll).
//
// Messages of the session itself go first: while control holds one for a rank, no data goes to that rank.
// Otherwise a rank could get data of a call before the name of that call.
//
// It needs of an operation what session_operation has, of the transport the concept, and control.
#ifndef BOUGH_SESSION_IN_FLIGHT_HPP
#define BOUGH_SESSION_IN_FLIGHT_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/engine/straight_run.hpp>
#include <bough/session/ahead.hpp>
#include <bough/session/contexts.hpp>
#include <bough/session/control.hpp>
#include <bough/session/departures.hpp>
#include <bough/session/event_round.hpp>
#include <bough/session/mismatch.hpp>
#include <bough/session/operation.hpp>
#include <bough/session/operation_table.hpp>
#include <bough/session/unexpected.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
class in_flight {
public:
    // The transport may be constructed later, but before the first post.
    in_flight(T& transport, control<T>& messages, rank_t ranks, const early_limits& limits)
        : transport_(transport), control_(messages), ahead_(ranks, limits, InPlaceTransport<T>) {
        all_.reserve(16); // how many are in flight at a time depends on how soon messages come
    }
    in_flight(const in_flight&) = delete;
    in_flight& operator=(const in_flight&) = delete;

    bool empty() const noexcept { return all_.empty(); } // all_ never holds ended ones alone
    std::size_t size() const noexcept { return all_.size() - ended_; }
    session_operation& operator[](std::size_t i) const noexcept { return *all_[ended_ + i]; }
    bool is_oldest(const session_operation& op) const noexcept { return all_[ended_] == &op; }
    // The only one, if it is short, a caller waits for it, and it waits for nothing but messages;
    // otherwise null.
    session_operation* lone_short() const noexcept {
        if (size() != 1) return nullptr;
        session_operation* const op = all_[ended_];
        const bool waits = op->heed_.awaited && op->pending_ == 0 && !op->result_ && !op->waits_for_late() &&
                           !op->work_->engine().has_blocked();
        return waits && op->work_->is_short() ? op : nullptr;
    }
    // A place behind all that have one.
    operation_place last_place() const noexcept { return {true, tickets_ & most_tickets}; }
    // The place of a call that is made now, and starts later. No other one has it.
    operation_place take_place() noexcept {
        ++tickets_;
        return last_place();
    }
    // The place of the oldest call that has still to start; not set: there is none. Operations behind it
    // may not always send. Pre: reserve() for those that have started since.
    void set_waiting(const operation_place& oldest) noexcept {
        waiting_ = oldest;
        forget_oldest();
    }
    // Makes room for operations of this plan, which may not always send although none is in flight.
    void reserve(prepared& work) { ahead_.prepare(work); }

    // Makes an operation ready to be added. `tag` has its context and number.
    void prepare(session_operation& op, prepared& work, const envelope& tag, std::uint32_t epoch,
                 const call_signature& signature, std::uint64_t timeout_ns) noexcept {
        op.work_ = &work;
        op.tag_.epoch = epoch;
        op.tag_.context = tag.context;
        // Otherwise it is signed from the call before.
        if (op.tag_.digest.hash == 0 || op.signature_ != signature) sign(op.tag_, op.signature_ = signature);
        renew(op, tag.operation, timeout_ns);
    }
    // The same for an operation of which nothing else has changed.
    BOUGH_ALWAYS_INLINE void renew(session_operation& op, std::uint32_t number, std::uint64_t timeout_ns) noexcept {
        op.tag_.operation = number;
        op.timeout_ns_ = timeout_ns;
        op.attend_ns_ = 0;
        op.asked_ = op.proposed_ = false;
        op.pending_ = 0;
        op.taken_back_by_ = no_rank;
        op.late_.places = nullptr; // by messages
        if (op.result_) op.result_ = {};
    }
    // From now on priorities count. May throw if memory runs out; then they do not.
    BOUGH_COLD void use_priorities(rank_t ranks) {
        if (urgent_.empty()) urgent_.resize(ranks, nobody_waits);
    }
    // From now on no operation may always send, not even one that could at its start. May throw.
    BOUGH_COLD void end_one_order() {
        for (std::size_t i = 0; i != size(); ++i) reserve(*(*this)[i].work_);
        ahead_.set_one_order(false);
    }
    // The operation starts. Pre: prepare(), and renew().
    BOUGH_ALWAYS_INLINE void add(session_operation& op) {
        op.ticket_ = ++tickets_ & most_tickets;
        if (!all_.empty()) [[unlikely]]
            return join_others(op);
        all_.push_back(&op);
        op.done_ = false;
    }
    // The operation has ended, well or not.
    BOUGH_ALWAYS_INLINE void remove(session_operation& op) noexcept {
        if (all_.size() != 1 || waiting_.is_set || ahead_.has_noted()) [[unlikely]]
            return remove_of_many(op);
        remove_only(op);
    }
    // The same for one that is in flight alone, and may always send.
    BOUGH_ALWAYS_INLINE void remove_only(session_operation& op) noexcept {
        op.done_ = true;
        departures_.end(op);
        all_.clear(); // it is in no table, and has nothing ahead
    }

    // Null: none has made this call.
    session_operation* find(const envelope& call) const noexcept {
        if (calls_.size() != 0) [[unlikely]] {
            session_operation* op = calls_.find(key_of(call));
            return op != nullptr && same_call(op->tag_, call) ? op : nullptr;
        }
        for (std::size_t i = ended_; i != all_.size(); ++i)
            if (same_call(all_[i]->tag_, call)) return all_[i];
        return nullptr;
    }
    // The operation of a post; null: it has ended.
    session_operation* find_post(std::uint64_t id) const noexcept {
        const auto ticket = static_cast<std::uint32_t>(id >> 32);
        if (posts_.size() != 0) [[unlikely]]
            return posts_.find(ticket);
        for (std::size_t i = ended_; i != all_.size(); ++i)
            if (all_[i]->ticket_ == ticket) return all_[i];
        return nullptr;
    }
    static std::uint64_t post_id(const session_operation& op, std::uint32_t step) noexcept {
        return std::uint64_t{op.ticket_} << 32 | step;
    }

    // What may be sent ahead.
    ahead& room() noexcept { return ahead_; }
    // Posts a message of an operation, unless that must wait.
    posted send(session_operation& op, std::uint32_t step, rank_t to, std::uint32_t segment,
                std::span<const std::byte> bytes) {
        const bool may_always = ahead_.has_one_order() && is_oldest(op) && !is_behind(op, waiting_);
        if (!urgent_.empty() && urgent_[to] > op.priority_) [[unlikely]]
            return turns_.wanted = true, posted::would_block;
        const ahead::bound bound = may_always ? ahead::bound{} : bound_at(to);
        if (!may_always && !ahead_.fits(to, bytes.size(), bound) && !has_room(op, to, bytes.size(), bound)) {
            if (op.record_.in != nullptr) op.record_.in->refused();
            return turns_.wanted = true, posted::would_block;
        }
        op.tag_.segment = segment;
        posted result = posted::would_block;
        if (!control_.holds_back(to)) [[likely]]
            result = transport_.post_send(to, op.tag_, bytes, post_id(op, step));
        // The peer is lost, but its last messages may be among the events that are still to be
        // handled. A retry sends again after those.
        if (result == posted::failed && events_.is_open()) result = posted::would_block;
        if (result == posted::pending) ++op.pending_;
        if (result == posted::would_block) {
            turns_.wanted = true;
            if (!urgent_.empty()) urgent_[to] = std::max(urgent_[to], op.priority_);
        }
        if (op.record_.in != nullptr) note_send(op, step, to, bytes.size(), result);
        if (!may_always && (result == posted::pending || result == posted::complete))
            count(op, to, bytes.size(), bound);
        return result;
    }
    // An operation may have something to retry, although no post was refused.
    void wants_turn() noexcept { turns_.wanted = true; }
    // Has a post been refused since the last call? Then for_some() must follow, in which its operation
    // retries. With many in flight it is true until all that were there have had a turn.
    bool was_blocked() noexcept {
        const bool was = std::exchange(turns_.wanted, false);
        if (was) {
            const std::size_t rest = turns_.end - std::min(turns_.next, turns_.end); // of this round
            turns_.due = size() < most_turns ? 0 : rest + size();
        }
        return was || turns_.due != 0;
    }
    // Calls f(op) for all that are in flight if they are few; otherwise for the oldest, and for some
    // others in turn. So a poll takes no longer with thousands in flight. Those with the highest priority
    // come first if they are few.
    template <class F>
    void for_some(F&& f) {
        const auto turn_of_next = [&] { f((*this)[turns_.next++]); };
        if (!gives_turns()) return for_all(f);
        std::fill(urgent_.begin(), urgent_.end(), nobody_waits); // who still waits will say so
        f((*this)[0]);
        for (std::size_t turns = 1; turns != most_turns && turns_.due != 0 && !empty(); ++turns) {
            --turns_.due;
            if (turns_.next >= turns_.end) turns_.next = 0, turns_.end = size();
            turn_of_next();
        }
    }
    // Are there so many in flight that for_some() does not call f for all?
    bool gives_turns() const noexcept { return size() >= most_turns; }
    template <class F>
    void for_all(F&& f) {
        const auto turn_of_next = [&] { f((*this)[turns_.next++]); };
        std::fill(urgent_.begin(), urgent_.end(), nobody_waits);
        turns_.due = 0; // all have a turn now
        if (!urgent_.empty()) [[unlikely]]
            return for_all_by_priority(turn_of_next);
        for (turns_.next = 0; turns_.next < size();) turn_of_next();
    }
    // Between these two, events that were polled are being handled. Pre: no others are.
    void begin_events() noexcept { events_.begin(); }
    void end_events() noexcept { events_.end(); }

    // A message for this step of an operation has come, or (arrived: false) a post of it has ended. The
    // operation has still to go on. Pre: at most event_round::most of them since take_noted().
    BOUGH_ALWAYS_INLINE void note_event(const session_operation& op, std::uint32_t step, bool arrived) noexcept {
        events_.note(post_id(op, step), arrived && op.is_watched());
    }
    // Calls go_on(op) and then settle(op) for the operations that were noted and have not ended since, and
    // forgets them. Hooks hear in between what has been done with each message.
    template <class GoOn, class Settle>
    BOUGH_ALWAYS_INLINE void take_noted(const GoOn& go_on, const Settle& settle) {
        const event_round::forgets at_end{events_};
        if (events_.any_told()) [[unlikely]]
            return take_watched(go_on, settle);
        for_each_noted([&](session_operation& op) { go_on(op), settle(op); });
    }

    // The last step of an operation is done. True: some of its messages are still here, and
    // next_departed() will name it.
    bool is_leaving(session_operation& op) noexcept { return departures_.begins(transport_, op); }
    // An operation whose messages have all left; null: none.
    session_operation* next_departed() const noexcept {
        return departures_.next(transport_, std::span(all_).subspan(ended_));
    }
    // Calls f(rank) for each rank whose messages of this operation have not left yet.
    template <class F>
    void for_each_late(const session_operation& op, F&& f) const {
        departures<T>::for_each_late(transport_, op, std::forward<F>(f));
    }

private:
    // So many are searched one by one, which is faster than to keep the tables. Beyond, all are in them
    // until few are left.
    static constexpr std::size_t most_searched = 16, few = 4;
    static constexpr std::size_t most_turns = 64; // of a poll
    static constexpr std::uint32_t most_tickets = 0x7fff'ffff;

    static constexpr int nobody_waits = std::numeric_limits<int>::min();

    template <class F>
    BOUGH_ALWAYS_INLINE void for_each_noted(const F& f) {
        events_.for_each([&](std::uint64_t id, bool) {
            if (session_operation* op = find_post(id); op != nullptr) f(*op);
        });
    }
    // No operation ends before its hook has heard of all its messages.
    template <class GoOn, class Settle>
    BOUGH_COLD void take_watched(const GoOn& go_on, const Settle& settle) {
        for_each_noted(go_on);
        events_.for_each([&](std::uint64_t id, bool told) {
            if (const session_operation* op = told ? find_post(id) : nullptr; op != nullptr)
                op->tell({.what = operation_event::kind::combined, .step = static_cast<std::uint32_t>(id)});
        });
        for_each_noted(settle);
    }

    template <class Turn>
    BOUGH_COLD void for_all_by_priority(const Turn& turn_of_next) {
        for (std::int64_t above = std::int64_t{1} << 32;;) {
            std::int64_t highest = nobody_waits - std::int64_t{1};
            for (std::size_t i = 0; i != size(); ++i)
                if (const int its = (*this)[i].priority_; its < above) highest = std::max<std::int64_t>(highest, its);
            if (highest < nobody_waits) return;
            for (turns_.next = 0; turns_.next < size();)
                if ((*this)[turns_.next].priority_ == highest)
                    turn_of_next();
                else
                    ++turns_.next;
            above = highest;
        }
    }

    static std::uint64_t key_of(const envelope& call) noexcept {
        return std::uint64_t{call.context} << 32 | call.operation;
    }
    ahead::bound bound_at(rank_t to) const noexcept {
        if constexpr (KeepsEarly<T>)
            return ahead_.at_peer(transport_.early_bytes(to));
        else
            return ahead_.at_peer(0);
    }
    // Has the peer started this operation, or has it room for the message now that what others have ahead
    // there is looked through? If not, it is asked. The transport says that a peer is lost.
    bool has_room(session_operation& op, rank_t to, std::uint64_t bytes, const ahead::bound& bound) noexcept {
        if (control_.is_lost(to) || ahead_.has_started(*op.work_, to)) return true;
        for (std::size_t i = 0; i != size() && size() < most_turns; ++i) ahead_.review(*(*this)[i].work_, to);
        if (ahead_.fits(to, bytes, bound)) return true;
        ahead_.refused(to);
        ahead_.ask_about(*op.work_, op.tag_, to);
        return false;
    }
    void count(session_operation& op, rank_t to, std::uint64_t bytes, const ahead::bound& bound) noexcept {
        if (ahead_.sent(*op.work_, to, bytes, bound) > bound.most / 2 && !ahead_.has_started(*op.work_, to))
            ahead_.ask_about(*op.work_, op.tag_, to); // more may follow
    }
    static void note_send(session_operation& op, std::uint32_t step, rank_t to, std::uint64_t bytes, posted result) {
        if (result == posted::would_block) return op.record_.in->refused();
        if (result != posted::pending && result != posted::complete) return;
        op.record_.in->sent(bytes);
        if (op.is_watched()) [[unlikely]]
            op.tell({.what = operation_event::kind::sent, .step = step, .peer = to, .bytes = bytes});
    }
    // It may send ahead. An operation that is the oldest from its start does not while there is one order.
    void join_others(session_operation& op) {
        ahead_.prepare(*op.work_); // now, as whether it is needed depends on the other ranks
        if (op.place_.is_set) ahead_.prepare(*all_[ended_]->work_); // it may be the oldest no more
        // With fewer, the tables may still be there: then an operation that is not in them is never found.
        if (size() >= most_searched || calls_.size() != 0) index(op);
        all_.push_back(&op);
        op.done_ = false;
        if (op.place_.is_set) [[unlikely]]
            move_up(op);
    }
    // The last one takes its place: before those that started after its call, but for those of its own
    // communicator, which start in one order on all ranks.
    BOUGH_COLD void move_up(session_operation& op) noexcept {
        std::size_t at = all_.size() - 1;
        for (; at != ended_; --at) {
            const session_operation& before = *all_[at - 1];
            if (before.tag_.context == op.tag_.context || !is_behind(before, op.place_)) break;
            all_[at] = all_[at - 1];
        }
        all_[at] = &op;
        if (at - ended_ < turns_.next) ++turns_.next;
        if (at - ended_ < turns_.end) ++turns_.end;
    }
    BOUGH_COLD void index(session_operation& op) {
        calls_.reserve(size() + 1);
        posts_.reserve(size() + 1);
        if (calls_.size() == 0)
            for (std::size_t i = ended_; i != all_.size(); ++i) enter(*all_[i]);
        if (all_.size() == all_.capacity()) all_.reserve(2 * all_.capacity()); // memory may run out here
        enter(op);
    }
    void enter(session_operation& op) noexcept {
        calls_.put(key_of(op.tag_), op);
        posts_.put(op.ticket_, op);
    }
    void leave(session_operation& op) noexcept {
        calls_.erase(key_of(op.tag_), op);
        posts_.erase(op.ticket_, op);
    }
    // Was it called after the call with this place? Tickets have 31 bits, and wrap around.
    static bool is_behind(const session_operation& op, const operation_place& place) noexcept {
        const std::uint32_t its = op.place_.is_set ? op.place_.starts : op.ticket_;
        return place.is_set && contexts::before(place.starts * 2, its * 2);
    }
    // What the oldest operation has sent ahead no longer counts, if it may always send.
    void forget_oldest() noexcept {
        if (ahead_.has_one_order() && !empty() && !is_behind(*all_[ended_], waiting_))
            ahead_.forget(*all_[ended_]->work_);
    }
    void remove_of_many(session_operation& op) noexcept {
        op.done_ = true;
        departures_.end(op);
        ahead_.ended(*op.work_, op.tag_);
        if (calls_.size() != 0) [[unlikely]]
            forget(op);
        if (all_.back() == &op) {
            all_.pop_back();
            turns_.next = std::min(turns_.next, size());
            turns_.end = std::min(turns_.end, size());
            if (size() == 0) all_.clear(), ended_ = 0;
            return;
        }
        const std::size_t place = take_out(op); // those behind it have moved up
        if (place < turns_.next) --turns_.next;
        if (place < turns_.end) --turns_.end;
        forget_oldest();
    }
    BOUGH_COLD void forget(session_operation& op) noexcept {
        leave(op);
        if (calls_.size() > few) return;
        for (std::size_t i = ended_; i != all_.size(); ++i) leave(*all_[i]);
    }
    // Those that started before it, or after it, move up, whichever are fewer. Returns its place among
    // those in flight.
    std::size_t take_out(const session_operation& op) noexcept {
        std::size_t from_front = ended_, from_back = all_.size();
        while (all_[from_front] != &op && all_[--from_back] != &op) ++from_front;
        const bool is_near_front = all_[from_front] == &op;
        const std::size_t place = (is_near_front ? from_front : from_back) - ended_;
        if (is_near_front) {
            for (; from_front != ended_; --from_front) all_[from_front] = all_[from_front - 1];
            ++ended_;
        } else {
            for (; from_back + 1 != all_.size(); ++from_back) all_[from_back] = all_[from_back + 1];
            all_.pop_back();
        }
        if (ended_ < most_searched || ended_ < size()) return place;
        all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(ended_));
        ended_ = 0;
        return place;
    }

    T& transport_;
    control<T>& control_;
    detail::plain_list<session_operation*> all_; // the first ended_ have ended
    std::size_t ended_ = 0;
    operation_table<session_operation> calls_, posts_; // all, or none
    ahead ahead_;
    operation_place waiting_{};
    departures<T> departures_; // of all_
    // Counts starts: operations of two communicators may have the same number.
    std::uint32_t tickets_ = 0;
    // By rank: the highest priority of those for whose messages there was no room. Empty: all are equal.
    detail::plain_list<int> urgent_;
    // The rounds of for_some(). Operations that start during a round wait for the next one.
    struct {
        std::size_t next = 0, end = 0; // places: whose turn is next, and where the round ends
        std::size_t due = 0;           // turns that are still to be given
        bool wanted = false;           // a post was refused
    } turns_;
    event_round events_;
};

} // namespace bough::detail

#endif
