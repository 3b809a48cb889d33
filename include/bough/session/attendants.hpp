// SPDX-License-Identifier: BSL-1.0
// attendants: what a session moves on besides its operations: calls that wait for their turn
// (bough/communicator/call_order.hpp).
//
// Whoever polls the session may wait for something else, in another communicator. So the session itself
// calls each attendant: after a poll that has brought control messages, when deadlines are looked at,
// and under its lock. While the list is empty that costs nothing.
//
// Operations that start after a call that waits are not older than it (in_flight.hpp).
#ifndef BOUGH_SESSION_ATTENDANTS_HPP
#define BOUGH_SESSION_ATTENDANTS_HPP

#include <bough/core/config.hpp>
#include <bough/session/operation.hpp>

namespace bough::inline BOUGH_ABI::detail {

class attendant {
public:
    attendant(const attendant&) = delete;
    attendant& operator=(const attendant&) = delete;
    // Starts what may start, and ends what cannot any more. It may start and end operations, and remove
    // itself from the list.
    virtual void attend() noexcept = 0;

protected:
    attendant() = default;
    ~attendant() = default;
    operation_place oldest_{}; // of its calls that wait; session::attend_to() reads it

private:
    friend class attendants;
    attendant *next_ = nullptr, *previous_ = nullptr;
};

// They stay where they are, and allocate nothing.
class attendants {
public:
    bool empty() const noexcept { return first_ == nullptr; }
    bool has(const attendant& a) const noexcept { return a.previous_ != nullptr || first_ == &a; }
    // Pre: `a` is in no list.
    void add(attendant& a) noexcept {
        a.next_ = first_;
        if (first_ != nullptr) first_->previous_ = &a;
        first_ = &a;
    }
    // Pre: `a` is in this list.
    void remove(attendant& a) noexcept {
        if (next_turn_ == &a) next_turn_ = a.next_;
        (a.previous_ == nullptr ? first_ : a.previous_->next_) = a.next_;
        if (a.next_ != nullptr) a.next_->previous_ = a.previous_;
        a.next_ = a.previous_ = nullptr;
    }

    // The place of the oldest call that waits. `now` is a place behind all of them.
    operation_place oldest(const operation_place& now) const noexcept {
        operation_place found{};
        for (const attendant* a = first_; a != nullptr; a = a->next_)
            if (!found.is_set || (now.starts - a->oldest_.starts) * 2 > (now.starts - found.starts) * 2)
                found = a->oldest_; // tickets have 31 bits
        return found;
    }

    // Something has come that they may wait for: a control message, or the loss of a rank.
    void hear() noexcept { has_heard_ = true; }
    // Is there something that the attendants do not know?
    bool is_due() const noexcept { return has_heard_ && !empty(); }
    // Calls all of them. A call while they are called does nothing.
    BOUGH_COLD void attend() noexcept {
        if (is_paused_ || is_calling_) return;
        is_calling_ = true;
        has_heard_ = false;
        for (attendant* a = first_; a != nullptr; a = next_turn_) {
            next_turn_ = a->next_;
            a->attend();
        }
        is_calling_ = false;
    }
    // While they are paused, none is called.
    void pause(bool is_paused) noexcept {
        is_paused_ = is_paused;
        hear();
    }

private:
    attendant* first_ = nullptr;
    attendant* next_turn_ = nullptr; // of attend()
    bool has_heard_ = false, is_calling_ = false, is_paused_ = false;
};

} // namespace bough::detail

#endif
