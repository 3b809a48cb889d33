// SPDX-License-Identifier: BSL-1.0
// The conditions of the walk itself: nothing disturbs a rank. See bough/model/walker.hpp.
#ifndef BOUGH_MODEL_DETAIL_NO_CONDITIONS_HPP
#define BOUGH_MODEL_DETAIL_NO_CONDITIONS_HPP

#include <bough/core/rank.hpp>
#include <bough/model/arriving.hpp>

namespace bough::inline BOUGH_ABI::model::detail {

// Nothing disturbs a rank, and it runs the plan once.
struct no_conditions {
    // Of one rank, during one visit.
    struct of_rank {
        constexpr of_rank(const no_conditions&, rank_t) noexcept {}
    };
    // When has the rank started? Called once.
    template <class M>
    constexpr double start(of_rank&, const M& model, rank_t rank) const {
        return bough::model::arrival_ns(model, rank) + model.start_ns();
    }
    // When does work end that takes `ns` if nothing disturbs it?
    constexpr double work(of_rank&, rank_t, double at_ns, double ns) const noexcept { return at_ns + ns; }
    // The rank has run the plan. Does it start again? Then `clock_ns` is when.
    template <class M>
    constexpr bool again(of_rank&, const M&, rank_t, double& /*clock_ns*/) const noexcept {
        return false;
    }
    // A visit has ended at this time. Need nobody know more?
    constexpr bool is_enough(double) const noexcept { return false; }
    // The visit is over.
    constexpr void leave(const of_rank&, rank_t) const noexcept {}
};

} // namespace bough::model::detail

#endif
