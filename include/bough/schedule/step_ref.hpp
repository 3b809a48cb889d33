// SPDX-License-Identifier: BSL-1.0
// step_ref: a sink behind a virtual function. What generates steps for it, and what consumes them, is
// compiled once, not once for every pair of them. It works at compile time, too.
#ifndef BOUGH_SCHEDULE_STEP_REF_HPP
#define BOUGH_SCHEDULE_STEP_REF_HPP

#include <bough/concepts/step_sink.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>

namespace bough::inline BOUGH_ABI::detail {

class step_ref {
public:
    constexpr void send(rank_t to, slice from) { take(send_step(to, from)); }
    constexpr void receive(rank_t from, slice into) { take(receive_step(from, into)); }
    constexpr void send_part(rank_t to, slice from) { take(send_step(to, from, true)); }
    constexpr void receive_part(rank_t from, slice into) { take(receive_step(from, into, true)); }
    constexpr void combine(slice lower, slice upper, slice out) { take(combine_step(lower, upper, out)); }
    constexpr void copy(slice from, slice to) { take(copy_step(from, to)); }

    step_ref& operator=(const step_ref&) = delete;

protected:
    constexpr step_ref() = default;
    step_ref(const step_ref&) = default;
    constexpr ~step_ref() = default;

private:
    constexpr virtual void take(const step&) = 0;
};

static_assert(StepSink<step_ref>);

// Hands the steps to `sink`, which must live as long.
template <StepSink S>
class step_ref_to final : public step_ref {
public:
    constexpr explicit step_ref_to(S& sink) : sink_(sink) {}

private:
    constexpr void take(const step& s) override { bough::push_step(sink_, s); }

    S& sink_;
};

} // namespace bough::detail

#endif
