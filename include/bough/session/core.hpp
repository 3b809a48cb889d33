// SPDX-License-Identifier: BSL-1.0
// session_core: the work of a session, without its lock. Others use bough/session/session.hpp.
//
// It takes each event of the transport to the part that it is for. A part calls back only what it was
// given as an argument:
//   membership       which ranks are lost, the epoch
//   control          messages between sessions
//   in_flight        the operations that have started, and what they may send
//   matching         the operation and the step that a message is for; early messages, and reports of them
//   failure          the one place where an operation, or the group, ends with an error
//   disputes         what differs, when two ranks have made different calls
//   deadline_watch   who is missing, when an operation does not end
//   engines          the engine of each operation: what has come for it, when it goes on, when it is done
//   late_ranks       operations that no message moves on, but the rank that comes last
//   polling          the events of the transport, one after the other
//   letting_go       the end of a communicator
//   straight_course  the one short operation that runs without matching, while nothing is unusual
//   attendants       calls that wait for their turn
//   notices          takes control messages of other sessions to the parts that they are for
//   put_off          takes in what belongs to no operation, and what there was no memory for later
// Each part uses those above it. Once an operation has started nothing is thrown: if memory runs out,
// its communicator or the group is broken with no_resources, and the others are told when there is some.
#ifndef BOUGH_SESSION_CORE_HPP
#define BOUGH_SESSION_CORE_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/session/attendants.hpp>
#include <bough/session/contexts.hpp>
#include <bough/session/control.hpp>
#include <bough/session/deadline_watch.hpp>
#include <bough/session/departures.hpp>
#include <bough/session/disputes.hpp>
#include <bough/session/engines.hpp>
#include <bough/session/failure.hpp>
#include <bough/session/in_flight.hpp>
#include <bough/session/late_ranks.hpp>
#include <bough/session/letting_go.hpp>
#include <bough/session/matching.hpp>
#include <bough/session/membership.hpp>
#include <bough/session/mismatch.hpp>
#include <bough/session/notices.hpp>
#include <bough/session/operation.hpp>
#include <bough/session/polling.hpp>
#include <bough/session/put_off.hpp>
#include <bough/session/repeatable.hpp>
#include <bough/session/straight_course.hpp>
#include <bough/session/unexpected.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
class session_core {
public:
    session_core(T transport, const early_limits& limits);
    session_core(const session_core&) = delete;
    session_core& operator=(const session_core&) = delete;

    rank_t rank() const noexcept { return transport_.rank(); }
    rank_t size() const noexcept { return transport_.size(); }
    T& transport() noexcept { return transport_; }
    const T& transport() const noexcept { return transport_; }
    detail::membership& members() noexcept { return members_; }
    const detail::membership& members() const noexcept { return members_; }
    const status& poison() const noexcept { return failure_.poison(); }
    const status& poison(std::uint16_t context) const noexcept { return failure_.poison(context); }
    std::uint64_t stale_messages() const noexcept { return matching_.stale(); }
    const unexpected_messages<T>& early() const noexcept { return messages_.early; }
    std::size_t outstanding() const noexcept { return flight_.size(); }
    // Have as many operations started without a poll as may? Whoever waits polls then: a rank that only sends
    // would never do so otherwise.
    bool is_poll_due() const noexcept { return straight_.is_poll_due(); }
    void use_priorities() { flight_.use_priorities(size()); }
    bool is_disputed() const noexcept { return failure_.dispute().is_open(); }
    // When check_deadlines() must look at this operation again.
    std::uint64_t attend_ns(const session_operation& op) const noexcept {
        return std::min(op.attend_ns_, failure_.dispute().last_ns());
    }
    // Has something arrived for which there is no memory yet? The next progress() tries again.
    bool has_put_off() const noexcept { return !put_off_.empty(); }
    bool has_to_send() const noexcept { return messages_.own.has_to_send() || failure_.has_to_tell(); }
    bool unsent() const noexcept { return departures<T>::unsent(transport_); }
    bough::contexts& contexts() noexcept { return members_.communicators(); }
    control<T>& messages() noexcept { return messages_.own; }
    const control<T>& messages() const noexcept { return messages_.own; }
    bool forked() const noexcept { return detail::is_forked(transport_); }
    detail::records<T>& records() noexcept { return failure_.records(); }
    void note() { // in the recorders, what is in flight
        leave_straight();
        failure_.sheltered([&] { records().note(); });
    }

    void start(session_operation& op, prepared& work, const call& c, const envelope& tag,
               const call_signature& signature, std::uint64_t timeout_ns, const late_part& late = {});
    // Runs a call once more. Pre: `op` has run it, or another call of its plan, and has ended; `what.made` has
    // the new data. Refused: something is unusual, nothing has happened, and start() is the way.
    repeat_outcome repeat(session_operation& op, const repeatable& what, std::uint32_t number,
                          std::uint64_t timeout_ns);
    void refuse(const envelope& tag, errc why, std::span<const rank_t> members) {
        leave_straight();
        failure_.sheltered([&] {
            contexts().start(tag);
            failure_.refuse(tag, why, members);
        });
        hand_over();
    }
    // Makes room for operations of this plan in this context, so that their starts allocate nothing.
    void reserve(prepared& work, std::uint16_t context) {
        contexts().make_room(context);
        flight_.reserve(work);
    }
    // Would this call, if it started now, end with an error at once? Its envelope is signed.
    bool cannot_start(const envelope& call) const { return failure_.would_refuse(call) || matching_.has_another(call); }
    // This rank gives up a call that it has not started.
    void give_up_call(const envelope& call, const status& why) {
        leave_straight();
        contexts().start(call);
        failure_.give_up(call, why);
        hand_over();
    }
    void cancel(session_operation& op, errc why) {
        leave_straight();
        failure_.fail(op, why);
        hand_over();
    }
    // Gives up the operations that no program waits for. True: none of them is in flight any more.
    bool end_unattended() {
        leave_straight();
        const bool are_over = failure_.end_unattended();
        hand_over();
        return are_over;
    }

    // Polls once, and moves on what can move. `waits`: the caller calls it again and again, until it is done.
    bool progress(bool waits = false);
    // True: something was sent or has ended, as whoever will sleep has to try all that was refused.
    bool make_way(bool always = false) {
        leave_straight();
        matching_.make_way(always);
        if (always || !flight_.gives_turns() || !flight_.was_blocked()) return false;
        const std::size_t before = flight_.size();
        const bool moves = engines_.retry(true);
        report_early();
        hand_over();
        return moves || flight_.size() != before; // an op may have thrown
    }
    void check_deadlines();

    void send_control(rank_t to, const envelope& call, std::span<const std::byte> bytes) {
        messages_.own.send(to, control_segment, call, bytes);
        follow_control();
        hand_over();
    }
    // What runs on control messages has failed: the group fails.
    void give_up(const status& why) {
        leave_straight();
        failure_.break_group(why);
        hand_over();
    }
    // A communicator of this rank fails, but no single operation of it does.
    void break_communicator(std::uint16_t context, const status& why) {
        leave_straight();
        failure_.break_communicator(context, why);
        hand_over();
    }
    void suspect(rank_t r) {
        leave_straight();
        members_.lose(r, errc::peer_dead);
        messages_.own.forget(r);
        matching_.drop_early_of(r);
        hand_over();
    }
    void begin_epoch() {
        BOUGH_EXPECTS(flight_.empty(), "session: an epoch ends with operations in flight");
        members_.begin_epoch();
        messages_.own.begin_epoch();
        failure_.begin_epoch();
        disputes_.begin_epoch();
        watch_.begin_epoch();
        matching_.begin_epoch([this](const event& e) { failure_.sheltered([&] { arrived(e); }); });
    }

    // From now on every poll attends to `a`, until leave(). Meanwhile nothing runs straight, as that
    // would look for messages at one peer alone. Call it again when another call of `a` has become the
    // oldest that waits.
    void attend_to(attendant& a) {
        leave_straight();
        if (!attendants_.has(a)) attendants_.add(a);
        note_attendants();
    }
    void leave(attendant& a) noexcept {
        attendants_.remove(a);
        note_attendants();
    }
    bool has_attendants() const noexcept { return !attendants_.empty(); }
    // While they are paused, no attendant is called.
    void pause_attendants(bool are_paused) noexcept { attendants_.pause(are_paused); }
    operation_place take_place() noexcept { return flight_.take_place(); }

    void open(std::uint16_t context, std::span<const rank_t> members) {
        if (context != 0) flight_.end_one_order();
        contexts().open(context, members);
        failure_.note(); // a member may have ended its calls already
    }
    // This rank makes no further call of a communicator. `is_gone`: and nothing is left of it (letting_go.hpp).
    BOUGH_COLD void end_calls(std::uint16_t context, bool is_gone) {
        failure_.sheltered([&] { is_gone ? end_of().by_this_rank(context) : end_of().end_calls(context); });
        follow_control();
        hand_over();
    }

private:
    void note_attendants() noexcept {
        straight_.forbid(!attendants_.empty());
        flight_.set_waiting(attendants_.oldest(flight_.last_place()));
    }
    // A short operation that is alone runs straight while nothing is unusual.
    bool may_go_straight(const prepared& work) noexcept {
        return straight_.serves(work) && messages_.early.empty() && is_usual();
    }
    bool is_usual() const noexcept { return !members_.any_lost() && !is_disputed() && !has_to_send(); }
    // Messages of the session were put. While one is still here, no data may overtake it. The engine sees
    // to that, but nothing does that runs straight.
    void follow_control() {
        if (messages_.own.has_to_send()) [[unlikely]]
            leave_straight();
    }
    // The engine goes on with the operation that runs straight, if there is one. Whatever else is done
    // with an operation finds it in its engine.
    void leave_straight() {
        if (straight_.is_running()) [[unlikely]]
            resume();
    }
    struct leaving { // the `leave` of straight_course
        session_core& core;
        BOUGH_COLD void operator()(const event* unused) const {
            core.leave_straight();
            if (unused != nullptr) core.failure_.sheltered([&] { core.handle(*unused), core.engines_.go_on(); });
        }
    };
    BOUGH_COLD void resume() {
        session_operation& op = straight_.stop();
        engines_.run(op, [&](auto& port) { flight_.room().prepare_if_counted(*op.work_), op.work_->resume(port); });
    }

    void handle(const event& e) {
        switch (e.what) {
        case event::kind::arrived:
            BOUGH_EXPECTS(members_.is_peer(e.peer),
                          "a Transport's event::peer of a message is no other rank of its group");
            !members_.is_lost(e.peer) ? arrived(e) : matching_.drop(e);
            break;
        case event::kind::piece: engines_.piece(e); break;
        case event::kind::complete: completed(e); break;
        case event::kind::lost:
            BOUGH_EXPECTS(members_.is_peer(e.peer),
                          "a Transport's event::peer of a loss is no other rank of its group");
            engines_.go_on();
            attendants_.hear();
            failure_.lost(e.peer, e.code == errc::ok ? errc::peer_dead : e.code);
            break;
        }
    }

    void arrived(const event& e) {
        if (session_operation* op = matching_.receiver(e)) [[likely]]
            return engines_.arrived(*op, e);
        if (control_message m; put_off_.take(e, m)) handle(std::move(m));
    }

    void handle(control_message&& m) {
        engines_.go_on();
        notices<T>{members_, attendants_, messages_.own, matching_, failure_, disputes_, watch_, end_of()}.take(
            std::move(m));
    }

    void report_early() {
        if (matching_.reports().is_due()) [[unlikely]]
            failure_.sheltered([&] { matching_.reports().look(); });
    }

    void completed(const event& e) {
        if (unexpected_messages<T>::owns(e)) return engines_.early_taken(e);
        if (!control<T>::owns(e)) return engines_.completed(e);
        if (control_message m; messages_.own.completed(e, m)) handle(std::move(m));
    }

    // Ends each call of the session: sends what was posted, and data that waited for the session's messages;
    // ends operations that waited for that. The transport wakes a rank only for what it has refused itself.
    BOUGH_ALWAYS_INLINE void hand_over() {
        if (messages_.own.data_waits()) [[unlikely]]
            retry_behind_control();
        if constexpr (GatheringTransport<T>) {
            failure_.sheltered([&] { transport_.flush(); });
            if (!is_disputed()) engines_.end_departed();
        }
    }

    BOUGH_COLD void send_control_first() {
        failure_.sheltered([&] { messages_.own.flush(); });
        if (messages_.own.data_waits()) retry_behind_control();
    }
    BOUGH_COLD void retry_behind_control() {
        failure_.sheltered([&] {
            // Again if an op throws meanwhile: what others are told of that may clear further ranks.
            while (messages_.own.data_may_go() && flight_.was_blocked()) (void)engines_.retry();
        });
        report_early();
    }

    letting_go<T> end_of() noexcept { return {members_, messages_.own, matching_, failure_, disputes_, late_, watch_}; }

    membership members_;
    struct { // outlives the transport, which may still read or write bytes of these messages
        control<T> own;
        unexpected_messages<T> early;
    } messages_;
    T transport_;
    in_flight<T> flight_;
    matching<T> matching_;
    failure<T> failure_;
    disputes<T> disputes_;
    deadline_watch<T> watch_;
    engines<T> engines_;
    late_ranks<T> late_;
    polling<T> polling_;
    straight_course<T> straight_;
    attendants attendants_;
    put_off<T> put_off_;
};

// Not inline, so that the compiled form can hold them.
template <Transport T>
session_core<T>::session_core(T transport, const early_limits& limits)
    : members_(transport.rank(), transport.size()), messages_{{transport_, members_},
                                                              {transport_, members_.size(), limits}},
      transport_(std::move(transport)), flight_(transport_, messages_.own, members_.size(), limits),
      matching_(messages_.early, members_, messages_.own, flight_),
      failure_(transport_, members_, messages_.own, messages_.early, flight_),
      disputes_(transport_, members_, messages_.own, flight_, failure_),
      watch_(transport_, members_, messages_.own, flight_, matching_, failure_, disputes_),
      engines_(members_, flight_, matching_, failure_, disputes_, watch_),
      late_(transport_, messages_.own, flight_, failure_, disputes_),
      polling_(transport_, flight_, messages_.early, failure_), straight_(transport_, flight_, failure_),
      put_off_(members_, messages_.own, flight_, matching_, failure_, disputes_) {}

template <Transport T>
void session_core<T>::start(session_operation& op, prepared& work, const call& c, const envelope& tag,
                            const call_signature& signature, std::uint64_t timeout_ns, const late_part& late) {
    leave_straight();
    flight_.prepare(op, work, tag, members_.epoch(), signature, timeout_ns);
    if (forked()) return op.end_in_child();
    if (messages_.own.has_to_send()) [[unlikely]]
        send_control_first(); // its data must not wait for the next poll
    contexts().start(tag);
    if (op.record_.in == nullptr) disputes_.started(op.tag_, signature);
    if (failure_.refuse_start(op)) return;
    work.prepare(c);
    if (!attendants_.empty() || !flight_.room().has_one_order()) [[unlikely]]
        flight_.reserve(work);
    op.record_.how = {call_state::in_flight, errc::ok, op.recorded_size(c.element_bytes)};
    flight_.add(op);
    if (op.record_.in != nullptr) op.record_.in->begins(op.tag_.operation, op.signature_, op.record_.how);
    const bool is_late = SharesMemory<T> && late.places != nullptr;
    if (op.is_watched()) [[unlikely]]
        op.tell({.what = operation_event::kind::start});
    else if (!is_late && flight_.size() == 1 && c.combine_many == nullptr && may_go_straight(work)) {
        return straight_.start(op, combine_of(c), leaving{*this});
    }
    op.record_.starting = true;
    if (is_late) {
        failure_.guarded(op, [&] { late_.start(op, late, [this](auto& ended) { engines_.end(ended); }); });
    } else {
        engines_.run(op, [&](auto& port) { work.start(c, port); });
    }
    if (!messages_.early.empty()) engines_.take_early(op);
    report_early();
    if (members_.any_lost() && !op.done_) failure_.fail_if_lost(op);
    hand_over();
    op.record_.starting = false;
}

template <Transport T>
repeat_outcome session_core<T>::repeat(session_operation& op, const repeatable& what, std::uint32_t number,
                                       std::uint64_t timeout_ns) {
    prepared& work = *op.work_;
    if (!flight_.empty() || op.record_.in == nullptr || op.tag_.epoch != members_.epoch() || forked() ||
        failure_.may_refuse() || !work.prepare_again(what.layout, what.made.input, what.made.output) ||
        !may_go_straight(work))
        return repeat_outcome::refused;
    if (op.tag_.digest.hash != what.digest.hash) op.take_on(what.signature, what.made.element_bytes);
    flight_.renew(op, number, timeout_ns);
    contexts().start(op.tag_);
    flight_.add(op);
    op.record_.in->begins(number, op.signature_, op.record_.how);
    straight_.start(op, combine_of(what.made), leaving{*this});
    return op.done_ && !op.result_ && !is_poll_due() ? repeat_outcome::ended_well : repeat_outcome::started;
}

template <Transport T>
bool session_core<T>::progress(bool waits) {
    if (straight_.is_running()) {
        const straight_turn turn = straight_.look(waits, leaving{*this});
        if (turn == straight_turn::moved) return true;
        if (turn == straight_turn::waits || forked()) return false;
        leave_straight(); // sends nothing: a run that waits has sent all that it can
    }
    if (!put_off_.empty()) [[unlikely]]
        put_off_.retry([this](control_message&& m) { failure_.sheltered([&] { handle(std::move(m)); }); });
    session_operation* const lone = waits && is_usual() && attendants_.empty() ? flight_.lone_short() : nullptr;
    std::size_t found = polling_.turn(
        lone, straight_, [this](const event& e) { handle(e); }, [this] { engines_.go_on(); });
    if (found == 0 && forked()) return false;
    found == 0 ? matching_.idle(waits || !attendants_.empty()) : matching_.moves();
    const std::size_t before = flight_.size();
    if (SharesMemory<T> && !late_.empty() && late_.look([this](auto& op) { engines_.end(op); })) ++found;
    if (has_to_send()) failure_.tell(); // first, as data waits behind it
    if (flight_.was_blocked() && engines_.retry()) ++found;
    if (attendants_.is_due()) [[unlikely]]
        attendants_.attend();
    report_early();
    if (messages_.own.has_untried() || failure_.has_to_tell()) failure_.tell();
    hand_over();
    return found != 0 || flight_.size() != before || !put_off_.empty(); // the end of one may let another go on
}

template <Transport T>
void session_core<T>::check_deadlines() {
    if (!attendants_.empty()) [[unlikely]]
        attendants_.attend();
    if (flight_.empty() && !is_disputed()) return;
    leave_straight();
    const std::uint64_t now = transport_.now_ns();
    if (failure_.dispute().is_late(now)) failure_.conclude_dispute();
    watch_.look(now);
    if (!flight_.empty()) failure_.sheltered([&] { records().note_now_and_then(now); });
    hand_over();
}

} // namespace bough::detail

#endif
