// SPDX-License-Identifier: BSL-1.0
// An operation in flight, as a session knows it. What users hold is bough/operation.hpp.
#ifndef BOUGH_EXECUTE_SESSION_OPERATION_HPP
#define BOUGH_EXECUTE_SESSION_OPERATION_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/status.hpp>

#include <cstdint>

namespace bough {

class prepared;
namespace detail {
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
    template <class Session>
    friend struct detail::session_port;
    prepared* work_ = nullptr;
    envelope tag_{};           // of its messages; the segment is filled in
    std::uint32_t ticket_ = 0; // upper half of the ids of its posts: unique on this rank while it is in flight
    std::uint64_t timeout_ns_ = 0;
    std::uint64_t deadline_ns_ = 0;  // of the transport's clock; 0: not yet computed
    std::uint32_t pending_ = 0;      // posts that the transport still holds
    rank_t taken_back_by_ = no_rank; // a message that this operation needs was taken back by its sender
    bool done_ = true;
    status result_{};
};

} // namespace bough

#endif
