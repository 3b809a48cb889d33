// SPDX-License-Identifier: BSL-1.0
// any_plan: a plan of which the goal does not matter, as for pictures and prices: compiled once, not once per collective.
#ifndef BOUGH_TOOLS_ANY_PLAN_HPP
#define BOUGH_TOOLS_ANY_PLAN_HPP

#include "catalogue.hpp"
#include <bough/concepts/plan.hpp>

namespace cli {

class any_plan {
public:
    // Pre: check(what) does not throw.
    explicit any_plan(const problem& what) : algorithm_(what.algorithm), at_(what.at) {
        if (at_.blocks == bough::natural_blocks) at_.blocks = algorithm_.natural_blocks(at_.size);
    }
    bough::goal::barrier goal() const { return {}; } // whichever
    bough::rank_t size() const { return at_.size; }
    bough::rank_t root() const { return at_.root; }
    bough::block_t blocks() const { return at_.blocks; }
    bough::block_t scratch(bough::rank_t rank) const { return algorithm_.scratch(at_, rank); }
    void emit(bough::rank_t rank, bough::StepSink auto&& sink) const { algorithm_.emit(at_, rank, sink); }

private:
    bough::any_algorithm algorithm_;
    bough::dimensions at_;
};

} // namespace cli

#endif
