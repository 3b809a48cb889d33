// SPDX-License-Identifier: BSL-1.0
// Absence_search: which ranks hold up an operation that is about to end by its deadline.
//
// A rank that waits knows only the ranks that it needs a message of, and these may be waiting, too. So it asks each of them
// where it is, and then asks those that it waits for, and so on:
//
//   0 --waits for--> 4 --waits for--> 5: does not answer, so 5 is missing; 4 only waits
//
// An answer is one of four. "I am in that call, and wait for these": it is innocent. "I have done my part in it": innocent,
// too. "I have not come to it, and am in another call, where I wait for these": innocent if one of these is missing. "I have
// not come to it, and am in no call": it is missing, as is a rank that does not answer at all. Only ranks that somebody waits
// for are asked, so a root that has sent everything and computes is never named. If all who are asked wait for each other,
// those are named that are in another call than the others wait for them in.
// This is the memory of it, without messages: bough/execute/deadline_watch.hpp sends them. Nothing is allocated before the
// first search. (doc/design/013-who-is-missing.md)
#ifndef BOUGH_EXECUTE_ABSENCE_SEARCH_HPP
#define BOUGH_EXECUTE_ABSENCE_SEARCH_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/absence.hpp>
#include <bough/core/status.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::detail {

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
    std::vector<unsigned char>& bytes() noexcept { return bits_; }
    const std::vector<unsigned char>& bytes() const noexcept { return bits_; }

private:
    std::vector<unsigned char> bits_;
};

// Where a rank is, when it is asked about a call.
struct whereabouts {
    enum class place : std::uint8_t { done, in_it, elsewhere, nowhere };
    place at = place::nowhere;
    envelope call{};  // the one that it is in; nowhere: its latest, whose operation is 0 if there is none
    rank_set waits{}; // in that call, for these
};

// What a rank would report, and how sure it is: of two findings the surer one counts.
struct finding {
    enum class how_sure : std::uint8_t { nothing, out_of_step, unreached, was_there, sure };
    how_sure sure = how_sure::nothing;
    status report{};

    // The same on every rank that has the same findings, in whatever order they came. Of the same call: all who are missing.
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
    // What to report of it, if these ranks have proposed something themselves: they do not hold others up by being away. And
    // several findings may have named more ranks than any one of them counted.
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

class absence_search {
public:
    explicit absence_search(rank_t size, rank_t me) noexcept : size_(size), me_(me) {}

    std::uint32_t round() const noexcept { return round_; }
    // In a round each rank is asked once. Operations that look for theirs within `at_least_ns` share one.
    void begin_round(std::uint64_t now_ns, std::uint64_t at_least_ns) {
        if (asked_.empty()) asked_.resize(size_);
        if (round_ != 0 && now_ns - began_ns_ < at_least_ns) return;
        ++round_;
        began_ns_ = now_ns;
    }
    // send(rank, call) for each of `who` that is to be asked about `call`.
    template <class F>
    void ask(const rank_set& who, const envelope& call, std::uint64_t now_ns, F&& send) {
        who.for_each([&](rank_t r) {
            if (r == me_ || r >= size_ || asked_[r].round == round_) return;
            question& q = asked_[r];
            q.round = round_;
            if (std::exchange(q.is_open, true)) return; // it has not answered the last one yet
            q.since_ns = now_ns;
            send(r, call);
        });
    }
    // False: it was not asked.
    bool answered(rank_t from, whereabouts&& said) {
        if (from >= asked_.size() || !asked_[from].is_open) return false;
        question& q = asked_[from];
        q.is_open = false;
        q.answered = round_;
        q.said = std::move(said);
        return true;
    }
    const whereabouts& said_by(rank_t r) const noexcept { return asked_[r].said; }

    // Who holds up `call`, in which this rank waits for `waits`. An answer is of use if it came in `since` or later; who has
    // not answered in `enough_ns` is silent. `self(call)` -> whereabouts: where this rank is, if others wait for it.
    // `is_stuck(rank)`: the question to it has not even left.
    template <class F, class G>
    finding find(const rank_set& waits, const envelope& call, std::uint32_t since, std::uint64_t now_ns,
                 std::uint64_t enough_ns, F&& self, G&& is_stuck) const {
        struct place {
            bool reached = false;
            envelope in{}; // the first call in which somebody waits for it
        };
        std::vector<place> places(size_);
        std::vector<rank_t> next;
        const auto reach = [&](const rank_set& who, const envelope& in) {
            who.for_each([&](rank_t r) {
                if (r >= size_) return;
                if (std::exchange(places[r].reached, true)) {
                    if (key(in) < key(places[r].in)) places[r].in = in;
                    return;
                }
                places[r].in = in;
                next.push_back(r);
            });
        };
        std::vector<suspect> suspects;
        reach(waits, call);
        while (!next.empty()) {
            const rank_t r = next.back();
            next.pop_back();
            whereabouts own;
            if (r == me_) own = self(places[r].in);
            const question& q = asked_[r];
            const bool is_known = r == me_ || q.answered >= since;
            const bool had_time = q.is_open && now_ns - q.since_ns >= enough_ns && !is_stuck(r);
            const whereabouts& at = r == me_ ? own : q.said;
            if (r != me_ && (!is_known || had_time)) {
                const finding::how_sure sure = is_known   ? finding::how_sure::was_there
                                               : had_time ? finding::how_sure::sure
                                                          : finding::how_sure::unreached;
                suspects.push_back({r, sure, {.absence = absence::silent}});
            } else if (at.at == whereabouts::place::nowhere) {
                suspects.push_back({r, finding::how_sure::sure, last(at.call, absence::not_come)});
            } else if (at.at == whereabouts::place::elsewhere) {
                suspects.push_back({r, finding::how_sure::out_of_step, last(at.call, absence::elsewhere)});
            }
            if (is_known && (at.at == whereabouts::place::in_it || at.at == whereabouts::place::elsewhere))
                reach(at.waits, at.call);
        }
        return judge(suspects, [&](rank_t r) -> const envelope& { return places[r].in; });
    }

    // What all ranks propose to report, this one included; one that has not come again until then is of no use any more.
    void propose(rank_t by, const finding& f, std::uint64_t until_ns, std::uint64_t now_ns) {
        if (now_ns >= proposed_until_ns_) proposers_ = rank_set(size_);
        if (by < size_) proposers_.add(by);
        proposal_ = now_ns < proposed_until_ns_ ? both(proposal_, f) : f;
        proposed_until_ns_ = std::max(proposed_until_ns_, until_ns);
    }
    const rank_set& proposers() const noexcept { return proposers_; }
    finding proposal(std::uint64_t now_ns) const noexcept {
        return now_ns < proposed_until_ns_ ? proposal_ : finding{};
    }

    void clear() noexcept {
        asked_.clear();
        round_ = 0;
        proposed_until_ns_ = 0;
    }

private:
    struct question {
        std::uint32_t round = 0, answered = 0; // the latest rounds in which that happened
        std::uint64_t since_ns = 0;
        bool is_open = false;
        whereabouts said{};
    };
    struct suspect {
        rank_t rank;
        finding::how_sure sure;
        last_call last;
    };

    static std::uint64_t key(const envelope& e) noexcept { return std::uint64_t{e.context} << 32 | e.operation; }
    static last_call last(const envelope& e, absence a) noexcept { return {e.operation, e.context, e.kind, a}; }
    // Of the surest suspects those that are missing in the earliest call, as one report.
    template <class F>
    static finding judge(const std::vector<suspect>& suspects, F&& call_of) {
        finding made;
        for (const suspect& x : suspects) {
            const envelope& call = call_of(x.rank);
            finding f{x.sure, {.code = errc::deadline}};
            f.report.collective = call.kind;
            f.report.peer = x.rank;
            f.report.operation = call.operation;
            f.report.context = call.context;
            f.report.missing = 1;
            f.report.mine = std::uint64_t{1} << x.rank % 64;
            f.report.theirs = x.last.packed();
            made = both(made, f);
        }
        if (made.sure == finding::how_sure::nothing) return made;
        std::uint16_t all = 0;
        for (const suspect& x : suspects)
            all += x.sure == made.sure && all < 255 &&
                   key(call_of(x.rank)) == (std::uint64_t{made.report.context} << 32 | made.report.operation);
        made.report.missing = all;
        return made;
    }

    rank_t size_, me_;
    std::uint32_t round_ = 0;
    std::uint64_t began_ns_ = 0;
    std::vector<question> asked_; // by rank; empty before the first search
    finding proposal_{};
    rank_set proposers_;
    std::uint64_t proposed_until_ns_ = 0;
};

} // namespace bough::detail

#endif
