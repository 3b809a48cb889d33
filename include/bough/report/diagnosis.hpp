// SPDX-License-Identifier: BSL-1.0
// Diagnosis: what holds up or broke a job, found in the recordings of its ranks.
//
// These are looked for, in this order:
//   1. Two ranks made different calls under one number. The fewer ranks are named.
//   2. A rank has not come to a call in which others wait, and is in no call: it is named, with its
//      latest call. It may have left no recording.
//   3. Ranks wait for each other in calls of two communicators: those are named that made them in another
//      order than most.
//   4. All have come to the call. Whoever waits goes to the rank that it waits for; a rank that does
//      not move is where these ways end.
//   5. What a status says: a rank that died, an op that threw.
// What the ranks themselves have found out about a missed deadline (doc/design/013-who-is-missing.md)
// comes before 4.
#ifndef BOUGH_REPORT_DIAGNOSIS_HPP
#define BOUGH_REPORT_DIAGNOSIS_HPP

#include <bough/core/absence.hpp>
#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>
#include <bough/report/call_record.hpp>
#include <bough/report/read.hpp>
#include <bough/report/words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
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

template <int>
class basic_diagnostician {
public:
    // Pre: of one job. Each of them has what `newest` recordings of its epoch say.
    explicit basic_diagnostician(std::span<const recording> all) : all_(all) {
        for (const recording& r : all) {
            size_ = r.head.of.size;
            epoch_ = std::max(epoch_, r.head.of.epoch);
            now_ns_ = std::max(now_ns_, r.last_sign());
        }
        for (const bool closed : {false, true}) // a number may have been used again
            for (const recording& r : all)
                if (r.head.of.epoch == epoch_ && (r.head.of.is_closed != 0) == closed) enter(r);
    }

    diagnosis find() const {
        for (const auto step :
             {&basic_diagnostician::different_calls, &basic_diagnostician::died, &basic_diagnostician::not_come,
              &basic_diagnostician::other_order, &basic_diagnostician::told_missing, &basic_diagnostician::dead_end,
              &basic_diagnostician::told_failure})
            if (diagnosis d = (this->*step)(); d.what != cause::none) return d;
        if (blocked_.empty()) return {cause::none, {}, "nothing waits, and nothing has failed"};
        const place& first = blocked_.begin()->second;
        return {
            cause::waiting, {}, "calls are in flight, as " + words(first) + "; nothing says that they will not end"};
    }
    std::uint64_t now_ns() const noexcept { return now_ns_; }

private:
    using cause = diagnosis::cause;
    struct place { // where a rank waits
        const recording* in = nullptr;
        const call_record* call = nullptr;
    };
    // Communicators of one number may have different members.
    using key = std::pair<std::uint16_t, std::vector<rank_t>>;
    using group = std::map<rank_t, const recording*>;

    void enter(const recording& r) {
        const rank_t rank = r.head.of.rank;
        present_.insert(rank);
        if (r.head.poison.code != errc::ok && !is_over(r)) said_.emplace(rank, r.head.poison.as_status());
        const call_record* c = groups_[key_of(r)].try_emplace(rank, &r).second ? blocked_call(r) : nullptr;
        if (c == nullptr) return;
        const auto [at, is_new] = blocked_.try_emplace(rank, place{&r, c});
        if (!is_new && c->begin < at->second.call->begin) at->second = {&r, c};
    }
    // Has a call ended well after the one of which the status tells?
    static bool is_over(const recording& r) noexcept {
        const status_record& why = r.head.poison;
        if (why.context != r.head.of.context || why.operation == 0) return false;
        return std::any_of(r.calls.begin(), r.calls.end(), [&](const call_record& c) {
            return before(why.operation, c.number) &&
                   (c.its.state == call_state::ended || c.its.state == call_state::ended_at_once);
        });
    }
    static key key_of(const recording& r) { return {r.head.of.context, r.members}; }
    static bool is_follow_up(errc code) noexcept {
        return code == errc::deadline || code == errc::peer_aborted || code == errc::group_poisoned ||
               code == errc::peer_dead || code == errc::cancelled || code == errc::call_mismatch;
    }
    // The oldest call in which the rank waits, or waited when the group broke; null: none.
    static const call_record* blocked_call(const recording& r) noexcept {
        const call_record* oldest = nullptr;
        bool is_past = false; // a later call has ended well, so what failed before is over
        for (auto c = r.calls.rbegin(); c != r.calls.rend(); ++c) {
            is_past |= c->its.state == call_state::ended || c->its.state == call_state::ended_at_once;
            if (c->its.state == call_state::in_flight ||
                (c->its.state == call_state::failed && is_follow_up(c->its.code) && !is_past))
                oldest = &*c;
        }
        return oldest;
    }
    static std::string words(const place& at) { return call_words(*at.call, at.in->head.of.context); }
    std::string ago(std::uint64_t ns) const {
        return ns == 0 ? "" : duration_text(now_ns_ - std::min(now_ns_, ns)) + " ago";
    }
    // ", its last call was broadcast #16, 2.3 s ago"
    std::string last_words(const recording* its) const {
        if (its == nullptr) return "";
        const call_record* last = its->latest();
        if (last == nullptr) return "; it has made no call";
        const std::uint64_t end = its->time_of(last->end != 0 ? last->end : last->begin);
        const std::string when = ago(end);
        return "; its last call was " + call_words(*last, its->head.of.context) + (when.empty() ? "" : ", ") + when;
    }
    std::string waiting_words(std::size_t ranks) const {
        return std::to_string(ranks) + (ranks == 1 ? " rank waits" : " ranks wait");
    }
    static std::string have(std::size_t n) { return n == 1 ? " has" : " have"; }

    // 1. Calls of one number that differ.
    diagnosis different_calls() const {
        struct found {
            std::uint64_t begin = 0;
            std::vector<std::pair<call_signature, std::vector<place>>> kinds;
        } first;
        for (const auto& [who, its] : groups_) {
            std::set<std::uint32_t> numbers;
            for (const auto& [r, record] : its)
                for (const call_record& c : record->calls) numbers.insert(c.number);
            for (const std::uint32_t n : numbers) {
                found here;
                for (const auto& [r, record] : its) {
                    const call_record* c = record->find(n);
                    if (c == nullptr) continue;
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
            for (const place& p : first.kinds[k].second) d.ranks.push_back(p.in->head.of.rank);
        std::sort(d.ranks.begin(), d.ranks.end());
        std::vector<rank_t> rest;
        for (const place& p : others.second) rest.push_back(p.in->head.of.rank);
        const place& its = first.kinds.front().second.front();
        d.sentence = ranks_text(d.ranks) + " called " + words(its);
        if (its.call->signature.kind != others.first.kind)
            d.sentence += ", where " + ranks_text(rest) + " called " + words(others.second.front());
        else
            d.sentence += " with " + difference_words(its.call->signature, others.first);
        if (rest.size() == d.ranks.size()) { // nobody can say who is wrong
            d.ranks.insert(d.ranks.end(), rest.begin(), rest.end());
            std::sort(d.ranks.begin(), d.ranks.end());
        } else {
            d.sentence += how_it_came(its, others.second);
        }
        return d;
    }
    // Has the rank skipped a call, or made two in another order?
    static std::string how_it_came(const place& its, const std::vector<place>& others) {
        const std::uint32_t n = its.call->number;
        const auto next_of_others = [&]() -> const call_record* {
            for (const place& p : others)
                if (const call_record* c = p.in->find(n + 1)) return c;
            return nullptr;
        }();
        if (next_of_others == nullptr || !(next_of_others->signature == its.call->signature)) return {};
        const call_record* next = its.in->find(n + 1);
        if (next != nullptr && next->signature == others.front().call->signature)
            return "; it made these two calls in another order";
        return "; it seems to have skipped " + words(others.front());
    }

    // 5. A rank died, and no other failure came first.
    diagnosis died() const {
        std::map<rank_t, std::size_t> votes;
        for (const auto& [who, s] : said_) {
            const errc first = s.code == errc::peer_aborted ? s.cause : s.code;
            if (first != errc::peer_dead) return {};
            if (s.peer < size_) ++votes[s.peer];
        }
        if (votes.empty()) return {};
        rank_t victim = votes.begin()->first;
        // Of several, the one that has reported no failure itself: it had no time to.
        const auto weight = [&](rank_t r) { return std::pair(said_.count(r) == 0, votes.at(r)); };
        for (const auto& [r, n] : votes)
            if (weight(r) > weight(victim)) victim = r;
        diagnosis d{cause::died, {victim}, "rank " + std::to_string(victim) + " died"};
        if (const auto at = blocked_.find(victim); at != blocked_.end()) {
            d.sentence += " in " + words(at->second);
        } else {
            const recording* its = any_recording_of(victim);
            d.sentence += its != nullptr ? last_words(its) : "; there is no recording of it";
        }
        return d;
    }

    // 2. Ranks that are in no call, while others wait in one that they have not made.
    diagnosis not_come() const {
        struct absent {
            std::size_t waiting = 0;
            place in{}; // what it has not called
            const recording* its = nullptr;
        };
        std::map<rank_t, absent> all;
        for (const auto& [who, its] : groups_) {
            auto [n, waits] = awaited(its);
            if (n == nullptr) continue;
            for (const rank_t r : who.second) {
                const bool is_late = came_late(r, its, *n);
                if (blocked_.count(r) != 0 && !is_late) continue;
                const auto at = its.find(r);
                const recording* record = at == its.end() ? nullptr : at->second;
                std::erase(waits, r);
                if (record != nullptr && record->latest() != nullptr && !before(record->latest()->number, n->number) &&
                    !is_late)
                    continue; // it has made that call
                if (record == nullptr && present_.count(r) == 0 && !is_told_missing(r) && !may_be_absent()) continue;
                absent& a = all[r];
                if (waits.size() <= a.waiting) continue;
                a = {waits.size(), {its.begin()->second, n}, record};
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
            if (key_of(*a.in.in) == key_of(*most->in.in)) d.ranks.push_back(r);
        if (d.ranks.size() == 1 && most->its != nullptr)
            if (const call_record* its = most->its->find(most->in.call->number); its != nullptr) {
                const std::uint64_t here = most->its->time_of(its->begin),
                                    there = most->in.in->time_of(most->in.call->begin);
                d.sentence = ranks_text(d.ranks) + " came too late to " + words(most->in);
                if (here > there && there != 0) d.sentence += ", " + duration_text(here - there) + " after others";
                return d;
            }
        d.sentence = ranks_text(d.ranks) + have(d.ranks.size()) + " not called " + words(most->in);
        if (d.ranks.size() == 1) {
            if (most->its != nullptr)
                d.sentence += last_words(most->its);
            else if (present_.count(d.ranks[0]) == 0)
                d.sentence += told_last_words(d.ranks[0]);
            else
                d.sentence += "; it does not have this communicator";
        }
        d.sentence += "; " + waiting_words(most->waiting) + " for it";
        if (d.ranks.size() != 1) d.sentence.back() = 's', d.sentence.replace(d.sentence.size() - 2, 2, "them");
        return d;
    }
    // Did the rank make this call when others had already given it up, and missed it?
    bool came_late(rank_t r, const group& its, const call_record& awaited) const {
        if (const auto said = said_.find(r); said != said_.end())
            if (last_call_of(said->second).absence == absence::late && said->second.peer == r) return true;
        const auto mine = its.find(r);
        const call_record* c = mine == its.end() ? nullptr : mine->second->find(awaited.number);
        if (c == nullptr || !is_told_missing(r)) return false;
        return std::any_of(its.begin(), its.end(), [&](const auto& other) {
            const call_record* given_up = other.second->find(awaited.number);
            if (other.first == r || given_up == nullptr || given_up->its.state != call_state::failed) return false;
            const std::uint64_t end = other.second->time_of(given_up->end);
            return end != 0 && mine->second->time_of(c->begin) > end;
        });
    }
    // The earliest call of a communicator in which somebody waits, and who waits in it.
    std::pair<const call_record*, std::vector<rank_t>> awaited(const group& its) const {
        const call_record* earliest = nullptr;
        for (const auto& [r, record] : its)
            if (const call_record* c = blocked_call(*record))
                if (earliest == nullptr || before(c->number, earliest->number)) earliest = c;
        std::vector<rank_t> waits;
        if (earliest != nullptr)
            for (const auto& [r, record] : its)
                if (const call_record* c = blocked_call(*record); c != nullptr && c->number == earliest->number)
                    waits.push_back(r);
        return {earliest, waits};
    }
    static bool before(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) < 0; }
    bool is_told_missing(rank_t r) const {
        return std::any_of(said_.begin(), said_.end(), [r](const auto& s) { return is_missing(s.second, r); });
    }
    // Is nobody told to be missing, and does exactly one rank have no recording?
    bool may_be_absent() const {
        const bool is_told =
            std::any_of(said_.begin(), said_.end(), [](const auto& s) { return names_missing(s.second); });
        return !is_told && present_.size() + 1 == size_;
    }
    // What the others know of a rank without a recording.
    std::string told_last_words(rank_t r) const {
        for (const auto& [who, s] : said_) {
            const last_call last = last_call_of(s);
            if (s.peer != r || !names_missing(s)) continue;
            if (last.absence == absence::silent) return "; it does not answer, and there is no recording of it";
            if (last.absence == absence::not_come && last.operation == 0) return "; it has made no call";
            if (last.absence == absence::not_come)
                return "; its last call was " + call_text(last.collective, last.operation, last.context);
        }
        return "; there is no recording of it";
    }

    // 3. Ranks that wait in calls of different communicators, which the others have not made.
    diagnosis other_order() const {
        std::vector<std::pair<place, std::vector<rank_t>>> calls;
        for (const auto& [r, at] : blocked_) {
            const auto same = std::find_if(calls.begin(), calls.end(), [&its = at](const auto& c) {
                return c.first.call->number == its.call->number && key_of(*c.first.in) == key_of(*its.in);
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
                d.sentence = ranks_text(few) + (few.size() == 1 ? " is in " : " are in ") + words(wrong.first) +
                             " and" + have(few.size()) + " not called " + words(right.first) + ", in which " +
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
    std::vector<rank_t> first_in(const place& one, const place& other) const {
        const auto begin_of = [&](const place& p, rank_t r) -> std::uint64_t { // 0: it has not made it
            const auto& its = groups_.at(key_of(*p.in));
            const auto at = its.find(r);
            const call_record* c = at == its.end() ? nullptr : at->second->find(p.call->number);
            return c == nullptr ? 0 : c->begin;
        };
        std::vector<rank_t> made;
        for (const rank_t r : present_) {
            const std::uint64_t mine = begin_of(one, r), its = begin_of(other, r);
            if (mine != 0 && (its == 0 || mine < its)) made.push_back(r);
        }
        return made;
    }
    // Has a rank that waits in `in` not made the call `other`, of which it is a member?
    bool lacks(const std::pair<place, std::vector<rank_t>>& in,
               const std::pair<place, std::vector<rank_t>>& other) const {
        const key where = key_of(*other.first.in);
        const auto its = groups_.find(where);
        return std::any_of(in.second.begin(), in.second.end(), [&](rank_t r) {
            if (std::find(where.second.begin(), where.second.end(), r) == where.second.end()) return false;
            const auto at = its->second.find(r);
            const call_record* last = at == its->second.end() ? nullptr : at->second->latest();
            return last == nullptr || before(last->number, other.first.call->number);
        });
    }

    // What the ranks have found out by asking each other, before their deadline.
    diagnosis told_missing() const {
        std::set<rank_t> missing;
        const status* first = nullptr;
        for (const auto& [who, s] : said_) {
            if (!names_missing(s) || last_call_of(s).absence == absence::late) continue;
            if (first == nullptr) first = &s;
            for (rank_t r = 0; r != size_; ++r)
                if (is_missing(s, r)) missing.insert(r);
        }
        if (first == nullptr) return {};
        diagnosis d{cause::stuck, {missing.begin(), missing.end()}, {}};
        d.sentence = ranks_text(d.ranks);
        const auto at = blocked_.find(d.ranks[0]);
        if (d.ranks.size() == 1 && at != blocked_.end())
            d.sentence += " is in " + words(at->second) + ", and does not move";
        else
            d.sentence +=
                have(d.ranks.size()) + " not come to " + call_text(first->collective, first->operation, first->context);
        if (last_call_of(*first).absence == absence::silent) d.sentence += "; it does not answer the others";
        return d;
    }

    // 4. Where the ways of waiting end.
    diagnosis dead_end() const {
        std::set<rank_t> ends;
        for (const auto& [r, at] : blocked_) {
            const waiting_record* w = at.in->waits_of(at.call->number);
            if (w == nullptr || w->count == 0) continue;
            for (std::uint32_t i = 0; i != std::min(w->count, waiting_record::most); ++i) {
                const rank_t of = w->edges[i].rank;
                const auto its = blocked_.find(of);
                const waiting_record* on =
                    its == blocked_.end() ? nullptr : its->second.in->waits_of(its->second.call->number);
                if (of < size_ && its != blocked_.end() && (on == nullptr || on->count == 0)) ends.insert(of);
            }
        }
        if (ends.empty()) return {};
        diagnosis d{cause::stuck, {ends.begin(), ends.end()}, {}};
        d.sentence = ranks_text(d.ranks) + (ends.size() == 1 ? " is in " : " are in ") +
                     words(blocked_.at(d.ranks[0])) + (ends.size() == 1 ? " and does" : " and do") +
                     " not move; the others wait for " + (ends.size() == 1 ? "it" : "them");
        return d;
    }

    // Whatever else a rank says of its failure.
    diagnosis told_failure() const {
        const status* best = nullptr;
        rank_t by = 0;
        for (const auto& [r, s] : said_)
            if (best == nullptr || (best->code == errc::peer_aborted && s.code != errc::peer_aborted))
                best = &s, by = r;
        if (best == nullptr) return {};
        diagnosis d{cause::failed, {}, {}};
        d.ranks.push_back(best->peer < size_ ? best->peer : by);
        d.sentence = "rank " + std::to_string(by) + " says: " + message_of(*best);
        return d;
    }

    const recording* any_recording_of(rank_t r) const noexcept {
        const recording* found = nullptr;
        for (const recording& one : all_)
            if (one.head.of.rank == r && (found == nullptr || latest_begin(*found) < latest_begin(one))) found = &one;
        return found;
    }
    static std::uint64_t latest_begin(const recording& r) noexcept {
        return r.calls.empty() ? 0 : r.calls.back().begin;
    }

    std::span<const recording> all_;
    rank_t size_ = 0;
    std::uint32_t epoch_ = 0;
    std::uint64_t now_ns_ = 0; // the last sign of any rank
    std::set<rank_t> present_; // that have a recording
    std::map<rank_t, status> said_;
    std::map<key, group> groups_;
    std::map<rank_t, place> blocked_;
};
using diagnostician = basic_diagnostician<0>;

} // namespace detail
} // namespace bough

#endif
