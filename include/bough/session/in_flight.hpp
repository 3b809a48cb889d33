// SPDX-License-Identifier: BSL-1.0
// In_flight: the operations of a session that have started and have not ended, in the order of their
// starts.
//
// It finds operations, by their call or by the id of a post, and says what each of them may send: the
// oldest may always send, others only as much as their peers can keep (ahead.hpp). It needs of an
// operation what session_operation has, and of the transport the concept.
#ifndef BOUGH_SESSION_IN_FLIGHT_HPP
#define BOUGH_SESSION_IN_FLIGHT_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/engine/straight_run.hpp>
#include <bough/session/ahead.hpp>
#include <bough/session/departures.hpp>
#include <bough/session/mismatch.hpp>
#include <bough/session/operation.hpp>
#include <bough/session/unexpected.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
class in_flight {
public:
    // The transport may be constructed later, but before the first post.
    in_flight(T& transport, rank_t ranks, const early_limits& limits)
        : transport_(transport), ahead_(ranks, limits, InPlaceTransport<T>) {
        all_.reserve(16); // how many are in flight at a time depends on how soon messages come
    }
    in_flight(const in_flight&) = delete;
    in_flight& operator=(const in_flight&) = delete;

    bool empty() const noexcept { return all_.empty(); }
    std::size_t size() const noexcept { return all_.size(); }
    session_operation& operator[](std::size_t i) const noexcept { return *all_[i]; }
    bool is_oldest(const session_operation& op) const noexcept { return all_.front() == &op; }

    // Makes an operation ready to be added. `tag` has its context and number.
    void prepare(session_operation& op, prepared& work, const envelope& tag, std::uint32_t epoch,
                 const call_signature& signature, std::uint64_t timeout_ns) noexcept {
        op.work_ = &work;
        op.tag_.epoch = epoch;
        op.tag_.context = tag.context;
        if (op.tag_.digest.hash == 0 || op.signature_ != signature) // otherwise it is signed from the call before
            sign(op.tag_, op.signature_ = signature);
        renew(op, tag.operation, timeout_ns);
    }
    // The same for an operation of which nothing else has changed.
    BOUGH_ALWAYS_INLINE void renew(session_operation& op, std::uint32_t number, std::uint64_t timeout_ns) noexcept {
        op.tag_.operation = number;
        op.timeout_ns_ = timeout_ns;
        op.attend_ns_ = 0;
        op.asked_ = op.proposed_ = false;
        op.pending_ = 0;
        op.taken_back_by_ = no_rank;
        if (op.result_) op.result_ = {};
    }
    // The operation starts. Pre: prepare().
    BOUGH_ALWAYS_INLINE void add(session_operation& op) {
        op.ticket_ = ++tickets_ & 0x7fff'ffffu;
        ahead_.prepare(*op.work_); // now, as whether it is needed depends on the other ranks
        all_.push_back(&op);
        op.done_ = false;
    }
    // The operation has ended, well or not.
    void remove(session_operation& op) noexcept {
        op.done_ = true;
        departures_.end(op);
        ahead_.forget(*op.work_);
        if (all_.back() == &op) return all_.pop_back();
        std::erase(all_, &op);
        ahead_.forget(*all_.front()->work_);
    }

    // Null: none has made this call.
    session_operation* find(const envelope& call) const noexcept {
        for (session_operation* op : all_)
            if (same_call(op->tag_, call)) return op;
        return nullptr;
    }
    // The operation of a post; null: it has ended.
    session_operation* find_post(std::uint64_t id) const noexcept {
        const auto ticket = static_cast<std::uint32_t>(id >> 32);
        for (session_operation* op : all_)
            if (op->ticket_ == ticket) return op;
        return nullptr;
    }
    static std::uint64_t post_id(const session_operation& op, std::uint32_t step) noexcept {
        return std::uint64_t{op.ticket_} << 32 | step;
    }

    // Posts a message of an operation, unless that must wait.
    posted send(session_operation& op, std::uint32_t step, rank_t to, std::uint32_t segment,
                std::span<const std::byte> bytes) {
        const bool oldest = is_oldest(op);
        if (!oldest && !ahead_.fits(to, bytes.size())) return blocked_ = true, posted::would_block;
        op.tag_.segment = segment;
        posted result = transport_.post_send(to, op.tag_, bytes, post_id(op, step));
        // The peer is lost, but its last messages may be among the events that are still to be
        // handled. A retry sends again after those.
        if (result == posted::failed && handling_) result = posted::would_block;
        if (result == posted::pending) ++op.pending_;
        if (result == posted::would_block) blocked_ = true;
        if (!oldest && (result == posted::pending || result == posted::complete))
            ahead_.sent(*op.work_, to, bytes.size());
        return result;
    }
    // Has a post been refused since the last call? Then its operation must retry.
    bool was_blocked() noexcept { return std::exchange(blocked_, false); }
    // Between these two, events that were polled are being handled. Pre: no others are.
    void begin_events() noexcept {
        BOUGH_EXPECTS(!handling_, op_calls_library);
        handling_ = true;
    }
    void end_events() noexcept { handling_ = false; }

    // The last step of an operation is done. True: some of its messages are still here, and
    // next_departed() will name it.
    bool is_leaving(session_operation& op) noexcept { return departures_.begins(transport_, op); }
    // An operation whose messages have all left; null: none.
    session_operation* next_departed() const noexcept { return departures_.next(transport_, all_); }
    // Calls f(rank) for each rank whose messages of this operation have not left yet.
    template <class F>
    void for_each_late(const session_operation& op, F&& f) const {
        departures<T>::for_each_late(transport_, op, std::forward<F>(f));
    }

private:
    T& transport_;
    std::vector<session_operation*> all_;
    ahead ahead_;
    departures<T> departures_;  // of all_
    std::uint32_t tickets_ = 0; // counts starts: operations of two communicators may have the same number
    bool blocked_ = false;      // a post was refused
    bool handling_ = false;
};

} // namespace bough::detail

#endif
