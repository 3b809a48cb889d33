// SPDX-License-Identifier: BSL-1.0
// Repeatable: what a session keeps of a call that has run, so that it can run once more with other
// data, without anything being compared or signed again (session_core::repeat).
#ifndef BOUGH_SESSION_REPEATABLE_HPP
#define BOUGH_SESSION_REPEATABLE_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/engine/call.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/session/operation.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// What came of running a call once more: it is in flight or over; it has ended well, and whoever waits for it
// need not even poll; or it has not started.
enum class repeat_outcome : std::uint8_t { started, ended_well, refused };

struct repeatable {
    repeatable() = default;
    // Pre: `op` is the call `made`, and has ended well; `work` is what it ran.
    repeatable(const call& c, const session_operation& op, const prepared& work) noexcept
        : made(c), signature(op.signature()), digest(op.digest()), layout(work.layout_number()) {}

    // It was started whole once more, perhaps as its plan kept other layouts than this one.
    void started_whole(const prepared& work) noexcept {
        if (work.is_laid_out_for(made)) layout = work.layout_number();
    }

    call made{};                // its data are those of the last call
    call_signature signature{}; // whole, with kind and plan
    call_digest digest{};
    std::uint64_t layout = 0; // prepared::layout_number() of the call
};

} // namespace bough::detail

#endif
