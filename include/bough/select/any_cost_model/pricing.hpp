// SPDX-License-Identifier: BSL-1.0
// pricing: the conditions of a walk that prices a plan (bough/model/walker.hpp). It may visit some ranks
// for all, and end before the plan does.
#ifndef BOUGH_SELECT_ANY_COST_MODEL_PRICING_HPP
#define BOUGH_SELECT_ANY_COST_MODEL_PRICING_HPP

#include <bough/core/rank.hpp>
#include <bough/model/arriving.hpp>
#include <bough/model/folded_ranks.hpp>

namespace bough::inline BOUGH_ABI::detail {

// What happens in a walk: nothing that is not in the plan. It may end before the plan does.
template <bool Folds>
class pricing {
public:
    constexpr pricing(const model::folded_ranks* fold, double enough_ns) : fold_(fold), enough_ns_(enough_ns) {}

    constexpr bool is_over() const noexcept { return is_over_; }

    struct of_rank {
        constexpr of_rank(const pricing&, rank_t) noexcept {}
    };
    constexpr double start(of_rank&, const auto& model, rank_t rank) const {
        return bough::model::arrival_ns(model, rank) + model.start_ns();
    }
    constexpr double work(of_rank&, rank_t, double at_ns, double ns) const noexcept { return at_ns + ns; }
    constexpr bool again(of_rank&, const auto&, rank_t, double&) const noexcept { return false; }
    constexpr bool is_enough(double clock_ns) noexcept { return is_over_ = is_over_ || clock_ns > enough_ns_; }
    constexpr void leave(const of_rank&, rank_t) const noexcept {}
    constexpr const model::folded_ranks* fold() const noexcept requires(Folds) { return fold_; }

private:
    const model::folded_ranks* fold_;
    double enough_ns_;
    bool is_over_ = false;
};

} // namespace bough::inline BOUGH_ABI::detail

#endif
