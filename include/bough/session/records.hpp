// SPDX-License-Identifier: BSL-1.0
// Records: the recorders of a session's communicators (bough/report/recorder.hpp), and what the session
// notes in them: which calls are in flight, for whom they wait, and what has come early.
//
// It notes them every tenth of a second while a rank waits; when something fails, before anything of
// that is cleared away; and when a report is made. It reads operations and messages, and changes none.
#ifndef BOUGH_SESSION_RECORDS_HPP
#define BOUGH_SESSION_RECORDS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/status.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/report/call_record.hpp>
#include <bough/report/recorder.hpp>
#include <bough/session/in_flight.hpp>
#include <bough/session/operation.hpp>
#include <bough/session/unexpected.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
class records {
public:
    records(const in_flight<T>& flight, const unexpected_messages<T>& early) : flight_(flight), early_(early) {}
    records(const records&) = delete;
    records& operator=(const records&) = delete;

    void add(recorder& its) {
        all_.push_back(&its);
        if (born_ns_ == 0) born_ns_ = its.head().first.utc_ns;
        its.head().of.born_ns = born_ns_;
    }
    void remove(recorder& its) noexcept {
        all_.erase_if([&](const recorder* one) { return one == &its; });
    }
    bool empty() const noexcept { return all_.empty(); }
    template <class F>
    void for_each(F&& f) const {
        for (recorder* its : all_) f(*its);
    }

    // The call of this number; false: it is not recorded, or not any more.
    bool find(const envelope& call, envelope& tag, call_signature& signature) const noexcept {
        for (const recorder* its : all_) {
            const recording_identity& of = its->head().of;
            if (of.context != call.context || of.epoch != call.epoch) continue;
            const call_record* const made = its->find(call.operation);
            if (made == nullptr) return false;
            signature = made->signature;
            tag = tag_of(*its, *made);
            return true;
        }
        return false;
    }
    // That of the call which began last, over all communicators; operation 0: there is none.
    envelope latest_call() const noexcept {
        const recorder* of = nullptr;
        const call_record* last = nullptr;
        for (const recorder* its : all_)
            if (const call_record* one = its->latest(); one != nullptr && (last == nullptr || last->begin < one->begin))
                last = one, of = its;
        return last == nullptr ? envelope{} : tag_of(*of, *last);
    }

    // Notes what is in flight now. If a communicator has failed and nothing of it is in flight any more,
    // what was noted when it failed stays, as that says more.
    BOUGH_COLD void note() {
        if (all_.empty()) return;
        const clock_mark now = clock_mark::now();
        for (recorder* its : all_) {
            recording_moment& moment = its->head().moment;
            if (its->head().poison.code != errc::ok && !is_in_flight(*its)) continue;
            moment.ticks = now.ticks;
            moment.in_flight = moment.early = 0;
            its->head().latest = now;
        }
        for (std::size_t i = 0; i != flight_.size(); ++i) note(flight_[i], now.ticks);
        (void)early_.count([&](const event& e) { return note(e, now.ticks), false; });
    }
    // The same, if the last time is some time ago.
    void note_now_and_then(std::uint64_t now_ns) {
        if (now_ns < next_ns_ || all_.empty()) return;
        next_ns_ = now_ns + 100'000'000;
        note();
    }
    // A call, a communicator, or the group fails: notes what is in flight, and why it fails.
    BOUGH_COLD void fails(const status& why, bool of_all, std::uint16_t context) {
        const status_record said = status_record::of(why);
        const auto is_meant = [&](const recorder& its) { return of_all || its.head().of.context == context; };
        bool is_new = false;
        for (const recorder* its : all_) is_new |= is_meant(*its) && !(its->head().poison == said);
        if (!is_new) return;
        note();
        for (recorder* its : all_)
            if (is_meant(*its)) its->head().poison = said;
    }

private:
    static envelope tag_of(const recorder& its, const call_record& made) noexcept {
        envelope tag;
        tag.epoch = its.head().of.epoch;
        tag.context = its.head().of.context;
        tag.operation = made.number;
        sign(tag, made.signature);
        return tag;
    }
    bool is_in_flight(const recorder& its) const noexcept {
        for (std::size_t i = 0; i != flight_.size(); ++i)
            if (flight_[i].record_.in == &its && !flight_[i].result_) return true;
        return false;
    }
    static void note(session_operation& op, std::uint64_t now) {
        recorder* const its = op.record_.in;
        if (its == nullptr) return;
        recording_moment& moment = its->head().moment;
        if (moment.ticks != now) return;
        if (moment.in_flight++ >= moment.waiting.size()) return;
        waiting_record& w = moment.waiting[moment.in_flight - 1];
        w = {.number = op.tag_.operation,
             .steps = static_cast<std::uint32_t>(op.work_->bound().steps.size()),
             .steps_left = op.work_->engine().steps_left()};
        const auto add = [&w](rank_t r, std::uint32_t step) {
            const std::uint32_t known = std::min(w.count, waiting_record::most);
            for (std::uint32_t i = 0; i != known; ++i)
                if (w.edges[i].rank == r) return;
            if (w.count++ < waiting_record::most) w.edges[known] = {r, step};
        };
        if (op.result_) return; // it has failed, and waits for the transport alone
        for (const auto& channel : op.work_->incoming())
            if (channel.arrived != channel.count)
                add(channel.peer, op.work_->bound().receives[channel.first + channel.arrived]);
        op.work_->engine().for_each_held_up([&](rank_t r) { add(r, not_a_step); });
        if (op.late_.places != nullptr)
            op.late_.places->for_each_awaited(op.late_.number,
                                              [&](rank_t r) { add(op.late_.places->world_rank(r), not_a_step); });
        if (op.taken_back_by_ != no_rank) add(op.taken_back_by_, not_a_step);
    }
    void note(const event& e, std::uint64_t now) {
        for (recorder* its : all_) {
            if (its->head().of.context != e.envelope.context || its->head().of.epoch != e.envelope.epoch) continue;
            recording_moment& moment = its->head().moment;
            if (moment.ticks != now) continue;
            if (moment.early++ < moment.early_messages.size())
                moment.early_messages[moment.early - 1] = {e.peer, e.envelope.operation, e.bytes, e.envelope.kind};
        }
    }

    const in_flight<T>& flight_;
    const unexpected_messages<T>& early_;
    plain_list<recorder*> all_;
    std::uint64_t born_ns_ = 0;
    std::uint64_t next_ns_ = 0; // of note_now_and_then(), by the transport's clock
};

} // namespace bough::detail

#endif
