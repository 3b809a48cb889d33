// SPDX-License-Identifier: BSL-1.0
// Flagged_search: finds the ranks that hold up a call of flag_in_data_channel which is about to end
// by its deadline.
//
// Each peer has two lines at the end of a region. Nothing is written there before a call is in the
// last quarter of its time:
//   | question | its call | the rank that it waits for, and which question this answers | ...
//   | what it proposes to report, 4 words | what it reports, 4 words |
// A rank asks the ranks that it waits for where they are, and then the ranks that those wait for. A
// rank answers while it waits in a call. A rank that is in no call does not look at these lines, so
// it counts as silent. The search itself and its times are those of a session
// (bough/session/absence_search.hpp, doc/design/013-who-is-missing.md).
#ifndef BOUGH_DIRECT_LOW_LATENCY_FLAGGED_SEARCH_HPP
#define BOUGH_DIRECT_LOW_LATENCY_FLAGGED_SEARCH_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/absence.hpp>
#include <bough/core/status.hpp>
#include <bough/session/absence_search.hpp>
#include <bough/session/deadline_stages.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// A finding as it travels. The last word is never 0, so it shows that the finding is there.
struct finding_words {
    using array = std::array<std::uint64_t, 4>;

    // The last words of findings from different calls of a rank differ.
    static array of(const finding& f, std::uint64_t number) noexcept {
        const status& s = f.report;
        const std::uint64_t missing = s.missing < 255 ? s.missing : 255;
        return {s.mine, s.theirs, std::uint64_t{s.peer} << 32 | s.operation,
                number << 32 | missing << 24 | std::uint64_t{s.collective} << 16 |
                    static_cast<std::uint64_t>(f.sure) << 8 | 1};
    }
    // Anything else reads as no finding.
    static finding read(const array& at, rank_t size) noexcept {
        finding f{static_cast<finding::how_sure>(at[3] >> 8 & 0xff), {.code = errc::deadline}};
        f.report.collective = static_cast<std::uint8_t>(at[3] >> 16);
        f.report.peer = static_cast<rank_t>(at[2] >> 32);
        f.report.operation = static_cast<std::uint32_t>(at[2]);
        f.report.missing = static_cast<std::uint16_t>(at[3] >> 24 & 0xff);
        f.report.mine = at[0];
        f.report.theirs = at[1];
        const bool says = at[3] != 0 && f.sure != finding::how_sure::nothing && f.sure <= finding::how_sure::sure &&
                          f.report.missing != 0 && f.report.peer < size;
        return says ? f : finding{};
    }
};

// `Lines` is flag_in_data_channel. It has
//   lines.read(peer, word), lines.put(peer, word, words)   of these lines
//   lines.call(number)             the envelope of a call of this rank; 0: of its latest
//   lines.waits(), lines.first()   the ranks that it waits for; the first of them, or no_rank
class flagged_search {
    static constexpr std::uint8_t asks = 1, answers = 2, proposes = 4;
    auto sender() { // sends questions
        return [this](rank_t r, const envelope& about) {
            ++peers_[r].asked;
            peers_[r].about = about;
            peers_[r].due |= asks;
        };
    }

public:
    using due = deadline_stages::due;
    static constexpr std::uint64_t bytes_of_peer = 128;
    // Where words are in these lines.
    static constexpr std::uint64_t question = 0, answer = 1, proposal = 8, report = 12;

    flagged_search(rank_t size, rank_t me) : search_(size, me), peers_(size) {}

    // A put to a peer has ended.
    void landed(rank_t r) noexcept { --peers_[r].under_way; }
    // Has a peer asked a question that is not yet answered, or has a peer answered?
    template <class Lines>
    bool has_news(const Lines& lines) const noexcept {
        for (rank_t r = 0; r != peers_.size(); ++r)
            if (lines.read(r, question) != peers_[r].answered || has_answered(lines, r)) return true;
        return false;
    }
    // Answers questions, takes answers, and tries again the puts that were refused.
    template <class Lines>
    void go_on(Lines& lines, std::uint64_t now_ns) {
        for (rank_t r = 0; r != peers_.size(); ++r) {
            peer& p = peers_[r];
            if (lines.read(r, question) != p.answered) p.due |= answers;
            if (has_answered(lines, r)) take_answer(lines, r);
            if (p.due != 0 && p.under_way == 0) put_due(lines, r);
        }
        search_.look_at_departures(now_ns,
                                   [&](rank_t r) { return (peers_[r].due & asks) != 0 || peers_[r].under_way != 0; });
    }
    // Does what is due as the deadline comes near.
    template <class Lines>
    void attend(Lines& lines, due what, std::uint64_t now_ns, std::uint64_t part_ns) {
        if (what == due::proposal) return propose(lines, now_ns, part_ns);
        if (what == due::search) forget(lines);
        search_.begin_round(now_ns, part_ns / 2);
        if (what == due::search) since_ = search_.round();
        search_.ask(lines.waits(), lines.call(0), sender());
        go_on(lines, now_ns);
    }
    // Has this rank proposed to report missing ranks? If what it waited for comes, the proposal was
    // wrong.
    bool has_proposed() const noexcept { return mine_.sure != finding::how_sure::nothing; }
    template <class Lines>
    void withdraw(Lines& lines, std::uint64_t now_ns) {
        mine_ = {};
        for (peer& p : peers_) p.due |= proposes;
        go_on(lines, now_ns);
    }
    // The status that follows from all proposals.
    template <class Lines>
    status settled(const Lines& lines) const {
        finding all = mine_;
        rank_set present(static_cast<rank_t>(peers_.size())); // whoever proposes something is not missing
        if (has_proposed()) present.add(lines.rank());
        for (rank_t r = 0; r != peers_.size(); ++r) {
            finding_words::array at{};
            at[3] = lines.read(r, proposal + 3);
            if (at[3] == peers_[r].old_proposal) continue;
            for (std::uint64_t i = 0; i != 3; ++i) at[i] = lines.read(r, proposal + i);
            const finding f = finding_words::read(at, lines.size());
            if (f.sure == finding::how_sure::nothing) continue;
            all = both(all, f);
            present.add(r);
        }
        if (all.sure != finding::how_sure::nothing) return all.settled(present);
        const envelope call = lines.call(0);
        return {.code = errc::deadline, .collective = call.kind, .operation = call.operation};
    }

private:
    struct peer {
        std::uint64_t question = 0; // puts under way read these three
        std::array<std::uint64_t, 2> answer{};
        finding_words::array proposal{};
        std::uint64_t answered = 0;         // the latest question of this peer that was answered
        std::uint64_t old_proposal = 0;     // its proposal from before this search
        std::uint32_t asked = 0, heard = 0; // number of the last question to it; of the last one that it answered
        envelope about{};                   // the call of the last question
        std::uint32_t under_way = 0;        // puts to it
        std::uint8_t due = 0;
    };

    // Forgets what came in earlier calls.
    template <class Lines>
    void forget(const Lines& lines) noexcept {
        search_.clear();
        mine_ = {};
        for (rank_t r = 0; r != peers_.size(); ++r) {
            peers_[r].heard = peers_[r].asked;
            peers_[r].old_proposal = lines.read(r, proposal + 3);
        }
    }
    // Has a peer answered this rank's latest question?
    template <class Lines>
    bool has_answered(const Lines& lines, rank_t r) const noexcept {
        const peer& p = peers_[r];
        return p.asked != p.heard && static_cast<std::uint32_t>(lines.read(r, answer + 1) >> 32) == p.asked;
    }
    template <class Lines>
    void take_answer(Lines& lines, rank_t r) {
        peers_[r].heard = peers_[r].asked;
        const envelope about = peers_[r].about;
        const auto waits_for = static_cast<rank_t>(lines.read(r, answer + 1)) - 1; // none: no_rank
        const auto number = static_cast<std::uint32_t>(lines.read(r, answer));
        whereabouts said = place_of(lines.call(number), about.operation);
        said.waits = rank_set(lines.size());
        if (waits_for < lines.size()) said.waits.add(waits_for);
        if (!search_.answered(r, about, std::move(said), sender())) return;
        const whereabouts& at = search_.said_by(r, about);
        if (at.at != whereabouts::place::done) search_.ask(at.waits, at.call, sender());
    }
    // Where a rank is that is in call `in`, if others wait for it in the call of that number.
    static whereabouts place_of(const envelope& in, std::uint32_t number) noexcept {
        const auto ahead = static_cast<std::int32_t>(in.operation - number);
        return {ahead > 0    ? whereabouts::place::done
                : ahead == 0 ? whereabouts::place::in_it
                             : whereabouts::place::elsewhere,
                in,
                {}};
    }
    template <class Lines>
    void propose(Lines& lines, std::uint64_t now_ns, std::uint64_t part_ns) {
        mine_ = search_.find(lines.waits(), lines.call(0), since_, now_ns, part_ns / 2, [&](const envelope& call) {
            whereabouts own = place_of(lines.call(0), call.operation);
            own.waits = lines.waits();
            return own;
        });
        if (mine_.sure == finding::how_sure::nothing) return;
        for (peer& p : peers_) p.due |= proposes;
        go_on(lines, now_ns);
    }
    // Puts all that is due to a peer. Pre: no put to it is under way, as the words change here.
    template <class Lines>
    void put_due(Lines& lines, rank_t r) {
        peer& p = peers_[r];
        const auto put = [&](std::uint8_t what, std::uint64_t word, std::span<const std::uint64_t> words) {
            const posted how = r == lines.rank() ? posted::failed : lines.put(r, word, words);
            if (how == posted::would_block) return false;
            p.under_way += how == posted::pending;
            p.due &= static_cast<std::uint8_t>(~what);
            return true;
        };
        if ((p.due & asks) != 0) {
            p.question = p.asked;
            if (!put(asks, question, std::span(&p.question, 1))) return;
        }
        if ((p.due & answers) != 0) {
            const std::uint64_t asked = lines.read(r, question);
            p.answer = {lines.call(0).operation, asked << 32 | static_cast<std::uint32_t>(lines.first() + 1)};
            if (!put(answers, answer, p.answer)) return;
            p.answered = asked;
        }
        if ((p.due & proposes) != 0) {
            p.proposal = finding_words::of(mine_, lines.call(0).operation);
            put(proposes, proposal, p.proposal);
        }
    }

    absence_search search_;
    std::uint32_t since_ = 0; // the round in which the search of this call began
    finding mine_{};          // what this rank proposes
    std::vector<peer> peers_;
};

} // namespace bough::detail

#endif
