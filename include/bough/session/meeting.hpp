// SPDX-License-Identifier: BSL-1.0
// Meeting: the ranks of a list find a number for a communicator of their own, without the other ranks
// of the communicator from which they make it (create_group in bough/group.hpp).
//
//   the first of the list        any other one
//   call      ->                             come here; with a hash of the list
//             <-   join                      I am here; with a hash of the list, and a number
//   offer(n)  ->   <-   answer               are you still here, and is n free? Again, until it is
//   made(n)   ->                             the end
//   failed    ->   <-   leave                one fails, and all do
//   missing   ->   <-   ask                  my time is up: who is missing? (The leader's time may not be up)
// The first rank leads. It compares the lists, and offers the largest number. Mostly all have proposed
// the same one: so there are 5 (m - 1) messages for m members, and 2 (m - 1) more for each further
// offer. A join alone does not say that its sender is still there: its leave may be on the way.
//
// Each join has a number of its own (`attempt`), which the leader repeats. So a rank that has given up
// and comes again mistakes no message that is still on its way. A meeting succeeds when all members
// are there at the same time; its outcome does not depend on earlier ones. Messages that nobody waits
// for any more are removed by the rank's next meeting from the same communicator.
#ifndef BOUGH_SESSION_MEETING_HPP
#define BOUGH_SESSION_MEETING_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/absence.hpp>
#include <bough/core/config.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/status.hpp>
#include <bough/session/mismatch.hpp>
#include <bough/session/session.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// The payload of its messages.
struct meeting_message {
    enum class kind : std::uint8_t { call, join, offer, answer, made, failed, leave, ask, missing };
    std::uint64_t list = 0;    // a hash of the members in their order
    std::uint32_t attempt = 0; // of the member; 0: the leader does not know it
    std::uint32_t members = 0; // how many
    std::uint16_t number = 0;  // of the new communicator
    kind what = kind::call;
    std::uint8_t is_free = 0;  // of an answer
    std::uint32_t meeting = 0; // the attempt of the leader, for which it is; 0: not known
    abort_notice why{};        // of failed, leave and missing
};
static_assert(sizeof(meeting_message) == 48);

inline std::uint64_t hash_of_list(std::span<const rank_t> members) noexcept {
    std::uint64_t h = 0x9e37'79b9'7f4a'7c15u ^ members.size();
    for (const rank_t r : members) h = ((h ^ r) * 0xbf58'476d'1ce4'e5b9u) ^ (h >> 29);
    return h;
}

template <Transport T>
class meeting {
    using message = meeting_message;
    using kind = message::kind;

public:
    // `members`: ranks of the transport, each once, this one among them. `context`: of the
    // communicator from which they make one.
    meeting(session<T>& shared, std::span<const rank_t> members, std::uint16_t context, std::uint64_t timeout_ns)
        : session_(shared), members_(members), list_(hash_of_list(members)), context_(context), all_(members.size()) {
        session_.with_lock([&] {
            // A member waits a little longer, as the leader knows better who is missing.
            if (!leads()) more_ns_ = std::clamp(timeout_ns / 8, least_patience_ns, patience_ns);
            deadline_ns_ = deadline_after(session_.now_ns(), timeout_ns);
            attempt_ = session_.contexts().next_meeting();
            last_step_ns_ = session_.now_ns();
            number_ = session_.contexts().reserve();
            if (number_ == contexts::none) return fail({.code = errc::no_resources});
            if (leads())
                tell_others(kind::call);
            else
                tell(leader(), kind::join);
        });
    }

    bool done() const noexcept { return is_.done; }
    const status& result() const noexcept { return result_; }
    const std::uint64_t& deadline_ns() const noexcept { return deadline_ns_; }
    // Valid once done() without error: the number of the communicator, reserved on all members.
    std::uint16_t number() const noexcept { return number_; }

    // Handles the messages that have come. Call it after each session::progress() until done().
    void step() {
        if (!is_.done) session_.with_lock([this] { locked_step(); });
    }

private:
    static constexpr std::uint64_t least_patience_ns = 50'000'000, patience_ns = 500'000'000;
    // For the end of a meeting to follow its beginning.
    static constexpr std::uint64_t grace_ns = 250'000'000;
    static constexpr std::uint64_t away_ns = 5'000'000;
    struct member {
        std::uint32_t attempt = 0;             // 0: it has not joined
        std::uint16_t number = 0;              // that it has reserved; 0: it has not answered
        std::uint16_t agreed = contexts::none; // that was offered, and is free there
        bool came = false;
    };

    rank_t leader() const noexcept { return members_[0]; }
    bool leads() const noexcept { return leader() == session_.rank(); }
    std::size_t place_of(rank_t r) const noexcept {
        return static_cast<std::size_t>(std::find(members_.begin(), members_.end(), r) - members_.begin());
    }
    // No call counts so far.
    bool is_its(const envelope& tag) const noexcept {
        return tag.context == context_ && tag.operation == ~std::uint32_t{0} && tag.kind == 0xff;
    }
    void tell(rank_t to, kind what, const status& why = {}) {
        const std::size_t place = leads() ? place_of(to) : all_.size();
        const std::uint32_t attempt = place < all_.size() ? all_[place].attempt : attempt_;
        message m{list_, attempt, static_cast<std::uint32_t>(members_.size()), number_, what, 0, 0, {}};
        m.is_free = is_.free ? 1 : 0;
        if (leads()) m.meeting = attempt_;
        if (why) m.why = abort_notice::of(why);
        send(to, m);
    }
    void send(rank_t to, const message& m) {
        envelope tag;
        tag.context = context_;
        tag.operation = ~std::uint32_t{0};
        tag.kind = 0xff;
        session_.send_control(to, tag, std::as_bytes(std::span(&m, 1)));
    }
    void tell_others(kind what, const status& why = {}) {
        for (const rank_t r : members_)
            if (r != session_.rank() && !session_.is_lost(r)) tell(r, what, why);
    }

    void locked_step() {
        // The time that this rank was away says nothing of the others.
        const std::uint64_t now = session_.now_ns(), away = now - std::exchange(last_step_ns_, now);
        if (away > away_ns) elsewhere_.since_ns += away;
        read_inbox();
        if (is_.done) return;
        if (const status& broken = session_.poison(context_)) return fail(poisoned(broken));
        if (leads()) lead();
        for (std::size_t i = 0; i != members_.size() && !is_.done; ++i)
            if (const status why = why_never(members_[i]); why && (leads() || i == 0)) return fail(why);
        if (is_.done) return;
        if (session_.now_ns() < deadline_ns_) return;
        const std::uint64_t more = std::exchange(more_ns_, 0);
        if (more == 0) return fail(leads() ? who_is_missing() : who_may_be_missing());
        deadline_ns_ = deadline_after(session_.now_ns(), more);
        if (is_.called) tell(leader(), kind::ask);
    }
    // Can a member never come? One that has ended its calls may still be one of those that are made now.
    status why_never(rank_t r) const {
        if (session_.is_lost(r)) return {.code = errc::peer_dead, .peer = r};
        if (!session_.contexts().has_ended(context_, r)) return {};
        return {.code = errc::peer_aborted, .cause = errc::cancelled, .peer = r};
    }
    void read_inbox() {
        session_.messages().hear([this](const control_message& come) {
            message m;
            if (is_.done || !is_its(come.tag) || come.bytes.size() != sizeof m) return false;
            std::memcpy(&m, come.bytes.data(), sizeof m);
            const rank_t from = come.peer;
            const bool is_elsewhere = !is_same_list(m) || (leads() && m.what == kind::call);
            if (is_elsewhere && (m.what == kind::call || m.what == kind::join)) look_at_other_list(from, m);
            if (is_for_later(from, m) || (leads() && is_elsewhere && may_be_old(from, m))) return false;
            leads() ? hear_as_leader(from, m) : hear_as_member(from, m);
            return true;
        });
    }
    // It calls or joins, and has not given that up: then the end of it would be behind it in the inbox.
    bool is_still_there(rank_t from, const message& m) const {
        if (m.what != kind::call && m.what != kind::join) return false;
        const kind end = m.what == kind::call ? kind::failed : kind::leave;
        for (const control_message& c : session_.messages().inbox()) {
            message later;
            if (c.peer != from || !is_its(c.tag) || c.bytes.size() != sizeof later) continue;
            std::memcpy(&later, c.bytes.data(), sizeof later);
            const bool is_of_it = end == kind::failed ? later.meeting == m.meeting : later.attempt == m.attempt;
            if (later.what == end && is_of_it) return false;
        }
        return true;
    }
    // It is of a meeting with another list, or with another leader: an old one, if its end follows soon.
    void look_at_other_list(rank_t from, const message& m) {
        if (!is_still_there(from, m)) {
            if (elsewhere_.rank == from && !has_stayed()) elsewhere_.rank = no_rank;
        } else if (elsewhere_.rank == no_rank) {
            elsewhere_ = {from, session_.now_ns()};
        }
    }
    bool has_stayed() const { return session_.now_ns() - elsewhere_.since_ns >= grace_ns; }
    // Messages of a rank come in order, but not all at once.
    bool may_be_old(rank_t from, const message& m) const {
        return is_still_there(from, m) && !(elsewhere_.rank == from && has_stayed());
    }
    // Is it for a meeting that this rank may still come to? A member of the list may have ended this
    // meeting before this rank, but not before the leader.
    bool is_for_later(rank_t from, const message& m) const {
        const std::size_t i = place_of(from);
        return (i == members_.size() || (!leads() && i != 0)) && is_still_there(from, m);
    }
    // A member is in a meeting with another list.
    void differ(rank_t from, const message& m) {
        status why{.code = errc::call_mismatch, .mismatch = mismatch::members, .peer = from, .context = context_};
        if (m.members != members_.size()) {
            why.mine = members_.size();
            why.theirs = m.members;
        }
        if (m.what == kind::join) {
            all_[place_of(from)].attempt = m.attempt; // so that it hears of it
        } else {
            message to_leader{m.list, 0, 0, 0, kind::leave, 0, m.meeting, {}};
            status said = why;
            said.peer = from;
            to_leader.why = abort_notice::of(said);
            send(from, to_leader);
        }
        fail(why);
    }

    void hear_as_leader(rank_t from, const message& m) {
        const std::size_t i = place_of(from);
        if (i == members_.size()) return; // given up already
        switch (m.what) {
        case kind::call:
        case kind::join:
            if (!is_still_there(from, m)) return;
            if (m.what == kind::call || !is_same_list(m)) return differ(from, m);
            all_[i] = {m.attempt, m.number, contexts::none, true};
            return;
        case kind::answer:
            if (m.attempt != all_[i].attempt) return;
            all_[i].number = m.number;
            all_[i].agreed = m.is_free != 0 ? m.number : contexts::none;
            return;
        case kind::ask:
            if (m.attempt == all_[i].attempt) tell(from, kind::missing, who_is_missing(i));
            return;
        case kind::leave:
            if (m.attempt != all_[i].attempt || (m.attempt == 0 && m.meeting != attempt_)) return;
            all_[i].attempt = 0;
            // Its time was up before this rank's: it may come again.
            if (m.why.code == errc::deadline) return;
            return fail(as_told(m.why.as_status(from, 0, context_), from));
        default: return;
        }
    }
    bool is_same_list(const message& m) const noexcept { return m.list == list_ && m.members == members_.size(); }
    // Goes on when all have joined, or have answered.
    void lead() {
        all_[0] = {attempt_, number_, number_, true};
        for (const member& m : all_)
            if (m.attempt == 0 || m.number == 0) return;
        const auto by_number = [](const member& a, const member& b) { return a.number < b.number; };
        const std::uint16_t most = std::max_element(all_.begin(), all_.end(), by_number)->number;
        if (most == contexts::none) return fail({.code = errc::no_resources});
        if (std::all_of(all_.begin(), all_.end(), [&](const member& m) { return m.agreed == most; })) {
            tell_others(kind::made);
            is_.done = true;
            return;
        }
        if (!take(most)) return; // `number_` is a larger one now, and the next turn offers it
        for (std::size_t i = 1; i != all_.size(); ++i) all_[i].number = 0;
        tell_others(kind::offer);
    }
    // Reserves this number, or else a larger one, in place of the one that it has. True: this number.
    bool take(std::uint16_t number) {
        if (number == number_) return true;
        contexts& all = session_.contexts();
        const bool is_free = all.claim(number);
        const std::uint16_t next = is_free ? number : all.reserve(number + 1u);
        if (number_ != contexts::none) all.give_back(number_);
        number_ = next;
        return is_free;
    }

    void hear_as_member(rank_t from, const message& m) {
        const std::size_t i = place_of(from);
        if (i == members_.size()) return;
        if (i != 0) return;
        // For another list, too: it will see that this rank has joined.
        if (m.what == kind::call) {
            is_.called = true;
            if (more_ns_ == 0) tell(leader(), kind::ask); // its time is up already
        }
        if (m.what == kind::failed && m.attempt == 0) { // before it knew of this rank
            is_.called = false;
            // The codes of why_never().
            const bool is_for_good = m.why.code == errc::peer_dead || m.why.code == errc::cancelled;
            if (is_same_list(m) && is_for_good) fail(m.why.as_status(from, 0, context_));
        }
        if (m.attempt != attempt_) return;
        if (m.what == kind::offer) {
            is_.free = take(m.number);
            tell(leader(), kind::answer);
        } else if (m.what == kind::made) {
            is_.done = true;
        } else if (m.what == kind::failed) {
            is_.told = true;
            fail(as_told(m.why.as_status(from, 0, context_), from));
        } else if (m.what == kind::missing) {
            said_ = as_told(m.why.as_status(from, 0, context_), from);
            is_.answered = true;
        }
    }

    // If the lists of the leader and of this rank differ, each names the other.
    status as_told(status why, rank_t from) const noexcept {
        if (why.cause != errc::call_mismatch || why.peer != session_.rank()) return why;
        why.code = std::exchange(why.cause, errc::ok);
        why.peer = from;
        std::swap(why.mine, why.theirs);
        return why;
    }
    // All members are told. A member that leaves by itself does not know whether the leader has just
    // made the communicator: its number stays reserved.
    void fail(const status& why) {
        is_.done = true;
        result_ = as_seen_by(session_.rank(), why);
        if (number_ != contexts::none && (leads() || is_.told)) session_.contexts().give_back(number_);
        if (leads())
            tell_others(kind::failed, why);
        else if (!is_.told && !session_.is_lost(leader()))
            tell(leader(), kind::leave, why);
    }
    // A rank that was in a meeting with another list, which has this rank, is not missing, even if its time was
    // up first.
    status is_elsewhere() const {
        return {
            .code = errc::call_mismatch, .mismatch = mismatch::members, .peer = elsewhere_.rank, .context = context_};
    }
    // At the deadline of a member that does not lead.
    status who_may_be_missing() const {
        if (elsewhere_.rank != no_rank) return is_elsewhere();
        if (is_.answered) return said_;                       // names nobody if all were there
        return without([](std::size_t i) { return i == 0; }); // it has not come, or does not answer
    }
    // As the leader knows it. `asker`: the place of a member that is there, as it asks.
    status who_is_missing(std::size_t asker = 0) const {
        if (elsewhere_.rank != no_rank && (asker == 0 || has_stayed())) return is_elsewhere();
        // Those that have not come at all; if there are none, those whose time was up first; if all are there,
        // those that do not answer.
        const auto others_are = [&](const auto& so) { return std::all_of(all_.begin() + 1, all_.end(), so); };
        const bool all_came = others_are([](const member& m) { return m.came; });
        const bool all_joined = others_are([](const member& m) { return m.attempt != 0; });
        return without([&](std::size_t i) {
            if (i == asker) return false;
            if (i == 0 || all_joined) return i != 0 && all_[i].number == 0;
            return all_[i].attempt == 0 && (all_came || !all_[i].came);
        });
    }
    // is_missing(place in the list)
    template <class F>
    status without(const F& is_missing) const {
        status s{.code = errc::deadline, .context = context_};
        for (std::size_t i = 0; i != all_.size(); ++i)
            if (is_missing(i)) {
                s.peer = std::min(s.peer, members_[i]);
                ++s.missing;
            }
        for (std::size_t i = 0; i != all_.size(); ++i)
            if (is_missing(i) && members_[i] / 64 == s.peer / 64) s.mine |= std::uint64_t{1} << members_[i] % 64;
        return s;
    }

    session<T>& session_;
    std::span<const rank_t> members_;
    std::uint64_t list_;
    std::uint16_t context_;
    std::uint16_t number_ = contexts::none;
    std::uint32_t attempt_ = 0;
    std::vector<member> all_; // by place in the list; the leader alone uses it
    std::uint64_t deadline_ns_ = 0, more_ns_ = 0;
    struct {
        rank_t rank = no_rank; // in a meeting with another list, which has this rank
        std::uint64_t since_ns = 0;
    } elsewhere_;
    std::uint64_t last_step_ns_ = 0;
    struct {
        bool done = false;
        bool free = false;     // the number that was offered, on this rank
        bool called = false;   // the leader is there
        bool told = false;     // the leader has said that it failed
        bool answered = false; // the leader has said who is missing
    } is_;
    status said_{}; // by the leader, of those that are missing
    status result_{};
};

} // namespace bough::detail

#endif
