// SPDX-License-Identifier: BSL-1.0
// An operation in flight, as a session knows it. What users hold is bough/operation.hpp.
#ifndef BOUGH_SESSION_OPERATION_HPP
#define BOUGH_SESSION_OPERATION_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/status.hpp>
#include <bough/report/recorder.hpp>
#include <bough/session/deadline_stages.hpp>
#include <bough/session/late_places.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

template <int>
class basic_prepared;
// basic_prepared as sessions use it.
using prepared = basic_prepared<0>;
namespace detail {
template <Transport T>
class session_core;
template <Transport T>
class in_flight;
template <Transport T>
class failure;
template <Transport T>
class departures;
template <Transport T>
struct session_port;
template <Transport T>
struct straight_port;
template <Transport T>
class straight_course;
template <Transport T>
class matching;
template <Transport T>
class disputes;
template <Transport T>
class engines;
template <Transport T>
class deadline_watch;
template <Transport T>
class late_ranks;
template <Transport T>
class polling;
template <Transport T>
class records;

// Where an operation stands among those in flight, if its call was made before its start: behind those
// that had started by then. By default: behind all.
struct operation_place {
    bool is_set = false;
    std::uint32_t starts = 0; // a ticket of its own, taken when the call was made
    friend bool operator==(const operation_place&, const operation_place&) = default;
};
} // namespace detail

// One operation of a communicator, from start to end. The caller owns it and keeps it alive and in
// place until done().
class session_operation : detail::deadline_stages {
public:
    bool done() const noexcept { return done_; }
    const status& result() const noexcept { return result_; }
    // Is it done in memory that all ranks see, and not by messages?
    bool waits_for_late() const noexcept { return late_.places != nullptr; }
    // Those of the call that it is, or was last.
    const call_signature& signature() const noexcept { return signature_; }
    const call_digest& digest() const noexcept { return tag_.digest; }
    // Its calls are recorded there from now on. Pre: it is not in flight.
    void record_in(detail::recorder& its) noexcept { record_.in = &its; }
    // Of two operations that have something to send to one rank, the one with the higher priority goes
    // first. Pre: it is not in flight. (session::set_priority: it may be.)
    void set_priority(int priority) noexcept { priority_ = priority; }
    // It is a communicator's own (bough/communicator/arrivals.hpp): no program waits for it, and
    // session::end_unattended() gives it up. Pre: it is not in flight.
    void set_unattended() noexcept { heed_.unattended = true; }
    // Pre: it is not in flight.
    void set_place(const detail::operation_place& place) noexcept { place_ = place; }

private:
    template <Transport T>
    friend class session;
    template <Transport T>
    friend class detail::session_core;
    template <Transport T>
    friend class detail::in_flight;
    template <Transport T>
    friend class detail::failure;
    template <Transport T>
    friend class detail::departures;
    template <Transport T>
    friend struct detail::session_port;
    template <Transport T>
    friend struct detail::straight_port;
    template <Transport T>
    friend class detail::straight_course;
    template <Transport T>
    friend class detail::matching;
    template <Transport T>
    friend class detail::disputes;
    template <Transport T>
    friend class detail::engines;
    template <Transport T>
    friend class detail::deadline_watch;
    template <Transport T>
    friend class detail::late_ranks;
    template <Transport T>
    friend class detail::polling;
    template <Transport T>
    friend class detail::records;
    using due = deadline_stages::due;

    // session::wait() waits for it, until it is done.
    bool is_still_awaited() noexcept { return heed_.awaited = !done_; }
    // Tells the hook of its communicator, if there is one.
    bool is_watched() const noexcept { return record_.in != nullptr && record_.in->has_hook(); }
    void tell_if_watched(const operation_event& e) const {
        if (is_watched()) [[unlikely]]
            tell(e);
    }
    // It has ended well.
    void record_end() const {
        if (record_.in == nullptr) return;
        record_.starting ? record_.in->ends_at_once(tag_.operation) : record_.in->ends(tag_.operation);
        tell_if_watched({.what = operation_event::kind::end});
    }
    BOUGH_COLD void tell(operation_event e) const {
        e.number = tag_.operation;
        e.call = &signature_;
        e.element_bytes = record_.how.element_bytes;
        record_.in->tell(e);
    }

    static std::uint16_t recorded_size(std::uint64_t element_bytes) noexcept {
        return static_cast<std::uint16_t>(element_bytes < 0xffff ? element_bytes : 0xffff);
    }
    // It is another call of its plan from now on.
    void take_on(const call_signature& signature, std::uint64_t element_bytes) noexcept {
        sign(tag_, signature_ = signature);
        record_.how.element_bytes = recorded_size(element_bytes);
    }

    // For the child of a fork: this copy of the operation ends; the one of the parent goes on.
    void end_in_child() noexcept {
        result_ = {.code = errc::forked_child, .operation = tag_.operation};
        done_ = true;
    }

    prepared* work_ = nullptr;
    struct record {
        detail::recorder* in = nullptr; // of its communicator; null: its calls are not recorded
        call_record::how how{};         // as it is recorded at its start
        bool starting = false;          // the call that starts it has not returned
    } record_{};
    envelope tag_{}; // the envelope of its messages; each send fills in the segment
    call_signature signature_{};
    // Upper half of the ids of its posts: unique on this rank while it is in flight.
    std::uint32_t ticket_ = 0;
    std::uint32_t pending_ = 0; // posts that the transport still holds
    int priority_ = 0;
    detail::operation_place place_{};
    // The sender of a message that this operation needs: it took the message back, or made another
    // call. The reason is still to come.
    rank_t taken_back_by_ = no_rank;
    detail::late_part late_{};
    std::uint32_t search_ = 0; // the round in which its search began
    bool done_ = true;
    bool leaving_ = false; // it only waits for messages that are still in this process
    struct heed {
        bool awaited = false;    // session::wait() waits for it
        bool unattended = false; // no program waits for it
    } heed_{};
    status result_{};
};

} // namespace bough

#endif
