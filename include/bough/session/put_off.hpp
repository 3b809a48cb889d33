// SPDX-License-Identifier: BSL-1.0
// put_off: takes the arrivals of a session into its memory that belong to no operation in flight. Those
// for which there is no memory, and without which the survivors of the group could not go on, stay in the
// transport. They are taken in later, in their order for each peer.
//
// If memory runs out here, the group ends (failure.hpp), so most messages are void then. Not so what an
// agreement says, messages of an epoch that has not begun here, and the end of a member's calls:
// agreements go on beyond the end of a group. If a rank lost them, it would wait for them until the
// deadline, and take their sender for dead.
//
// It needs the membership, control, the operations in flight, the matching, which has the early messages,
// the failure, and the disputes.
#ifndef BOUGH_SESSION_PUT_OFF_HPP
#define BOUGH_SESSION_PUT_OFF_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/search.hpp>
#include <bough/session/control.hpp>
#include <bough/session/control_messages.hpp>
#include <bough/session/disputes.hpp>
#include <bough/session/failure.hpp>
#include <bough/session/in_flight.hpp>
#include <bough/session/matching.hpp>
#include <bough/session/membership.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
class put_off {
public:
    // So many arrivals are kept for later. With one more, that one is dropped.
    static constexpr std::size_t most = 64;

    put_off(membership& members, control<T>& control, in_flight<T>& flight, matching<T>& matching, failure<T>& failure,
            disputes<T>& disputes)
        : members_(members), control_(control), flight_(flight), matching_(matching), failure_(failure),
          disputes_(disputes) {
        waiting_.reserve(most);
    }
    put_off(const put_off&) = delete;
    put_off& operator=(const put_off&) = delete;

    bool empty() const noexcept { return waiting_.empty(); }
    // An arrival that no operation in flight expects. True: `m` is a control message of this epoch.
    // Throws if memory runs out.
    BOUGH_COLD bool take(const event& e, control_message& m) {
        const envelope& tag = e.envelope;
        if (tag.segment > inquiry_segment || !members_.is_of_epoch(tag)) return take_control(e, m);
        if (failure_.may_refuse() && (failure_.poison(tag.context) || failure_.is_given_up(tag))) {
            matching_.early().release(e.id);
        } else if (failure_.has_refused(tag)) {
            matching_.early().release(e.id);
            failure_.meets_refused(tag);
        } else if (matching_.early().has(tag)) { // the payload of one before it is under way
            or_add(e, [&] { matching_.early().keep(e); });
        } else if (members_.communicators().was_started(tag)) { // complete without it, or it is an inquiry
            matching_.early().release(e.id);
            disputes_.heard(flight_.find(tag), e);
        } else { // of a call that is still to be made
            or_add(e, [&] { matching_.early().keep(e); });
        }
        return false;
    }
    // Takes in what has waited, as far as there is memory by now. Calls f(message) for each control
    // message.
    template <class F>
    BOUGH_COLD void retry(const F& f) {
        while (!waiting_.empty()) {
            const event e = waiting_.front();
            control_message m;
            bool has_come = false, is_taken = false;
            ignore_exceptions([&] {
                members_.is_lost(e.peer) ? matching_.drop(e) : void(has_come = try_to_take(e, m));
                is_taken = true;
            });
            if (!is_taken) return;
            waiting_.erase(waiting_.begin());
            if (has_come) f(std::move(m));
        }
    }

private:
    // A control message, or a message of another epoch.
    bool take_control(const event& e, control_message& m) {
        const auto is_its = [&](const event& other) { return other.peer == e.peer; };
        if (!waiting_.empty() && detail::any_of(waiting_, is_its) && add(e)) return false;
        bool has_come = false;
        or_add(e, [&] { has_come = try_to_take(e, m); });
        return has_come;
    }
    static bool is_end(std::uint32_t segment) noexcept {
        return segment == last_call_segment || segment == let_go_segment;
    }
    // If memory runs out, nothing has happened. Nothing that is done with the message later allocates.
    bool try_to_take(const event& e, control_message& m) {
        if (matching_.handle_other_epoch(e)) return false;
        if (is_end(e.envelope.segment))
            members_.communicators().make_room(e.envelope.context, control_.under_way() + 1);
        return control_.read(matching_.early(), e, m);
    }
    template <class F>
    void or_add([[maybe_unused]] const event& e, const F& f) {
#if BOUGH_HAS_EXCEPTIONS
        try {
            f();
        } catch (...) {
            if (!add(e)) matching_.early().release(e.id);
            throw;
        }
#else
        f();
#endif
    }
    // False: it is void when the group ends, or there are too many.
    bool add(const event& e) noexcept {
        const std::uint32_t segment = e.envelope.segment;
        const bool is_void = members_.is_of_epoch(e.envelope) && segment != control_segment && !is_end(segment);
        if (is_void || waiting_.size() == most) return false;
        waiting_.push_back(e); // there is room
        return true;
    }

    membership& members_;
    control<T>& control_;
    in_flight<T>& flight_;
    matching<T>& matching_;
    failure<T>& failure_;
    disputes<T>& disputes_;
    plain_list<event> waiting_;
};

} // namespace bough::detail

#endif
