// SPDX-License-Identifier: BSL-1.0
// Diagnosis: what holds up or broke a job, found in the recordings of its ranks.
//
// These are looked for in the evidence (bough/report/evidence.hpp), in this order:
//   1. Two ranks made different calls under one number. The fewer ranks are named.
//   2. A rank died, and no other failure came first.
//   3. A rank has not come to a call in which others wait, and is in no call: it is named, with its
//      latest call. It may have left no recording.
//   4. Ranks wait for each other in calls of two communicators: those are named that made them in another
//      order than most.
//   5. What the ranks themselves have found out about a missed deadline
//      (doc/design/013-who-is-missing.md).
//   6. All have come to the call. Whoever waits goes to the rank that it waits for; a rank that does
//      not move is where these ways end.
//   7. All wait, but some have given no sign for much longer than the others, who wait for them: these
//      were stopped after they had noted that they wait. Clocks of several machines have to agree for that.
//   8. Whatever else a status says, as of an op that threw.
#ifndef BOUGH_REPORT_DIAGNOSIS_HPP
#define BOUGH_REPORT_DIAGNOSIS_HPP

#include <bough/core/absence.hpp>
#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>
#include <bough/op/names.hpp>
#include <bough/report/call_record.hpp>
#include <bough/report/evidence.hpp>
#include <bough/report/read.hpp>
#include <bough/report/words.hpp>
#include <bough/schedule/goal.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

struct diagnosis {
    enum class cause : std::uint8_t {
        none,         // nothing has failed, and nothing waits
        waiting,      // calls are in flight, and nothing says that they will not end
        differs,      // `ranks` made another call than the others
        not_called,   // `ranks` have not made a call in which others wait
        out_of_order, // `ranks` made their calls on several communicators in another order than the others
        stuck,        // `ranks` are in the call, and do not move
        died,         // `ranks` are gone
        failed,       // something else; the sentence says what
    };
    cause what = cause::none;
    std::vector<rank_t> ranks{}; // of the transport, in order
    std::string sentence{};      // one line, without an end
};

namespace detail {

template <int I>
class basic_diagnostician {
public:
    // Pre: of one job, and `all` lives as long as this.
    explicit basic_diagnostician(std::span<const recording> all) : known_(all) {}

    diagnosis find() const {
        for (const auto step :
             {&basic_diagnostician::different_calls, &basic_diagnostician::died, &basic_diagnostician::not_come,
              &basic_diagnostician::other_order, &basic_diagnostician::told_missing, &basic_diagnostician::dead_end,
              &basic_diagnostician::silent, &basic_diagnostician::told_failure})
            if (diagnosis d = (this->*step)(); d.what != cause::none) return d;
        if (known_.blocked().empty()) return {cause::none, {}, "nothing waits, and nothing has failed"};
        const recorded_call& first = known_.blocked().begin()->second;
        return {
            cause::waiting, {}, "calls are in flight, as " + first.words() + "; nothing says that they will not end"};
    }
    std::uint64_t now_ns() const noexcept { return known_.now_ns(); }

private:
    using cause = diagnosis::cause;

    static std::string waiting_words(std::size_t ranks) {
        return std::to_string(ranks) + (ranks == 1 ? " rank waits" : " ranks wait");
    }
    static std::string have(std::size_t n) { return n == 1 ? " has" : " have"; }

    // Ranks that take no part in a multicast have another signature, and are right.
    static bool takes_no_part(const call_record& c) {
        return c.signature.kind == goal::multicast::kind && c.signature.op == detail::takes_no_part;
    }

    // 1. Calls of one number that differ.
    diagnosis different_calls() const {
        struct found {
            std::uint64_t begin = 0;
            std::vector<std::pair<call_signature, std::vector<recorded_call>>> kinds;
        } first;
        for (const auto& [who, its] : known_.groups()) {
            std::set<std::uint32_t> numbers;
            for (const auto& [r, record] : its)
                for (const call_record& c : record->calls) numbers.insert(c.number);
            for (const std::uint32_t n : numbers) {
                found here;
                for (const auto& [r, record] : its) {
                    const call_record* c = record->find(n);
                    if (c == nullptr || takes_no_part(*c)) continue;
                    here.begin = std::max(here.begin, record->time_of(c->begin));
                    auto same = std::find_if(here.kinds.begin(), here.kinds.end(),
                                             [c](const auto& k) { return k.first == c->signature; });
                    if (same == here.kinds.end()) same = here.kinds.insert(same, {c->signature, {}});
                    same->second.push_back({record, c});
                }
                if (here.kinds.size() < 2 || (!first.kinds.empty() && first.begin <= here.begin)) continue;
                first = std::move(here);
                break; // those behind it differ because of it
            }
        }
        if (first.kinds.empty()) return {};
        std::stable_sort(first.kinds.begin(), first.kinds.end(),
                         [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
        const auto& others = first.kinds.back();
        diagnosis d{cause::differs, {}, {}};
        for (std::size_t k = 0; k + 1 != first.kinds.size(); ++k)
            for (const recorded_call& p : first.kinds[k].second) d.ranks.push_back(p.in->head.of.rank);
        std::sort(d.ranks.begin(), d.ranks.end());
        std::vector<rank_t> rest;
        for (const recorded_call& p : others.second) rest.push_back(p.in->head.of.rank);
        const recorded_call& its = first.kinds.front().second.front();
        d.sentence = ranks_text(d.ranks) + " called " + its.words();
        if (its.call->signature.kind != others.first.kind)
            d.sentence += ", where " + ranks_text(rest) + " called " + others.second.front().words();
        else
            d.sentence += " with " + difference_words(its.call->signature, others.first) +
                          plans_words(its, others.second.front());
        if (rest.size() == d.ranks.size()) { // nobody can say who is wrong
            d.ranks.insert(d.ranks.end(), rest.begin(), rest.end());
            std::sort(d.ranks.begin(), d.ranks.end());
        } else {
            d.sentence += how_it_came(its, others.second);
        }
        return d;
    }
    // The plans in words, if the calls differ in nothing else.
    static std::string plans_words(const recorded_call& its, const recorded_call& others) {
        call_signature same = others.call->signature;
        same.plan = its.call->signature.plan;
        if (!(same == its.call->signature)) return {};
        const std::string mine = its.in->plan_text(its.call->signature.plan);
        const std::string theirs = others.in->plan_text(others.call->signature.plan);
        if (mine.empty() || theirs.empty()) return {};
        return " (" + mine + ", where others have " + theirs +
               "); perhaps the ranks run different builds, or choose by "
               "different costs";
    }
    // Has the rank skipped a call, or made two in another order?
    static std::string how_it_came(const recorded_call& its, const std::vector<recorded_call>& others) {
        const std::uint32_t n = its.call->number;
        const auto next_of_others = [&]() -> const call_record* {
            for (const recorded_call& p : others)
                if (const call_record* c = p.in->find(n + 1)) return c;
            return nullptr;
        }();
        if (next_of_others == nullptr || !(next_of_others->signature == its.call->signature)) return {};
        const call_record* next = its.in->find(n + 1);
        if (next != nullptr && next->signature == others.front().call->signature)
            return "; it made these two calls in another order";
        return "; it seems to have skipped " + others.front().words();
    }

    // 2. A rank died, and no other failure came first.
    diagnosis died() const {
        std::map<rank_t, std::size_t> votes;
        for (const auto& [who, s] : known_.said()) {
            const errc first = s.code == errc::peer_aborted ? s.cause : s.code;
            if (first != errc::peer_dead) return {};
            if (s.peer < known_.size()) ++votes[s.peer];
        }
        if (votes.empty()) return {};
        rank_t victim = votes.begin()->first;
        // Of several, the one that has reported no failure itself: it had no time to.
        const auto weight = [&](rank_t r) { return std::pair(known_.said().count(r) == 0, votes.at(r)); };
        for (const auto& [r, n] : votes)
            if (weight(r) > weight(victim)) victim = r;
        diagnosis d{cause::died, {victim}, "rank " + std::to_string(victim) + " died"};
        if (const auto at = known_.blocked().find(victim); at != known_.blocked().end())
            d.sentence += " in " + at->second.words();
        else
            d.sentence += known_.last_words(victim);
        return d;
    }

    // 3. Ranks that are in no call, while others wait in one that they have not made.
    diagnosis not_come() const {
        struct absent {
            std::size_t waiting = 0;
            recorded_call in{}; // what it has not called
            const recording* its = nullptr;
        };
        std::map<rank_t, absent> all;
        for (const auto& [who, its] : known_.groups()) {
            auto [n, waits] = known_.awaited(its);
            if (n == nullptr) continue;
            for (const rank_t r : who.second) {
                const bool is_late = known_.came_late(r, its, *n);
                if (known_.blocked().count(r) != 0 && !is_late) continue;
                const auto at = its.find(r);
                const recording* record = at == its.end() ? nullptr : at->second;
                std::erase(waits, r);
                if (record != nullptr && record->latest() != nullptr &&
                    !is_before(record->latest()->number, n->number) && !is_late)
                    continue; // it has made that call
                if (record == nullptr && known_.present().count(r) == 0 && !known_.is_told_missing(r) &&
                    !known_.may_be_absent())
                    continue;
                const auto known = all.find(r);
                if (waits.size() <= (known == all.end() ? 0 : known->second.waiting)) continue; // or nobody waits
                absent& a = all[r] = {waits.size(), {its.begin()->second, n}, record};
                for (const auto& [w, wr] : its)
                    if (wr->find(n->number) == n) a.in.in = wr;
            }
        }
        if (all.empty()) return {};
        diagnosis d{cause::not_called, {}, {}};
        const absent* most = nullptr;
        for (const auto& [r, a] : all)
            if (most == nullptr || a.waiting > most->waiting) most = &a;
        for (const auto& [r, a] : all)
            if (basic_evidence<I>::key_of(*a.in.in) == basic_evidence<I>::key_of(*most->in.in)) d.ranks.push_back(r);
        if (d.ranks.size() == 1 && most->its != nullptr)
            if (const call_record* its = most->its->find(most->in.call->number); its != nullptr) {
                const std::uint64_t here = most->its->time_of(its->begin),
                                    there = most->in.in->time_of(most->in.call->begin);
                d.sentence = ranks_text(d.ranks) + " came too late to " + most->in.words();
                if (here > there && there != 0) d.sentence += ", " + duration_text(here - there) + " after others";
                return d;
            }
        d.sentence = ranks_text(d.ranks) + have(d.ranks.size()) + " not called " + most->in.words();
        if (d.ranks.size() == 1) {
            if (most->its != nullptr)
                d.sentence += known_.last_words(*most->its);
            else if (known_.present().count(d.ranks[0]) == 0)
                d.sentence += known_.told_last_words(d.ranks[0]);
            else
                d.sentence += "; it does not have this communicator";
        }
        d.sentence += "; " + waiting_words(most->waiting) + " for it";
        if (d.ranks.size() != 1) d.sentence.back() = 's', d.sentence.replace(d.sentence.size() - 2, 2, "them");
        return d;
    }

    // 4. Ranks that wait in calls of different communicators, which the others have not made.
    diagnosis other_order() const {
        std::vector<std::pair<recorded_call, std::vector<rank_t>>> calls;
        for (const auto& [r, at] : known_.blocked()) {
            const auto same = std::find_if(calls.begin(), calls.end(), [&its = at](const auto& c) {
                return c.first.call->number == its.call->number &&
                       basic_evidence<I>::key_of(*c.first.in) == basic_evidence<I>::key_of(*its.in);
            });
            same == calls.end() ? calls.push_back({at, {r}}) : same->second.push_back(r);
        }
        if (calls.size() < 2) return {};
        // Two calls are out of order if some rank in each of them has not made the other one. Most ranks
        // made them in the right order.
        for (std::size_t a = 0; a != calls.size(); ++a)
            for (std::size_t b = a + 1; b != calls.size(); ++b) {
                if (!lacks(calls[a], calls[b]) || !lacks(calls[b], calls[a])) continue;
                const std::vector<rank_t> a_first = first_in(calls[a].first, calls[b].first),
                                          b_first = first_in(calls[b].first, calls[a].first);
                const bool a_is_right = a_first.size() >= b_first.size();
                const auto &right = a_is_right ? calls[a] : calls[b], &wrong = a_is_right ? calls[b] : calls[a];
                const std::vector<rank_t>&few = a_is_right ? b_first : a_first, &many = a_is_right ? a_first : b_first;
                diagnosis d{cause::out_of_order, few, {}};
                d.sentence = ranks_text(few) + (few.size() == 1 ? " is in " : " are in ") + wrong.first.words() +
                             " and" + have(few.size()) + " not called " + right.first.words() + ", in which " +
                             ranks_text(right.second) + (right.second.size() == 1 ? " waits" : " wait") +
                             ": a call was skipped, or made in another order than on " + ranks_text(many);
                if (few.size() == many.size()) { // nobody can say who is wrong
                    d.ranks.insert(d.ranks.end(), many.begin(), many.end());
                    std::sort(d.ranks.begin(), d.ranks.end());
                }
                return d;
            }
        return {};
    }
    // The ranks that made the call `one`, and not `other` before it.
    std::vector<rank_t> first_in(const recorded_call& one, const recorded_call& other) const {
        const auto begin_of = [&](const recorded_call& p, rank_t r) -> std::uint64_t { // 0: it has not made it
            const auto& its = known_.groups().at(basic_evidence<I>::key_of(*p.in));
            const auto at = its.find(r);
            const call_record* c = at == its.end() ? nullptr : at->second->find(p.call->number);
            return c == nullptr ? 0 : c->begin;
        };
        std::vector<rank_t> made;
        for (const rank_t r : known_.present()) {
            const std::uint64_t mine = begin_of(one, r), its = begin_of(other, r);
            if (mine != 0 && (its == 0 || mine < its)) made.push_back(r);
        }
        return made;
    }
    // Has a rank that waits in `in` not made the call `other`, of which it is a member?
    bool lacks(const std::pair<recorded_call, std::vector<rank_t>>& in,
               const std::pair<recorded_call, std::vector<rank_t>>& other) const {
        const auto where = basic_evidence<I>::key_of(*other.first.in);
        const auto its = known_.groups().find(where);
        return std::any_of(in.second.begin(), in.second.end(), [&](rank_t r) {
            if (std::find(where.second.begin(), where.second.end(), r) == where.second.end()) return false;
            const auto at = its->second.find(r);
            const call_record* last = at == its->second.end() ? nullptr : at->second->latest();
            return last == nullptr || is_before(last->number, other.first.call->number);
        });
    }

    // 5. What the ranks have found out by asking each other, before their deadline.
    diagnosis told_missing() const {
        std::set<rank_t> missing;
        const status* first = nullptr;
        for (const auto& [who, s] : known_.said()) {
            if (!names_missing(s) || last_call_of(s).absence == absence::late) continue;
            if (first == nullptr) first = &s;
            for (rank_t r = 0; r != known_.size(); ++r)
                if (is_missing(s, r)) missing.insert(r);
        }
        if (first == nullptr) return {};
        diagnosis d{cause::stuck, {missing.begin(), missing.end()}, {}};
        d.sentence = ranks_text(d.ranks);
        const auto at = known_.blocked().find(d.ranks[0]);
        if (d.ranks.size() == 1 && at != known_.blocked().end())
            d.sentence += " is in " + at->second.words() + ", and does not move";
        else
            d.sentence +=
                have(d.ranks.size()) + " not come to " + call_text(first->collective, first->operation, first->context);
        if (last_call_of(*first).absence == absence::silent)
            d.sentence += d.ranks.size() == 1 ? "; it does not answer the others" : "; they do not answer the others";
        return d;
    }

    // 6. Where the ways of waiting end.
    diagnosis dead_end() const {
        std::set<rank_t> ends;
        for (const auto& [r, at] : known_.blocked())
            for (const rank_t of : known_.waits_for(at))
                if (const auto its = known_.blocked().find(of);
                    its != known_.blocked().end() && !known_.waits(its->second))
                    ends.insert(of);
        if (ends.empty()) return {};
        diagnosis d{cause::stuck, {ends.begin(), ends.end()}, {}};
        d.sentence = ranks_text(d.ranks) + (ends.size() == 1 ? " is in " : " are in ") +
                     known_.blocked().at(d.ranks[0]).words() + (ends.size() == 1 ? " and does" : " and do") +
                     " not move; the others wait for " + (ends.size() == 1 ? "it" : "them");
        return d;
    }

    // 7. Who waits and was stopped then. A rank that waits gives a sign each tenth of a second.
    static constexpr std::uint64_t least_silence_ns = 1'000'000'000, times_that_of_others = 4;
    diagnosis silent() const {
        std::vector<std::pair<std::uint64_t, rank_t>> all; // that wait now, by their silence
        for (const auto& [r, at] : known_.blocked())
            if (at.call->its.state == call_state::in_flight) all.push_back({known_.silence_ns(r), r});
        std::sort(all.begin(), all.end());
        std::size_t others = std::min<std::size_t>(1, all.size());
        while (others != all.size() &&
               all[others].first < std::max(least_silence_ns, times_that_of_others * all[others - 1].first))
            ++others;
        std::set<rank_t> ends, waiting;
        for (std::size_t i = 0; i != others; ++i)
            for (const rank_t of : known_.waits_for(known_.blocked().at(all[i].second)))
                if (std::any_of(all.begin() + static_cast<std::ptrdiff_t>(others), all.end(),
                                [of](const auto& one) { return one.second == of; }))
                    ends.insert(of), waiting.insert(all[i].second);
        if (ends.empty()) return {};
        diagnosis d{cause::stuck, {ends.begin(), ends.end()}, {}};
        std::uint64_t least_ns = known_.silence_ns(d.ranks[0]);
        for (const rank_t r : ends) least_ns = std::min(least_ns, known_.silence_ns(r));
        d.sentence = ranks_text(d.ranks) + (ends.size() == 1 ? " is in " : " are in ") +
                     known_.blocked().at(d.ranks[0]).words() + " and" + have(ends.size()) + " given no sign for " +
                     duration_text(least_ns) + "; " + waiting_words(waiting.size()) +
                     (ends.size() == 1 ? " for it" : " for them");
        return d;
    }

    // 8. Whatever else a rank says of its failure.
    diagnosis told_failure() const {
        const status* best = nullptr;
        rank_t by = 0;
        for (const auto& [r, s] : known_.said())
            if (best == nullptr || (best->code == errc::peer_aborted && s.code != errc::peer_aborted))
                best = &s, by = r;
        if (best == nullptr) return {};
        diagnosis d{cause::failed, {}, {}};
        d.ranks.push_back(best->peer < known_.size() ? best->peer : by);
        d.sentence = "rank " + std::to_string(by) + " says: " + message_of(*best);
        return d;
    }

    basic_evidence<I> known_;
};
using diagnostician = basic_diagnostician<0>;

} // namespace detail
} // namespace bough

#endif
