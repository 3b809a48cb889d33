// SPDX-License-Identifier: BSL-1.0
// waiting_hook: a function of the program that runs while a call waits: the progress of a host runtime,
// the yield of a scheduler.
//
//   bool drive(void* context, std::uint32_t idle);
//   communicator_options options{.while_waiting = {drive, &runtime}};
//   comm.set_while_waiting({drive, &runtime});                // or later; {}: none
//
// It is called by the thread that waits: after each poll that found nothing, and after every 64th poll
// in any case. `idle` is how many polls in a row found nothing. A call that need not wait does not
// call it.
//
// It returns true if the rank must not sleep, as there is something else to look after. Then the call
// polls again at once. If it returns false, the transport may make the thread sleep until a message
// comes, or yield, as without a hook; nobody calls the hook meanwhile.
//
// It may call anything of other libraries; switch to another fiber or thread of work, which may take as
// long as it likes but for the timeouts of operations; and poll, start and progress operations of this
// and other communicators. It must not make a blocking collective call on the communicator that waits,
// start one there if that follows arrivals (communicator_options::follow_arrivals), destroy the
// communicator, or throw. A wait inside the hook does not call the hook again.
#ifndef BOUGH_SESSION_WAITING_HOOK_HPP
#define BOUGH_SESSION_WAITING_HOOK_HPP

#include <bough/core/config.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

struct waiting_hook {
    bool (*function)(void* context, std::uint32_t idle) = nullptr; // null: none
    void* context = nullptr;

    explicit operator bool() const noexcept { return function != nullptr; }
    bool operator()(std::uint32_t idle) const noexcept { return function(context, idle); }
    // Is it due after a poll that found something?
    static constexpr bool is_due(std::uint32_t turn) noexcept { return (turn & 63u) == 0; }
};

namespace detail {
inline constexpr waiting_hook no_hook{};
} // namespace detail

} // namespace bough

#endif
