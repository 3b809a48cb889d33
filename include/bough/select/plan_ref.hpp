// SPDX-License-Identifier: BSL-1.0
// plan_ref: refers to any plan, as one type, so that the code that prices plans is compiled once
// and not once for every plan.
#ifndef BOUGH_SELECT_PLAN_REF_HPP
#define BOUGH_SELECT_PLAN_REF_HPP

#include <bough/schedule/any_algorithm.hpp>
#include <bough/schedule/step_ref.hpp>

#include <concepts>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

// A reference to a plan. The plan must live as long as the reference.
class plan_ref {
public:
    template <Plan P>
    requires(!std::same_as<P, plan_ref>) explicit plan_ref(const P& plan)
        : plan_(&plan), emit_([](const void* p, const dimensions&, rank_t rank, detail::step_ref& out) {
              static_cast<const P*>(p)->emit(rank, out);
          }),
          at_{plan.size(), plan.root(), plan.blocks()} {}

    // Refers to an algorithm at these dimensions; its goal does not matter here. Pre: at.blocks is
    // a number.
    plan_ref(const any_algorithm& algorithm, const dimensions& at)
        : plan_(&algorithm), emit_([](const void* a, const dimensions& d, rank_t rank, detail::step_ref& out) {
              static_cast<const any_algorithm*>(a)->emit(d, rank, out);
          }),
          at_(at) {}

    // The members of a Plan.
    static constexpr int goal() noexcept { return 0; }
    rank_t size() const noexcept { return at_.size; }
    rank_t root() const noexcept { return at_.root; }
    block_t blocks() const noexcept { return at_.blocks; }
    static constexpr block_t scratch(rank_t) noexcept { return 0; }
    void emit(rank_t rank, StepSink auto&& out) const {
        if constexpr (std::derived_from<std::remove_cvref_t<decltype(out)>, detail::step_ref>) {
            emit_(plan_, at_, rank, out);
        } else {
            detail::step_ref_to to(out);
            emit_(plan_, at_, rank, to);
        }
    }

private:
    const void* plan_;
    void (*emit_)(const void*, const dimensions&, rank_t, detail::step_ref&);
    dimensions at_;
};

static_assert(Plan<plan_ref>);

} // namespace bough

#endif
