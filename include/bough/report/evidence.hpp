// SPDX-License-Identifier: BSL-1.0
// Evidence: what the recordings of a job say of its ranks, put in order for a diagnosis.
//
// Of each communicator: who has a recording of it. Of each rank: the call in which it waits, and what
// it says of its failure. Only recordings of the last epoch count, and if a number was used for several
// communicators, the open one counts.
#ifndef BOUGH_REPORT_EVIDENCE_HPP
#define BOUGH_REPORT_EVIDENCE_HPP

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
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// A call, and the recording in which it stands.
struct recorded_call {
    const recording* in = nullptr;
    const call_record* call = nullptr;

    std::string words() const { return call_words(*call, in->head.of.context); }
};

// Numbers of calls count up, and wrap around.
constexpr bool is_before(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) < 0; }

template <int>
class basic_evidence {
public:
    // Communicators of one number may have different members.
    using key = std::pair<std::uint16_t, std::vector<rank_t>>;
    using group = std::map<rank_t, const recording*>;

    // Pre: of one job. `all` lives as long as this.
    explicit basic_evidence(std::span<const recording> all) : all_(all) {
        for (const recording& r : all) {
            size_ = r.head.of.size;
            epoch_ = std::max(epoch_, r.head.of.epoch);
            std::uint64_t& last = signs_[r.head.of.rank];
            last = std::max(last, r.last_sign());
            now_ns_ = std::max(now_ns_, last);
        }
        for (const bool closed : {false, true}) // the number of a closed one may have been used again
            for (const recording& r : all)
                if (r.head.of.epoch == epoch_ && (r.head.of.is_closed != 0) == closed) enter(r);
    }

    rank_t size() const noexcept { return size_; }            // ranks of the transport
    std::uint64_t now_ns() const noexcept { return now_ns_; } // the last sign of any rank
    // How much later than its own the last sign of any rank is. Pre: it has a recording.
    std::uint64_t silence_ns(rank_t r) const { return now_ns_ - signs_.at(r); }
    const std::set<rank_t>& present() const noexcept { return present_; }   // ranks that have a recording
    const std::map<rank_t, status>& said() const noexcept { return said_; } // of failures that are not over
    const std::map<key, group>& groups() const noexcept { return groups_; } // one for each communicator
    // The oldest call in which a rank waits, of all communicators.
    const std::map<rank_t, recorded_call>& blocked() const noexcept { return blocked_; }
    static key key_of(const recording& r) { return {r.head.of.context, r.members}; }

    // The earliest call of a communicator in which somebody waits, and who waits in it.
    std::pair<const call_record*, std::vector<rank_t>> awaited(const group& its) const {
        const call_record* earliest = nullptr;
        for (const auto& [r, record] : its)
            if (const call_record* c = blocked_call(*record))
                if (earliest == nullptr || is_before(c->number, earliest->number)) earliest = c;
        std::vector<rank_t> waits;
        if (earliest != nullptr)
            for (const auto& [r, record] : its)
                if (const call_record* c = blocked_call(*record); c != nullptr && c->number == earliest->number)
                    waits.push_back(r);
        return {earliest, waits};
    }
    // Did the rank make this call only after another one had given it up, because this rank was missing?
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
    // The ranks for which a rank waits in this call, as far as its recording names them: the first
    // twelve. One that has ended the call well is not among them: what it sent has set out.
    std::vector<rank_t> waits_for(const recorded_call& at) const {
        std::vector<rank_t> found;
        const waiting_record* w = at.in->waits_of(at.call->number);
        if (w == nullptr) return found;
        const group& its = groups_.at(key_of(*at.in));
        for (std::uint32_t i = 0; i != std::min(w->count, waiting_record::most); ++i) {
            const auto other = its.find(w->edges[i].rank);
            const call_record* c = other == its.end() ? nullptr : other->second->find(at.call->number);
            if (c == nullptr || !ended_well(*c)) found.push_back(w->edges[i].rank);
        }
        return found;
    }
    // Does it wait for any, also if the recording has no room for their names?
    bool waits(const recorded_call& at) const {
        const waiting_record* w = at.in->waits_of(at.call->number);
        return w != nullptr && (w->count > waiting_record::most || !waits_for(at).empty());
    }
    // Does some rank say that this one was missing?
    bool is_told_missing(rank_t r) const {
        return std::any_of(said_.begin(), said_.end(), [r](const auto& s) { return is_missing(s.second, r); });
    }
    // Has exactly one rank no recording, and does nobody say that a rank was missing?
    bool may_be_absent() const {
        const bool is_told =
            std::any_of(said_.begin(), said_.end(), [](const auto& s) { return names_missing(s.second); });
        return !is_told && present_.size() + 1 == size_;
    }

    // "; its last call was broadcast #16, 2.3 s ago"
    std::string last_words(const recording& its) const {
        const call_record* last = its.latest();
        if (last == nullptr) return "; it has made no call";
        const std::uint64_t end = its.time_of(last->end != 0 ? last->end : last->begin);
        const std::string when = ago(end);
        return "; its last call was " + recorded_call{&its, last}.words() + (when.empty() ? "" : ", ") + when;
    }
    // The same, by the newest recording of a rank, whatever the communicator.
    std::string last_words(rank_t r) const {
        const recording* newest = nullptr;
        for (const recording& one : all_)
            if (one.head.of.rank == r && (newest == nullptr || latest_begin(*newest) < latest_begin(one)))
                newest = &one;
        return newest != nullptr ? last_words(*newest) : "; there is no recording of it";
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

private:
    void enter(const recording& r) {
        const rank_t rank = r.head.of.rank;
        present_.insert(rank);
        if (r.head.poison.code != errc::ok && !is_over(r)) said_.emplace(rank, r.head.poison.as_status());
        const call_record* c = groups_[key_of(r)].try_emplace(rank, &r).second ? blocked_call(r) : nullptr;
        if (c == nullptr) return;
        const auto [at, is_new] = blocked_.try_emplace(rank, recorded_call{&r, c});
        if (!is_new && c->begin < at->second.call->begin) at->second = {&r, c};
    }
    static bool ended_well(const call_record& c) noexcept {
        return c.its.state == call_state::ended || c.its.state == call_state::ended_at_once;
    }
    // Has a call ended well after the one of which the status tells?
    static bool is_over(const recording& r) noexcept {
        const status_record& why = r.head.poison;
        if (why.context != r.head.of.context || why.operation == 0) return false;
        return std::any_of(r.calls.begin(), r.calls.end(),
                           [&](const call_record& c) { return is_before(why.operation, c.number) && ended_well(c); });
    }
    // May a call have ended with this code because of another rank?
    static bool is_follow_up(errc code) noexcept {
        return code == errc::deadline || code == errc::peer_aborted || code == errc::group_poisoned ||
               code == errc::peer_dead || code == errc::cancelled || code == errc::call_mismatch;
    }
    // The oldest call in which the rank waits, or waited when the group broke; null: none.
    static const call_record* blocked_call(const recording& r) noexcept {
        const call_record* oldest = nullptr;
        bool is_past = false; // a later call has ended well, so what failed before is over
        for (auto c = r.calls.rbegin(); c != r.calls.rend(); ++c) {
            is_past |= ended_well(*c);
            if (c->its.state == call_state::in_flight ||
                (c->its.state == call_state::failed && is_follow_up(c->its.code) && !is_past))
                oldest = &*c;
        }
        return oldest;
    }
    std::string ago(std::uint64_t ns) const {
        return ns == 0 ? "" : duration_text(now_ns_ - std::min(now_ns_, ns)) + " ago";
    }
    static std::uint64_t latest_begin(const recording& r) noexcept {
        return r.calls.empty() ? 0 : r.calls.back().begin;
    }

    std::span<const recording> all_;
    rank_t size_ = 0;
    std::uint32_t epoch_ = 0;
    std::uint64_t now_ns_ = 0;
    std::map<rank_t, std::uint64_t> signs_; // the last one, of all communicators
    std::set<rank_t> present_;
    std::map<rank_t, status> said_;
    std::map<key, group> groups_;
    std::map<rank_t, recorded_call> blocked_;
};
using evidence = basic_evidence<0>;

} // namespace bough::detail

#endif
