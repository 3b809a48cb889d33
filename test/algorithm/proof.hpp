// SPDX-License-Identifier: BSL-1.0
// Proofs at compile time, for the awkward sizes: 1, 2, 3, 5, 7, 8, 13. Other sizes: sweep.cpp, by the same function.
#ifndef BOUGH_TEST_ALGORITHM_PROOF_HPP
#define BOUGH_TEST_ALGORITHM_PROOF_HPP

#include <bough/verify/verify.hpp>

namespace test {

// A variable of its own: clang 14 takes no plan that owns memory (a table's) inside a template argument.
template <auto PlanOf, bough::rank_t Size>
inline constexpr bough::verdict verdict_of = bough::verify(PlanOf(Size));

// PlanOf(size) makes the plan.
template <auto PlanOf, bough::rank_t... Sizes>
consteval bool proven_for() {
    return (bough::proven<verdict_of<PlanOf, Sizes>>() && ...);
}
template <auto PlanOf>
consteval bool proven_everywhere() {
    return proven_for<PlanOf, 1, 2, 3, 5, 7, 8, 13>();
}

} // namespace test

#endif
