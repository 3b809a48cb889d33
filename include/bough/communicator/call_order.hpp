// SPDX-License-Identifier: BSL-1.0
// call_order: the order of the calls of a communicator whose calls have names (bough/call/named.hpp).
//
// Ranks start named calls in different orders. The first member's order is everybody's: it starts each
// call at once, and tells the others its name. Another rank keeps a call until all that the first member
// started before it have started here. So all ranks give a call one number, and matching, limits for
// early messages, deadlines and reports are those of any call.
//
// Whoever polls the session starts the calls whose turn has come, and ends those that wait in vain
// (bough/session/attendants.hpp): a rank may wait for something else, in another communicator. So what
// that changes is read and written under the session's lock. A call that starts late takes the place
// among the operations in flight that it would have had at once, but for the order of those with names.
//
// *Memory*: names of calls that have not ended, and those that the first member has started and this rank
// has not, about `most_calls` of either. No name is kept longer. A rank says now and then how many names
// it has used up. The first member waits, before it starts a call, for one that is further behind than
// `most_calls` and a quarter.
#ifndef BOUGH_COMMUNICATOR_CALL_ORDER_HPP
#define BOUGH_COMMUNICATOR_CALL_ORDER_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/search.hpp>
#include <bough/core/status.hpp>
#include <bough/op/traits.hpp>
#include <bough/session/attendants.hpp>
#include <bough/session/control_messages.hpp>
#include <bough/session/mismatch.hpp>
#include <bough/session/operation.hpp>
#include <bough/session/session.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// A name as signatures carry it: never 0, except for a call without a name.
constexpr std::uint16_t number_of_name(std::string_view name) noexcept {
    if (name.data() == nullptr) return 0;
    std::uint64_t hash = fnv_offset;
    for (const char c : name) hash = fnv1a(hash, c);
    return static_cast<std::uint16_t>(hash % 0xffff + 1);
}

// A call with a name, from its start to its end. Its owner makes it, and asks how it goes. take_turn()
// and fail() are called under the session's lock, by whoever polls; each call has one of them, once.
class named_call {
public:
    virtual bool has_ended() = 0;
    // Its turn has come: starts it, with so much time left.
    virtual void take_turn(std::uint64_t timeout_ns, const operation_place& place) = 0;
    // It ends without having started.
    virtual void fail(const status& why) noexcept = 0;

    std::string_view name() const noexcept { return name_; }
    bool is_named() const noexcept { return name_.data() != nullptr; }

protected:
    ~named_call() = default;
    // Does it wait for its turn? Under the session's lock.
    bool waits() const noexcept { return waits_; }
    std::string_view name_;           // no data: it has no name
    int priority_ = 0;                // with which it starts
    bool has_waited_in_vain_ = false; // it has ended before its turn

private:
    template <Transport T>
    friend class call_order;
    bool waits_ = false;
    operation_place place_{};       // where it would stand if it had not to wait
    std::uint64_t deadline_ns_ = 0; // if it waits
};

template <Transport T>
class call_order final : attendant {
public:
    static constexpr std::size_t most_letters = 200;
    static constexpr std::size_t most_calls = 4096;

    // `members`: empty: all ranks. They must stay where they are.
    call_order(session<T>& shared, std::span<const rank_t> members, std::uint16_t context)
        : session_(shared), members_(members), context_(context),
          epoch_(shared.epoch()), used_{.by = std::vector<std::uint64_t>(members.empty() ? shared.size()
                                                                                         : members.size())} {}
    // Pre: none waits.
    ~call_order() = default;

    // This rank makes a call. It takes its turn now, or later; an error: never. Once it has ended,
    // leave().
    status enter(named_call& c, std::uint64_t timeout_ns) {
        if (const status why = session_.poison(context_)) return poisoned(why);
        const std::uint64_t last = deadline_after(session_.now_ns(), timeout_ns);
        status bad = check(c);
        if (!bad && is_first() && is_far_ahead()) bad = wait_for_others(last);
        if (bad) return session_.break_communicator(context_, bad), bad;
        session_.with_lock([&] {
            calls_.push_back(&c);
            if (!is_first()) return keep(c, last);
            tell(c.name());
            c.take_turn(time_left(session_.now_ns(), last), {});
        });
        if (is_first()) return {};
        advance();
        ignore_exceptions([this] { session_.ring(); }); // a helper attends to it
        return {};
    }
    // It has ended: its name is free.
    void leave(named_call& c) noexcept {
        session_.with_lock([&] {
            stop_waiting(c);
            calls_.erase_if([&c](const named_call* x) { return x == &c; });
        });
    }
    // The next three concern a call that waits. False: it does not, and nothing has happened.
    //
    // It is given up: then the communicator ends, as its place in the order stays empty.
    bool give_up(named_call& c, errc code) {
        return session_.with_lock([&] {
            if (!c.waits_) return false;
            if (session_.forked()) return end(c, {.code = errc::forked_child}), true;
            const status why{.code = code, .context = context_};
            if (!is_stale()) session_.break_communicator(context_, why);
            return end(c, why), true;
        });
    }
    bool set_timeout_ns(named_call& c, std::uint64_t ns) noexcept {
        return session_.with_lock([&] {
            if (c.waits_) c.deadline_ns_ = deadline_after(session_.now_ns(), ns);
            return c.waits_;
        });
    }
    bool set_priority(named_call& c, int priority) {
        session_.use_priorities();
        return session_.with_lock([&] {
            if (c.waits_) c.priority_ = priority;
            return c.waits_;
        });
    }

    // Starts what may start, and ends what cannot any more.
    void advance() noexcept {
        if (!is_first()) session_.with_lock([this] { attend(); });
    }
    // When advance() must be called at the latest.
    std::uint64_t attend_ns(const named_call& c) const noexcept { return c.deadline_ns_; }
    // Why calls have ended that waited in vain, if that was not asked before.
    status take_failure() noexcept {
        return session_.with_lock([this] { return std::exchange(failure_, {}); });
    }
    // For what a call that waited in vain has waited; empty: for the first member.
    const std::string& held_up_by() const noexcept { return held_up_by_; }

private:
    // Of the control messages that name a call. No agreement of a communicator has this number.
    static constexpr std::uint32_t mark = 0x6e61'6d65;

    // Under the session's lock, as all that follows, but for what the first member does for a call of its
    // own.
    void attend() noexcept override {
        if (is_advancing_ && !session_.forked())
            return; // a call that is being started waits until the transport gives back its bytes
        is_advancing_ = true;
        try_to_advance();
        is_advancing_ = false;
    }
    void try_to_advance() noexcept {
        if (session_.forked()) return end_all({.code = errc::forked_child});
        if (is_stale()) return end_all({.code = errc::group_poisoned});
        bool has_memory = false;
        ignore_exceptions([&] { start_due(), has_memory = true; });
        if (!has_memory) session_.break_communicator(context_, {.code = errc::no_resources, .context = context_});
        if (waiting_ != 0) end_some();
    }

    rank_t first() const noexcept { return members_.empty() ? 0 : members_[0]; }
    bool is_first() const noexcept { return first() == session_.rank(); }
    // Has a later epoch begun? Then the number of this communicator may be that of another one.
    bool is_stale() const { return session_.epoch() != epoch_; }

    status check(const named_call& c) {
        if (c.name().empty()) return invalid_argument("named: the name is empty");
        if (c.name().size() > most_letters) return invalid_argument("named: the name has more than 200 letters");
        for (std::size_t i = 0; i < calls_.size(); ++i)
            if (calls_[i]->name() == c.name() && !calls_[i]->has_ended())
                return invalid_argument("named: an operation of this name is in flight on this communicator");
        if (calls_.size() >= most_calls) { // those that have ended leave
            advance();
            for (std::size_t i = calls_.size(); i-- != 0;)
                if (i < calls_.size() && !session_.with_lock([&] { return calls_[i]->waits_; }))
                    (void)calls_[i]->has_ended();
        }
        if (calls_.size() >= most_calls) {
            status s = invalid_argument("named: more than 4096 operations with names are in flight");
            s.code = errc::no_resources;
            return s;
        }
        return {};
    }
    template <class F>
    void for_each_other(const F& f) const {
        for (std::size_t i = 0; i != used_.by.size(); ++i) {
            const rank_t r = members_.empty() ? static_cast<rank_t>(i) : members_[i];
            if (r != session_.rank() && !session_.is_lost(r)) f(r, used_.by[i]);
        }
    }
    void say(rank_t to, std::span<const std::byte> bytes) {
        envelope tag;
        tag.context = context_;
        tag.operation = mark;
        session_.send_control(to, tag, bytes);
    }
    void tell(std::string_view name) {
        ++used_.mine;
        for_each_other([&](rank_t r, std::uint64_t) { say(r, std::as_bytes(std::span(name.data(), name.size()))); });
    }
    // Has a member still to use up so many of the names that this one has told?
    bool is_far_ahead() {
        // They tell each quarter of it.
        constexpr std::uint64_t most_ahead = most_calls + most_calls / 4;
        if (used_.mine - used_.least < most_ahead) return false;
        used_.least = used_.mine;
        (void)read([this](rank_t from, std::span<const std::byte> bytes) {
            const auto at = members_.empty() ? members_.begin() : detail::find(members_, from);
            const auto i = members_.empty() ? std::size_t{from} : static_cast<std::size_t>(at - members_.begin());
            if (i < used_.by.size() && bytes.size() == sizeof used_.by[i])
                std::memcpy(&used_.by[i], bytes.data(), sizeof used_.by[i]);
        });
        for_each_other([this](rank_t, std::uint64_t used) { used_.least = std::min(used_.least, used); });
        return used_.mine - used_.least >= most_ahead;
    }
    status wait_for_others(std::uint64_t last) {
        status why;
        const auto over = [&] {
            session_.make_way(true); // what they say may be behind messages of calls that wait here
            if (!is_far_ahead() || static_cast<bool>(why = session_.poison(context_))) return true;
            return session_.now_ns() >= last;
        };
        if (!session_.wait_until(over, last)) return {.code = errc::forked_child};
        if (why) return poisoned(why);
        if (!is_far_ahead()) return {};
        why = {.code = errc::deadline, .context = context_};
        why.argument = "named: this rank is thousands of calls ahead of another one";
        for_each_other([&](rank_t r, std::uint64_t used) {
            if (used == used_.least && why.peer == no_rank) why.peer = r;
        });
        return why;
    }
    void start_due() {
        bool is_more = true;
        for (std::uint64_t before = 0; is_more;) {
            is_more = hear();
            before = used_.mine;
            while (named_call* next = find_due()) {
                due_.pop_front();
                if (++used_.mine % (most_calls / 4) == 0) say(first(), std::as_bytes(std::span(&used_.mine, 1)));
                take_first_place(*next);
                next->take_turn(time_left(session_.now_ns(), next->deadline_ns_), next->place_);
                stop_waiting(*next);
            }
            if (used_.mine == before) break;
        }
        // The next name may be behind messages of calls that wait here.
        if (waiting_ != 0 && due_.empty()) session_.make_way(true);
    }
    void end_some() noexcept {
        while (named_call* const left = leader_is_gone_ ? find_not_due() : nullptr) end(*left, leader_is_gone_);
        if (const status why = session_.poison(context_)) return end_all(of_another(why));
        const std::uint64_t now = session_.now_ns();
        for (std::size_t i = 0; i != calls_.size(); ++i) {
            named_call& late = *calls_[i];
            if (!late.waits_ || late.deadline_ns_ > now) continue;
            const status why = why_late(late);
            session_.break_communicator(context_, why);
            failure_ = why;
            end(late, why);
            return end_all(of_another(why));
        }
    }
    // What has ended one call, as the others report it.
    static status of_another(const status& why) noexcept {
        return why.code == errc::cancelled || why.code == errc::deadline ? poisoned(why) : why;
    }
    // Gives each message of the order to f(its sender, its bytes), until f has been called `most` times.
    // True: there are more.
    template <class F>
    bool read(const F& f, std::size_t most = ~std::size_t{0}) {
        bool is_more = false;
        session_.with_lock([&] {
            session_.messages().hear([&](const control_message& m) {
                if (m.tag.context != context_ || m.tag.operation != mark) return false;
                if (is_more |= most == 0; is_more) return false;
                --most;
                f(m.peer, std::span<const std::byte>(m.bytes));
                return true;
            });
        });
        return is_more;
    }
    // Hears what the first member has started, and whether it starts nothing more. That is asked first:
    // then all that it has started is there. True: there may be more names, when some of these are used
    // up.
    bool hear() {
        const bool is_dead = session_.is_lost(first());
        const bool is_over = session_.with_lock([&] { return session_.contexts().has_ended(context_, first()); });
        const bool is_more = read(
            [this](rank_t from, std::span<const std::byte> bytes) {
                if (from == first()) due_.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
            },
            most_calls - std::min(most_calls, due_.size()));
        leader_is_gone_ = {};
        if (is_more) return true;
        if (is_dead)
            leader_is_gone_ = {.code = errc::peer_dead, .peer = first()};
        else if (is_over)
            leader_is_gone_ = {
                .code = errc::peer_aborted, .cause = errc::cancelled, .peer = first(), .context = context_};
        if (is_dead && find_not_due() != nullptr && !session_.poison()) session_.give_up(leader_is_gone_);
        return false;
    }
    // A call that waits until the first member starts it.
    named_call* find_not_due() noexcept {
        const auto at = detail::find_if(
            calls_, [&](const named_call* c) { return c->waits_ && !detail::contains(due_, c->name()); });
        return at == calls_.end() ? nullptr : *at;
    }
    named_call* find_due() noexcept {
        if (due_.empty() || waiting_ == 0) return nullptr;
        const auto at =
            detail::find_if(calls_, [&](const named_call* c) { return c->waits_ && c->name() == due_.front(); });
        return at == calls_.end() ? nullptr : *at;
    }
    status why_late(const named_call& c) noexcept {
        status why{.code = errc::deadline, .context = context_};
        if (!detail::contains(due_, c.name())) {
            why.peer = first();
            why.argument = "named: the first rank has not started an operation of this name";
        } else {
            why.peer = session_.rank();
            why.argument = "named: this rank has not started what the first rank started before it";
            ignore_exceptions([&] { held_up_by_ = due_.front(); });
        }
        return why;
    }
    void keep(named_call& c, std::uint64_t last) {
        c.place_ = session_.take_place();
        c.deadline_ns_ = last;
        c.waits_ = true;
        if (++waiting_ != 1) return; // it stands behind another one
        oldest_ = c.place_;
        session_.attend_to(*this);
    }
    // The order among those that wait is the first member's: this one takes the first of their places,
    // and the others keep the rest in their order.
    void take_first_place(named_call& c) noexcept {
        for (auto at = detail::find(calls_, &c); at != calls_.begin();)
            if (named_call& before = **--at; before.waits_) std::swap(before.place_, c.place_);
    }
    void stop_waiting(named_call& c) noexcept {
        if (!std::exchange(c.waits_, false)) return;
        if (--waiting_ == 0) return session_.leave(*this);
        // They are in the order of this rank's calls.
        const named_call& first = **detail::find_if(calls_, [](auto* x) { return x->waits_; });
        if (first.place_ == oldest_) return;
        oldest_ = first.place_;
        session_.attend_to(*this);
    }
    void end(named_call& c, const status& why) noexcept {
        c.has_waited_in_vain_ = c.waits_;
        stop_waiting(c);
        c.fail(why); // its owner leaves
    }
    void end_all(const status& why) noexcept {
        for (std::size_t i = 0; i != calls_.size(); ++i)
            if (calls_[i]->waits_) end(*calls_[i], why);
    }

    session<T>& session_;
    std::span<const rank_t> members_;
    std::uint16_t context_;
    std::uint32_t epoch_;
    plain_list<named_call*> calls_; // whose owners have not found that they have ended
    std::size_t waiting_ = 0;       // of them, for their turn
    bool is_advancing_ = false;
    std::deque<std::string> due_; // what the first member has started, and this rank has not
    // Names that this rank has told, or used up; and on the first member, how many each other one has
    // used up.
    struct {
        std::uint64_t mine = 0, least = 0;
        std::vector<std::uint64_t> by;
    } used_;
    status leader_is_gone_{}; // why it starts nothing more
    std::string held_up_by_;
    status failure_{};
};

} // namespace bough::detail

#endif
