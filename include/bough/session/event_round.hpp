// SPDX-License-Identifier: BSL-1.0
// event_round: while a session handles what a poll has found, which operations and steps that was for.
// They go on when all has been handled, and not after each event, so that each does first what its
// schedule has first.
#ifndef BOUGH_SESSION_EVENT_ROUND_HPP
#define BOUGH_SESSION_EVENT_ROUND_HPP

#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/engine/straight_run.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

class event_round {
public:
    // Pre: no round is open.
    void begin() noexcept {
        BOUGH_EXPECTS(!is_open_, op_calls_library);
        is_open_ = true;
    }
    void end() noexcept { is_open_ = false; }
    bool is_open() const noexcept { return is_open_; }

    // An event was for the operation and the step with this id of a post (in_flight::post_id). `each`: an
    // operation is noted for each of several events in a row, not only for the first. Pre: has_room(1).
    BOUGH_ALWAYS_INLINE void note(std::uint64_t post_id, bool each) noexcept {
        if (count_ != 0 && noted_[count_ - 1] >> 32 == post_id >> 32 && !each) return;
        noted_[count_++] = post_id;
    }
    // For so many events?
    bool has_room(std::size_t events) const noexcept { return noted_.size() - count_ >= events; }
    // Calls f(post_id) for each that was noted, in their order. Then they are forgotten.
    template <class F>
    BOUGH_ALWAYS_INLINE void take(F&& f) {
        for (std::size_t k = 0; k < count_; ++k) f(noted_[k]);
        count_ = 0;
    }

private:
    std::array<std::uint64_t, 64> noted_;
    std::size_t count_ = 0;
    bool is_open_ = false;
};

} // namespace bough::detail

#endif
