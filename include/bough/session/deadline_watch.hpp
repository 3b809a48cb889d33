// SPDX-License-Identifier: BSL-1.0
// deadline_watch: what a session does as the deadlines of its operations come near, and how it
// answers other ranks that do so.
//
// First an operation asks whether all make the same call (inquiry.hpp). In the last quarter of its
// time, or its last two seconds, it searches, searches again, proposes, and ends (deadline_stages.hpp has
// the times). Two ranks whose times are up at once must not report different things. So each first
// proposes to all ranks what it has found, and then reports what follows from all proposals.
#ifndef BOUGH_SESSION_DEADLINE_WATCH_HPP
#define BOUGH_SESSION_DEADLINE_WATCH_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/search.hpp>
#include <bough/session/absence_search.hpp>
#include <bough/session/control.hpp>
#include <bough/session/disputes.hpp>
#include <bough/session/failure.hpp>
#include <bough/session/in_flight.hpp>
#include <bough/session/inquiry.hpp>
#include <bough/session/matching.hpp>
#include <bough/session/membership.hpp>
#include <bough/session/mismatch.hpp>
#include <bough/session/operation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
class deadline_watch {
public:
    deadline_watch(T& transport, const membership& members, control<T>& control, const in_flight<T>& flight,
                   matching<T>& matching, failure<T>& failure, const disputes<T>& disputes)
        : transport_(transport), members_(members), control_(control), flight_(flight), matching_(matching),
          failure_(failure), disputes_(disputes), search_(members.size(), members.rank()) {}
    deadline_watch(const deadline_watch&) = delete;
    deadline_watch& operator=(const deadline_watch&) = delete;

    void look(std::uint64_t now) {
        look_at_departures(now);
        has_freed_slots_ = false;
        for (std::size_t i = flight_.size(); i-- != 0;) {
            session_operation& op = flight_[i];
            if (op.result_) continue;
            if (const session_operation::due what = op.at(now); what != session_operation::due::nothing)
                attend(op, what, now);
            i = std::min(i, flight_.size());
        }
    }

    // Handles a message of a rank that searches for those that hold it up. In a broken group they
    // need no answer.
    void heard(const control_message& m) {
        if (failure_.poison()) return;
        if (m.tag.segment == search_segment) return answer(m.peer, m.tag);
        if (m.tag.segment == proposal_segment) return proposed(m);
        whereabouts said;
        said.call = m.tag;
        said.waits = rank_set(members_.size());
        plain_list<unsigned char>& set = said.waits.bytes();
        answer_head head{};
        if (m.bytes.size() != sizeof head + set.size()) return;
        std::memcpy(&head, m.bytes.data(), sizeof head);
        std::memcpy(set.data(), m.bytes.data() + sizeof head, set.size());
        if (head.at > whereabouts::place::nowhere) return;
        said.at = head.at;
        envelope about;
        about.operation = head.operation;
        about.context = head.context;
        const std::uint64_t now = transport_.now_ns();
        if (!search_.answered(m.peer, about, std::move(said), sender())) return;
        const whereabouts& at = search_.said_by(m.peer, about);
        if (at.at == whereabouts::place::in_it || at.at == whereabouts::place::elsewhere) ask(at.waits, at.call, now);
        look_at_departures(now);
    }

    // For an operation that has ended well. If it had proposed to report missing ranks, the
    // proposal is withdrawn: they have come.
    BOUGH_COLD void withdraw(session_operation& op) {
        search_.propose(members_.rank(), op.tag_, {}, 0, 0);
        ignore_exceptions([&] { tell_proposal(op, {}, 0); });
    }

    // The findings belong to the old epoch.
    void begin_epoch() { search_.clear(); }
    // The number is free for another communicator.
    void forget(std::uint16_t context) { search_.forget(context); }

private:
    using due = session_operation::due;

    BOUGH_COLD void attend(session_operation& op, due what, std::uint64_t now) {
        if (what == due::end && failure_.dispute().is_open()) return failure_.conclude_dispute();
        if (what == due::end) return failure_.fail(op, report_of(op, now));
        failure_.sheltered([&] {
            const bool is_oldest = flight_.is_oldest(op);
            if (is_oldest && what != due::proposal && !std::exchange(op.asked_, true)) inquire(op);
            if (what == due::proposal) return propose(op, now);
            // The questions of others may need slots. Once is enough: nothing is polled in between.
            if (!std::exchange(has_freed_slots_, true)) matching_.free_slots();
            if (what == due::question) return;
            search_.begin_round(now, op.part_ns() / 2);
            if (what == due::search) op.search_ = search_.round();
            ask(waits_of(op), op.tag_, now);
            if (is_held_back(op)) ask(waits_of(flight_[0]), flight_[0].tag_, now);
        });
    }
    void inquire(session_operation& op) {
        bough::detail::ask(control_, members_, *op.work_, op.tag_);
        for_each_awaited(op, [&](rank_t r) {
            if (!members_.is_lost(r)) control_.send(r, inquiry_segment, op.tag_, {});
        });
    }
    // Calls f(rank) for those that have not come to an operation in late places.
    template <class F>
    static void for_each_awaited(const session_operation& op, F&& f) {
        if (const late_places* places = op.late_.places; places != nullptr)
            places->for_each_awaited(op.late_.number, [&](rank_t r) { f(places->world_rank(r)); });
    }
    void ask(const rank_set& who, const envelope& call, std::uint64_t now) {
        search_.ask(who, call, sender());
        look_at_departures(now);
    }
    auto sender() {
        return [this](rank_t r, const envelope& call) {
            if (!members_.is_lost(r)) control_.send(r, search_segment, call, {});
        };
    }
    void look_at_departures(std::uint64_t now) {
        search_.look_at_departures(now, [this](rank_t r) { return control_.holds_for(r); });
    }
    void answer(rank_t to, const envelope& asked) {
        whereabouts said = where(asked);
        const answer_head head{asked.operation, asked.context, said.at, 0};
        std::vector<std::byte> bytes(sizeof head + said.waits.bytes().size());
        std::memcpy(bytes.data(), &head, sizeof head);
        std::memcpy(bytes.data() + sizeof head, said.waits.bytes().data(), said.waits.bytes().size());
        control_.send(to, answer_segment, said.call, bytes);
    }
    // Where this rank is, for those that wait for it in `call`.
    whereabouts where(const envelope& call) {
        whereabouts said;
        said.waits = rank_set(members_.size());
        session_operation* op = flight_.find(call);
        if (op == nullptr && members_.communicators().was_started(call)) {
            said.at = whereabouts::place::done;
            said.call = call;
        } else if (op != nullptr || !flight_.empty()) {
            said.at = op != nullptr ? whereabouts::place::in_it : whereabouts::place::elsewhere;
            if (op == nullptr) op = &flight_[0];
            said.call = op->tag_;
            said.waits = waits_of(*op);
        } else {
            said.call = disputes_.latest_call();
        }
        return said;
    }
    // The ranks from which it needs a message, or that must take one from it.
    rank_set waits_of(session_operation& op) {
        rank_set who(members_.size());
        for (const auto& channel : op.work_->incoming())
            if (channel.arrived != channel.count) who.add(channel.peer);
        op.work_->engine().for_each_held_up([&](rank_t r) { who.add(r); });
        flight_.for_each_late(op, [&](rank_t r) { who.add(r); });
        for_each_awaited(op, [&](rank_t r) { who.add(r); });
        if (op.taken_back_by_ != no_rank) who.add(op.taken_back_by_);
        return who;
    }
    // It cannot send until the oldest operation has ended or has moved on.
    bool is_held_back(const session_operation& op) const {
        return !flight_.is_oldest(op) && op.work_->engine().has_blocked();
    }

    finding find(session_operation& op, std::uint64_t now) {
        const auto in = [&](session_operation& its) {
            return search_.find(waits_of(its), its.tag_, op.search_, now, op.part_ns() / 2,
                                [this](const envelope& call) { return where(call); });
        };
        finding f = in(op);
        if (is_held_back(op)) f = both(f, in(flight_[0]));
        return f;
    }
    // Sends its finding to all ranks. Each keeps it for two parts, twice as long as the operation
    // still has.
    void propose(session_operation& op, std::uint64_t now) {
        const finding f = find(op, now);
        if (f.sure == finding::how_sure::nothing) return;
        search_.propose(members_.rank(), op.tag_, f, deadline_after(now, 2 * op.part_ns()), now);
        op.proposed_ = true;
        tell_proposal(op, f, 2 * op.part_ns());
        control_.flush();
    }
    void tell_proposal(session_operation& op, const finding& f, std::uint64_t lasts_ns) {
        const proposal_message said{
            abort_notice::of(f.report), lasts_ns, op.tag_.operation, op.tag_.context, f.sure, 0};
        envelope call;
        call.operation = f.report.operation;
        call.context = f.report.context;
        for (rank_t r = 0; r != members_.size(); ++r)
            if (r != members_.rank() && !members_.is_lost(r))
                control_.put(r, proposal_segment, call, std::as_bytes(std::span(&said, 1)));
    }
    void proposed(const control_message& m) {
        proposal_message said{};
        if (m.bytes.size() != sizeof said) return;
        std::memcpy(&said, m.bytes.data(), sizeof said);
        envelope of;
        of.operation = said.operation;
        of.context = said.context;
        finding f{said.sure, {}};
        if (said.sure != finding::how_sure::nothing) {
            const abort_notice notice = abort_notice::read(std::as_bytes(std::span(&said.notice, 1)));
            if (notice.code != errc::deadline || notice.missing == 0 || said.sure > finding::how_sure::sure) return;
            if (notice.peer >= members_.size()) return;
            f.report = notice.as_status(m.peer, m.tag.operation, m.tag.context);
            f.report.code = errc::deadline;
            f.report.cause = errc::ok;
        }
        const std::uint64_t now = transport_.now_ns();
        search_.propose(m.peer, of, f, deadline_after(now, said.lasts_ns), now);
    }
    // Does a proposal of rank `by`, because of its call `of`, count for this operation? Communicators of
    // other ranks may have the same number.
    bool counts_for(const session_operation& op, rank_t by, const envelope& of) const {
        return of.context != op.tag_.context || by == members_.rank() || is_member(of.context, by);
    }
    bool is_member(std::uint16_t context, rank_t r) const {
        const std::span<const rank_t>* list = members_.communicators().members(context);
        return list == nullptr || list->empty() || detail::contains(*list, r);
    }
    status report_of(session_operation& op, std::uint64_t now) {
        const auto counts = [&](rank_t by, const envelope& of) { return counts_for(op, by, of); };
        finding f = search_.proposed(now, counts);
        if (f.sure != finding::how_sure::nothing) {
            rank_set present;
            failure_.sheltered([&] { present = search_.proposers(now, counts); });
            return f.settled(present);
        }
        failure_.sheltered([&] { f = find(op, now); });
        if (f.sure != finding::how_sure::nothing) return f.settled({});
        return {.code = errc::deadline,
                .collective = op.tag_.kind,
                .operation = op.tag_.operation,
                .context = op.tag_.context};
    }

    // Payloads, in the byte order of the machine (control_messages.hpp). In an answer, a rank_set
    // follows the head.
    struct answer_head {
        std::uint32_t operation; // of the call that was asked about
        std::uint16_t context;
        whereabouts::place at;
        std::uint8_t unused;
    };
    struct proposal_message {
        abort_notice notice;
        std::uint64_t lasts_ns;
        std::uint32_t operation; // of the call for which its sender proposes it
        std::uint16_t context;
        finding::how_sure sure; // nothing: this withdraws it
        std::uint8_t unused;
    };
    static_assert(sizeof(answer_head) == 8 && sizeof(proposal_message) == 40);

    T& transport_;
    const membership& members_;
    control<T>& control_;
    const in_flight<T>& flight_;
    matching<T>& matching_;
    failure<T>& failure_;
    const disputes<T>& disputes_;
    absence_search search_;
    bool has_freed_slots_ = false; // in this look()
};

} // namespace bough::detail

#endif
