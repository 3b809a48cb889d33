// SPDX-License-Identifier: BSL-1.0
// standard_plan: what automatic{} takes. Units that use the compiled form do not see this
// definition, nor the candidates.
#ifndef BOUGH_CALL_STANDARD_PLAN_HPP
#define BOUGH_CALL_STANDARD_PLAN_HPP

#include <bough/core/config.hpp>
#include <bough/schedule/any_algorithm.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/candidates.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/known_network.hpp>
#include <bough/select/standard_set.hpp>

#include <memory>

namespace bough::inline BOUGH_ABI::detail {

// What these costs choose among the standard candidates (bough/select/standard_set.hpp), or simulated runs
// over the network, if it is known.
template <class Goal>
decision standard_decision(const dimensions& at, const problem& what, const any_cost_model& costs,
                           const requirements& needed) {
    const candidate_list from = standard_candidates<Goal>(at, what, needed, costs);
    if (what.network != nullptr) return what.network->choose(from, at, what, needed);
    return choose(from, at, what, costs, {.needed = needed, .in_a_loop = true});
}

// The algorithm and blocks that were chosen for another root, if they may be taken here, too.
template <class Goal>
bool serves_too(const candidate& same, const dimensions& here, const problem& what, const requirements& needed) {
    const char* refusal = nullptr;
    return excluded_by(same, Goal::kind, here, needed, what.exact_op, refusal) == exclusion::none;
}

// The plan of that choice; null if no candidate has what is needed. `like`: the plan that they chose for another root, of which all
// costs are alike; its algorithm is taken for this root, too, if it may be. Not inline, so that the
// compiled form can hold it.
template <class Goal>
std::shared_ptr<const plan<Goal, any_algorithm>> standard_plan(const dimensions& at, const problem& what,
                                                               const any_cost_model& costs, const requirements& needed,
                                                               const plan<Goal, any_algorithm>* like) {
    using chosen = plan<Goal, any_algorithm>;
    if (like != nullptr) {
        const candidate same{like->algorithm(), like->blocks()};
        const dimensions here{at.size, at.root, like->blocks()};
        if (serves_too<Goal>(same, here, what, needed)) return std::make_shared<const chosen>(same.algorithm, here);
    }
    const decision d = standard_decision<Goal>(at, what, costs, needed);
    if (!d) return nullptr;
    return std::make_shared<const chosen>(d.winner().what.algorithm, dimensions{at.size, at.root, d.winner().blocks});
}

} // namespace bough::detail

#endif
