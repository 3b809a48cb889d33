// SPDX-License-Identifier: BSL-1.0
// absence_search: finds the ranks that hold up an operation which is about to end by its deadline.
//
// A rank that waits knows only the ranks from which it needs a message, and these may be waiting,
// too. So it asks each of them where it is, then asks the ranks that those wait for, and so on:
//
//   0 --waits for--> 4 --waits for--> 5: does not answer, so 5 is missing; 4 only waits
//
// There are four answers:
//   "I am in that call, and wait for these": innocent.
//   "I have done my part in it": innocent.
//   "I have not come to it, and am in another call, where I wait for these": innocent if one of
//   these is missing.
//   "I have not come to it, and am in no call": missing. No answer: missing, too.
// Only ranks that somebody waits for are asked, so a root that has sent everything and computes is
// never named. If all ranks that were asked wait for each other, those are named that are in
// another call than the one in which others wait for them.
//
// This class only remembers questions and answers; bough/session/deadline_watch.hpp sends them. It
// allocates nothing before the first search. (doc/design/013-who-is-missing.md)
#ifndef BOUGH_SESSION_ABSENCE_SEARCH_HPP
#define BOUGH_SESSION_ABSENCE_SEARCH_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/absence.hpp>
#include <bough/core/moved_list.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/search.hpp>
#include <bough/core/status.hpp>
#include <bough/session/mismatch.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

class rank_set {
public:
    rank_set() = default;
    explicit rank_set(rank_t size) : bits_((std::size_t{size} + 7) / 8, 0) {}
    void add(rank_t r) noexcept { bits_[r / 8] |= static_cast<unsigned char>(1u << r % 8); }
    bool has(rank_t r) const noexcept { return r / 8 < bits_.size() && (bits_[r / 8] >> r % 8 & 1) != 0; }
    template <class F>
    void for_each(F&& f) const {
        for (std::size_t i = 0; i != bits_.size(); ++i)
            for (unsigned left = bits_[i], bit = 0; left != 0; left >>= 1, ++bit)
                if ((left & 1u) != 0) f(static_cast<rank_t>(8 * i + bit));
    }
    detail::plain_list<unsigned char>& bytes() noexcept { return bits_; }
    const detail::plain_list<unsigned char>& bytes() const noexcept { return bits_; }

private:
    detail::plain_list<unsigned char> bits_;
};

// A rank's answer to the question where it is in a call.
struct whereabouts {
    enum class place : std::uint8_t { done, in_it, elsewhere, nowhere };
    place at = place::nowhere;
    envelope call{};  // that it is in; nowhere: its latest (operation 0: it has made none)
    rank_set waits{}; // the ranks for which it waits in `call`
};

// What a rank would report, and how sure it is. Of two findings the surer one counts.
//
// out_of_step: all ranks that had to be asked have answered, and wait for each other in different
// calls. That is a deadlock, whatever other ranks do. unreached: one of these ranks could not be
// asked, or had no time to answer. It may be missing or only slow, so every other finding is surer.
// But then the ranks that wait for it are not known to be out of step (judge()).
struct finding {
    enum class how_sure : std::uint8_t { nothing, unreached, out_of_step, was_there, sure };
    how_sure sure = how_sure::nothing;
    status report{};

    // Merges two findings. The result does not depend on the order in which findings came, so all
    // ranks with the same findings get the same result. Two equally sure findings of one call name
    // the missing ranks of both.
    friend finding both(const finding& a, const finding& b) noexcept {
        if (a.sure != b.sure) return a.sure < b.sure ? b : a;
        const auto call = [](const finding& f) { return std::uint64_t{f.report.context} << 32 | f.report.operation; };
        if (call(a) != call(b)) return call(a) < call(b) ? a : b;
        const finding &low = a.report.peer <= b.report.peer ? a : b, &high = &low == &a ? b : a;
        finding made = low;
        status& s = made.report;
        if (s.peer == high.report.peer) s.theirs = std::max(s.theirs, high.report.theirs);
        if (s.peer / 64 == high.report.peer / 64) s.mine |= high.report.mine;
        s.missing = std::max(s.missing, high.report.missing);
        s.collective = std::max(s.collective, high.report.collective);
        return made;
    }
    // What to report, given the ranks that have made a proposal themselves: they are present, so
    // they are not missing. The merged finding may also name more ranks than any single finding had
    // counted.
    status settled(const rank_set& present) const noexcept {
        status s = report;
        const rank_t first = s.peer - s.peer % 64;
        std::uint64_t away = s.mine;
        for (rank_t i = 0; i != 64; ++i)
            if (present.has(first + i)) away &= ~(std::uint64_t{1} << i);
        if (sure != how_sure::out_of_step && away != 0 && away != s.mine) {
            s.missing = static_cast<std::uint16_t>(s.missing - std::min<int>(s.missing, std::popcount(s.mine ^ away)));
            s.mine = away;
            if (present.has(s.peer)) s.theirs = last_call{.absence = absence::silent}.packed();
            s.peer = first + static_cast<rank_t>(std::countr_zero(away));
        }
        s.missing = std::max(s.missing, static_cast<std::uint16_t>(std::popcount(s.mine)));
        return s;
    }
};

template <int>
class basic_absence_search {
public:
    explicit basic_absence_search(rank_t size, rank_t me) noexcept : size_(size), me_(me) {}

    std::uint32_t round() const noexcept { return round_; }
    // In a round, each rank is asked once about each call. Operations that begin their searches
    // within `at_least_ns` of each other share a round.
    void begin_round(std::uint64_t now_ns, std::uint64_t at_least_ns) {
        if (asked_.empty()) asked_.resize(size_);
        if (round_ != 0 && now_ns - began_ns_ < at_least_ns) return;
        ++round_;
        began_ns_ = now_ns;
    }
    // Calls send(rank, call) for each rank of `who` that must be asked about `call`. A rank has at
    // most one question on its way: the next one goes out when its answer has come.
    template <class F>
    void ask(const rank_set& who, const envelope& call, F&& send) {
        who.for_each([&](rank_t r) {
            if (r == me_ || r >= asked_.size()) return;
            question& q = question_to(r, call);
            if (q.asked == round_) return;
            q.asked = round_;
            q.is_due = true;
            ask_next(r, send);
        });
    }
    // Takes an answer to the question about `call`. False: that was not asked.
    template <class F>
    bool answered(rank_t from, const envelope& call, whereabouts&& said, F&& send) {
        if (from >= asked_.size() || !asked_[from].is_open) return false;
        if (asked_[from].open.operation == 0) { // the answer to a question that was forgotten
            asked_[from].is_open = false;
            ask_next(from, send);
            return false;
        }
        if (!same_call(asked_[from].open, call)) return false;
        question& q = question_to(from, call);
        q.answered = round_;
        q.is_due = false;
        q.said = std::move(said);
        asked_[from].is_open = false;
        ask_next(from, send);
        return true;
    }
    // Pre: it has answered that question.
    const whereabouts& said_by(rank_t r, const envelope& call) const noexcept { return asked_[r].find(call)->said; }

    // The time of a question counts from the moment at which it leaves this rank. `is_stuck(rank)`:
    // messages to that rank have not left yet.
    template <class F>
    void look_at_departures(std::uint64_t now_ns, F&& is_stuck) {
        if (staying_ == 0) return;
        for (rank_t r = 0; r != asked_.size(); ++r) {
            asked_rank& x = asked_[r];
            if (!x.is_open || x.has_left || is_stuck(r)) continue;
            x.has_left = true;
            x.since_ns = now_ns;
            --staying_;
        }
    }

    // Finds the ranks that hold up `call`, in which this rank waits for `waits`. Uses answers that
    // came in round `since` or later. A rank that has not answered for `enough_ns` is silent.
    // `self(call)` -> whereabouts: where this rank itself is, for the case that others wait for it
    // in that call.
    template <class F>
    finding find(const rank_set& waits, const envelope& call, std::uint32_t since, std::uint64_t now_ns,
                 std::uint64_t enough_ns, F&& self) const {
        struct wanted { // somebody waits for this rank in this call
            rank_t rank;
            envelope call;
            std::size_t next_of_rank;
        };
        constexpr std::size_t none = ~std::size_t{0};
        detail::plain_list<wanted> all;
        detail::plain_list<std::size_t> first(size_, none);
        const auto reach = [&](const rank_set& who, const envelope& in) {
            who.for_each([&](rank_t r) {
                if (r >= size_) return;
                for (std::size_t i = first[r]; i != none; i = all[i].next_of_rank)
                    if (same_call(all[i].call, in)) return;
                all.push_back({r, in, first[r]});
                first[r] = all.size() - 1;
            });
        };
        detail::plain_list<suspect> suspects;
        reach(waits, call);
        for (std::size_t i = 0; i != all.size(); ++i) {
            const wanted x = all[i];
            const asked_rank* asked = x.rank == me_ || asked_.empty() ? nullptr : &asked_[x.rank];
            const question* q = asked == nullptr ? nullptr : asked->find(x.call);
            const bool is_known = x.rank == me_ || (q != nullptr && q->answered >= since);
            const bool is_silent =
                asked != nullptr && asked->is_open && asked->has_left && now_ns - asked->since_ns >= enough_ns;
            if (x.rank != me_ && (!is_known || is_silent)) {
                const finding::how_sure sure = is_known    ? finding::how_sure::was_there
                                               : is_silent ? finding::how_sure::sure
                                                           : finding::how_sure::unreached;
                suspects.push_back({x.rank, x.call, sure, {.absence = absence::silent}});
            }
            if (!is_known) continue;
            const whereabouts own = x.rank == me_ ? self(x.call) : whereabouts{};
            const whereabouts& at = x.rank == me_ ? own : q->said;
            if (at.at == whereabouts::place::in_it || at.at == whereabouts::place::elsewhere) reach(at.waits, at.call);
            if (is_silent || at.at == whereabouts::place::in_it || at.at == whereabouts::place::done) continue;
            if (at.at == whereabouts::place::nowhere)
                suspects.push_back({x.rank, x.call, finding::how_sure::sure, last(at.call, absence::not_come)});
            else
                suspects.push_back({x.rank, x.call, finding::how_sure::out_of_step, last(at.call, absence::elsewhere)});
        }
        return judge(suspects);
    }

    // Keeps what rank `by`, which may be this one, proposes to report because of its call `of`. It
    // holds until until_ns, or until `by` withdraws it with a finding of nothing, because what it
    // waited for in that call has come.
    void propose(rank_t by, const envelope& of, const finding& f, std::uint64_t until_ns, std::uint64_t now_ns) {
        proposals_.erase_if(
            [&](const proposal& p) { return now_ns >= p.until_ns || (p.by == by && same_call(p.of, of)); });
        if (f.sure != finding::how_sure::nothing && by < size_) proposals_.push_back({by, of, f, until_ns});
    }
    // The finding that follows from all current proposals that count(by, of) accepts.
    template <class F>
    finding proposed(std::uint64_t now_ns, F&& count) const {
        finding all;
        for (const proposal& p : proposals_)
            if (now_ns < p.until_ns && count(p.by, p.of)) all = both(all, p.what);
        return all;
    }
    // The ranks that have such a proposal.
    template <class F>
    rank_set proposers(std::uint64_t now_ns, F&& count) const {
        rank_set who(size_);
        for (const proposal& p : proposals_)
            if (now_ns < p.until_ns && count(p.by, p.of)) who.add(p.by);
        return who;
    }

    // The number of a communicator that has ended may be given to another one.
    void forget(std::uint16_t context) {
        for (asked_rank& x : asked_) {
            x.questions.erase_if([&](const question& q) { return q.about.context == context; });
            if (x.is_open && x.open.context == context) x.open.operation = 0;
        }
        proposals_.erase_if([&](const proposal& p) { return p.of.context == context; });
    }

    void clear() noexcept {
        asked_.clear();
        proposals_.clear();
        round_ = 0;
        staying_ = 0;
    }

private:
    struct question {
        envelope about{};
        std::uint32_t asked = 0, answered = 0; // the latest round of each
        bool is_due = false;                   // not sent yet
        whereabouts said{};
    };
    // The questions to one rank. At most one of them is on its way.
    struct asked_rank {
        const question* find(const envelope& call) const noexcept {
            for (const question& q : questions)
                if (same_call(q.about, call)) return &q;
            return nullptr;
        }
        moved_list<question> questions;
        envelope open{};                        // the call of the question that has no answer yet
        bool is_open = false, has_left = false; // there is such a question; it has left this process
        std::uint64_t since_ns = 0;             // when it was seen to have left
    };
    struct suspect {
        rank_t rank;
        envelope call; // in which somebody waits for it
        finding::how_sure sure;
        last_call last;
    };
    struct proposal {
        rank_t by;
        envelope of;
        finding what;
        std::uint64_t until_ns;
    };
    static constexpr std::uint32_t kept_rounds = 64; // answers are kept so long for other searches

    question& question_to(rank_t r, const envelope& call) {
        moved_list<question>& all = asked_[r].questions;
        for (question& q : all)
            if (same_call(q.about, call)) return q;
        for (question& q : all) // reuse one of a call that is long over
            if (!q.is_due && round_ - q.asked > kept_rounds) {
                q = {};
                q.about = call;
                return q;
            }
        all.emplace_back().about = call;
        return all.back();
    }
    template <class F>
    void ask_next(rank_t r, F&& send) {
        asked_rank& x = asked_[r];
        if (x.is_open) return;
        for (question& q : x.questions) {
            if (!std::exchange(q.is_due, false) || q.asked != round_) continue;
            x.open = q.about;
            x.is_open = true;
            x.has_left = false;
            ++staying_;
            return send(r, x.open);
        }
    }

    static std::uint64_t key(const status& s) noexcept { return std::uint64_t{s.context} << 32 | s.operation; }
    static last_call last(const envelope& e, absence a) noexcept { return {e.operation, e.context, e.kind, a}; }
    // One report of the surest suspects: those that are missing in the earliest call. If a rank
    // could not be asked, nobody is reported as out of step: they may all be waiting for that rank.
    static finding judge(const detail::plain_list<suspect>& suspects) {
        const bool is_complete =
            !detail::any_of(suspects, [](const suspect& x) { return x.sure == finding::how_sure::unreached; });
        finding made;
        const auto each = [&](auto&& f) {
            for (const suspect& x : suspects) {
                if (x.sure == finding::how_sure::out_of_step && !is_complete) continue;
                finding one{x.sure, {.code = errc::deadline}};
                one.report.collective = x.call.kind;
                one.report.peer = x.rank;
                one.report.operation = x.call.operation;
                one.report.context = x.call.context;
                one.report.missing = 1;
                one.report.mine = std::uint64_t{1} << x.rank % 64;
                one.report.theirs = x.last.packed();
                f(one);
            }
        };
        each([&](const finding& one) { made = both(made, one); });
        std::uint16_t count = 0;
        each([&](const finding& one) {
            count += one.sure == made.sure && count < 255 && key(one.report) == key(made.report);
        });
        made.report.missing = count;
        return made;
    }

    rank_t size_, me_;
    std::uint32_t round_ = 0;
    std::uint64_t began_ns_ = 0;
    moved_list<asked_rank> asked_; // by rank; empty before the first search
    std::size_t staying_ = 0;      // open questions that have not been seen to leave this rank
    detail::plain_list<proposal> proposals_;
};
using absence_search = basic_absence_search<0>;

} // namespace bough::detail

#endif
