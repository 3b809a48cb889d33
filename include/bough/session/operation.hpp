// SPDX-License-Identifier: BSL-1.0
// An operation in flight, as a session knows it. What users hold is bough/operation.hpp.
#ifndef BOUGH_SESSION_OPERATION_HPP
#define BOUGH_SESSION_OPERATION_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/status.hpp>

#include <cstdint>

namespace bough {

class prepared;
namespace detail {
template <Transport T>
class session_core;
template <Transport T>
class departures;
template <class Session>
struct session_port;
template <class Session>
struct deadline_watch;
template <class Core>
class session_disputes;
} // namespace detail

// One operation of a communicator, from start to end. The caller owns it and keeps it alive and in place until done().
class session_operation {
public:
    bool done() const noexcept { return done_; }
    const status& result() const noexcept { return result_; }

private:
    template <Transport T>
    friend class session;
    template <Transport T>
    friend class detail::session_core;
    template <Transport T>
    friend class detail::departures;
    template <class Session>
    friend struct detail::deadline_watch;
    // What its time says is due. Once, after ask_after_ns or half of its own time: to ask those that it waits for whether they
    // make the same call. In the last quarter of its time, or its last two seconds: to look, twice, for the ranks that hold
    // it up; to propose to all others what to report; and its end. A rank that looks at the clock too late does all that,
    // too, and ends later, by up to three quarters of that while.
    enum class due : std::uint8_t { nothing, question, search, search_again, proposal, end };
    static constexpr std::uint64_t ask_after_ns = 250'000'000;
    static constexpr std::uint64_t longest_search_ns = 2'000'000'000;
    due at(std::uint64_t now_ns) noexcept {
        if (now_ns < attend_ns_) return due::nothing;
        const std::uint64_t ask_ns = timeout_ns_ / 2 < ask_after_ns ? timeout_ns_ / 2 : ask_after_ns;
        if (attend_ns_ == 0) {
            deadline_ns_ = deadline_after(now_ns, timeout_ns_);
            next_ = due::question;
            asked_ = proposed_ = false;
            attend_ns_ = deadline_after(now_ns, ask_ns);
            return due::nothing;
        }
        if (next_ == due::question) {
            if (now_ns < time_of(due::search)) { // again, until it is the oldest operation, which alone asks
                const std::uint64_t again_ns = deadline_after(now_ns, ask_ns);
                attend_ns_ = !asked_ && again_ns < time_of(due::search) ? again_ns : time_of(due::search);
                return due::question;
            }
            next_ = due::search;
        }
        const due what = next_;
        if (what == due::end) return what;
        next_ = static_cast<due>(static_cast<std::uint8_t>(what) + 1);
        const std::uint64_t at_least_ns = deadline_after(now_ns, part_ns());
        attend_ns_ = at_least_ns < time_of(next_) ? time_of(next_) : at_least_ns;
        return what;
    }
    // A quarter of the time in which it looks for those that hold it up.
    std::uint64_t part_ns() const noexcept {
        return (timeout_ns_ / 4 < longest_search_ns ? timeout_ns_ / 4 : longest_search_ns) / 4;
    }
    std::uint64_t time_of(due what) const noexcept {
        const std::uint64_t parts = what == due::search ? 4 : what == due::search_again ? 2 : what == due::proposal;
        return deadline_ns_ - parts * part_ns();
    }
    void set_timeout(std::uint64_t now_ns, std::uint64_t timeout_ns) noexcept {
        timeout_ns_ = timeout_ns;
        attend_ns_ = 0;
        (void)at(now_ns);
    }
    void start_clock(std::uint64_t now_ns) noexcept {
        if (attend_ns_ == 0) (void)at(now_ns);
    }

    // In the child of a fork: this copy of it ends, and the parent's goes on.
    void end_in_child() noexcept {
        result_ = {.code = errc::forked_child, .operation = tag_.operation};
        done_ = true;
    }

    template <class Session>
    friend struct detail::session_port;
    template <class Core>
    friend class detail::session_disputes;
    prepared* work_ = nullptr;
    envelope tag_{}; // of its messages; the segment is filled in
    call_signature signature_{};
    std::uint32_t ticket_ = 0; // upper half of the ids of its posts: unique on this rank while it is in flight
    std::uint64_t timeout_ns_ = 0;
    std::uint64_t deadline_ns_ = 0; // of the transport's clock; valid once there is
    std::uint64_t attend_ns_ = 0;   // when its time is to be looked at again; 0: not yet computed
    std::uint32_t pending_ = 0;     // posts that the transport still holds
    // A message that this operation needs was taken back by its sender, or is of another call: why is yet to be told.
    rank_t taken_back_by_ = no_rank;
    std::uint32_t search_ = 0; // the round in which it began to look for those that hold it up
    bool done_ = true;
    bool leaving_ = false; // all is done but for messages that are still in this process
    bool asked_ = false;
    bool proposed_ = false; // to report that somebody is missing
    due next_ = due::question;
    status result_{};
};

} // namespace bough

#endif
