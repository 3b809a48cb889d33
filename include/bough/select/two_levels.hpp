// SPDX-License-Identifier: BSL-1.0
// two_levels: what the choice of an algorithm knows of ranks of which some are near each other: the
// groups, the costs inside them and between them, and the plans of two levels that are candidates
// besides the standard ones. Make one by make_two_levels (bough/select/standard/two_levels.hpp).
//
//   communicator_options::levels = make_two_levels(listed_groups{{0, 0, 1, 1}}, near, far);
//
// A transport that knows groups states them (`levels()`, bough/select/transport_costs.hpp), so that
// its users need not. A communicator of some of the ranks gets the groups among them.
#ifndef BOUGH_SELECT_TWO_LEVELS_HPP
#define BOUGH_SELECT_TWO_LEVELS_HPP

#include <bough/algorithm/groups.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/rank.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/candidates.hpp>

#include <memory>
#include <span>

namespace bough::inline BOUGH_ABI {

// It never changes, and is equal on all ranks. Whoever uses costs() keeps it alive.
class two_levels {
public:
    two_levels() = default;
    two_levels(const two_levels&) = delete;
    two_levels& operator=(const two_levels&) = delete;
    virtual ~two_levels() = default;

    virtual const listed_groups& groups() const noexcept = 0;
    // Of both levels; of one, if all ranks are near each other, or none.
    virtual any_cost_model costs() const noexcept = 0;
    // Adds the plans of two levels for the goal of the list, if there are any.
    virtual void add(candidate_list& made, const dimensions& at, const problem& what) const = 0;
    // The same for some of the ranks, which are numbered in the order given.
    // Pre: each member is a rank, once.
    virtual std::shared_ptr<const two_levels> among(std::span<const rank_t> members) const = 0;
};

namespace detail {
// What explain_optional_members (bough/concepts/explain_transport.hpp) cannot know: are its costs and its
// groups of the types that choices are made by?
template <class X>
consteval bool explain_costs_and_levels() {
    if constexpr (KnowsCosts<X>)
        static_assert(
            requires(const X& x, any_cost_model& m) { m = x.default_costs(); },
            "bough: a Transport's default_costs, if it has them, are `auto default_costs() const`, which "
            "returns a CostModel");
    if constexpr (KnowsLevels<X>)
        static_assert(
            requires(const X& x, std::shared_ptr<const two_levels>& l) { l = x.levels(); },
            "bough: a Transport's levels, if it knows them, are `std::shared_ptr<const two_levels> levels() "
            "const`");
    return true;
}
} // namespace detail

} // namespace bough

#endif
