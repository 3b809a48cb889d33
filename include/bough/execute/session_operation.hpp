// SPDX-License-Identifier: BSL-1.0
// An operation in flight, as a session knows it. What users hold is bough/operation.hpp.
#ifndef BOUGH_EXECUTE_SESSION_OPERATION_HPP
#define BOUGH_EXECUTE_SESSION_OPERATION_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/status.hpp>

#include <cstdint>

namespace bough {

class prepared;
namespace detail {
template <Transport T>
class session_core;
template <class Session>
struct session_port;
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
    // What its time says is due: to ask those that it waits for, after ask_after_ns or half of its own time; or its end.
    enum class due : std::uint8_t { nothing, question, end };
    static constexpr std::uint64_t ask_after_ns = 250'000'000;
    due at(std::uint64_t now_ns) noexcept {
        if (now_ns < attend_ns_) return due::nothing;
        const due what = attend_ns_ == 0 ? due::nothing : now_ns >= deadline_ns_ ? due::end : due::question;
        if (attend_ns_ == 0) deadline_ns_ = deadline_after(now_ns, timeout_ns_), asked_ = false;
        const std::uint64_t next_ns =
            deadline_after(now_ns, timeout_ns_ / 2 < ask_after_ns ? timeout_ns_ / 2 : ask_after_ns);
        attend_ns_ = asked_ || deadline_ns_ < next_ns ? deadline_ns_ : next_ns;
        return what;
    }
    void set_timeout(std::uint64_t now_ns, std::uint64_t timeout_ns) noexcept {
        timeout_ns_ = timeout_ns;
        attend_ns_ = 0;
        (void)at(now_ns);
    }
    void start_clock(std::uint64_t now_ns) noexcept {
        if (attend_ns_ == 0) (void)at(now_ns);
    }

    template <class Session>
    friend struct detail::session_port;
    prepared* work_ = nullptr;
    envelope tag_{};           // of its messages; the segment is filled in
    std::uint32_t ticket_ = 0; // upper half of the ids of its posts: unique on this rank while it is in flight
    std::uint64_t timeout_ns_ = 0;
    std::uint64_t deadline_ns_ = 0;  // of the transport's clock; valid once there is
    std::uint64_t attend_ns_ = 0;    // when its time is to be looked at again; 0: not yet computed
    std::uint32_t pending_ = 0;      // posts that the transport still holds
    rank_t taken_back_by_ = no_rank; // a message that this operation needs was taken back by its sender
    bool done_ = true;
    bool asked_ = false;
    status result_{};
};

} // namespace bough

#endif
