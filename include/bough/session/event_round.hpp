// SPDX-License-Identifier: BSL-1.0
// event_round: remembers for which operations and steps the events of a poll were. These operations go on
// when all events have been handled, and not after each, so that each does first what its schedule has
// first.
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

    // Notes an event; the id (in_flight::post_id) says for which operation and step it was. `told`: a hook
    // hears of each event. Otherwise several in a row for one operation are noted once.
    // Pre: fewer than `most` events since forget().
    BOUGH_ALWAYS_INLINE void note(std::uint64_t post_id, bool told) noexcept {
        if (count_ != 0 && (noted_[count_ - 1] & ~told_bit) >> 32 == post_id >> 32 && !told) return;
        noted_[count_++] = post_id | (told ? told_bit : 0);
        any_told_ = any_told_ || told;
    }
    bool any_told() const noexcept { return any_told_; }
    // Calls f(post_id, told) for each that was noted, in their order.
    template <class F>
    BOUGH_ALWAYS_INLINE void for_each(F&& f) const {
        for (std::size_t k = 0; k < count_; ++k) f(noted_[k] & ~told_bit, (noted_[k] & told_bit) != 0);
    }
    void forget() noexcept { count_ = 0, any_told_ = false; }
    struct forgets { // at its end, also by an exception
        event_round& round;
        ~forgets() { round.forget(); }
    };

    static constexpr std::size_t most = 64; // events of a round

private:
    static constexpr std::uint64_t told_bit = std::uint64_t{1} << 63; // numbers of operations have 31 bits
    std::array<std::uint64_t, most> noted_;
    std::size_t count_ = 0;
    bool any_told_ = false;
    bool is_open_ = false;
};

} // namespace bough::detail

#endif
