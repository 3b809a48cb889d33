// SPDX-License-Identifier: BSL-1.0
// explain_algorithm, explain_plan: what a type lacks to be an Algorithm or a Plan, in a sentence.
//
//   static_assert(bough::explain_algorithm<my_algorithm>());      // true, or an error that says what to write
#ifndef BOUGH_CONCEPTS_EXPLAIN_PLAN_HPP
#define BOUGH_CONCEPTS_EXPLAIN_PLAN_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/rank.hpp>

#include <concepts>

namespace bough::inline BOUGH_ABI {

namespace detail {
template <class>
inline constexpr bool no_plan = false; // dependent, so that only the branch that is taken fails
} // namespace detail

// Checks optional members: one with another signature would otherwise be ignored without a word.
template <class A>
consteval bool explain_claims() {
    constexpr bool orders = requires(const A& a, const dimensions& at) {
        { a.keeps_rank_order(at) } -> std::same_as<bool>;
    };
    constexpr bool consistent = requires(const A& a, const dimensions& at) {
        { a.rank_consistent(at) } -> std::same_as<bool>;
    };
    if constexpr (!orders && requires { &A::keeps_rank_order; })
        static_assert(detail::no_plan<A>, "bough: an Algorithm's keeps_rank_order, if it has one, is `bool "
                                          "keeps_rank_order(const dimensions& at) const`");
    if constexpr (!consistent && requires { &A::rank_consistent; })
        static_assert(detail::no_plan<A>, "bough: an Algorithm's rank_consistent, if it has one, is `bool "
                                          "rank_consistent(const dimensions& at) const`");
    if constexpr (
        !requires(const A& a, const dimensions& at) { a.bracket(at); } && requires { &A::bracket; })
        static_assert(detail::no_plan<A>, "bough: an Algorithm's bracket, if it has one, is `bracket_class "
                                          "bracket(const dimensions& at) const`");
    if constexpr (
        !requires {
            { A::may_hold } -> std::convertible_to<bool>;
        } &&
        requires { &A::may_hold; })
        static_assert(detail::no_plan<A>,
                      "bough: an Algorithm's may_hold, if it has one, is `static constexpr bool may_hold = true;`");
    if constexpr (
        !requires {
            { A::combines_in_series } -> std::convertible_to<bool>;
        } &&
        requires { &A::combines_in_series; })
        static_assert(detail::no_plan<A>, "bough: an Algorithm's combines_in_series, if it has one, is `static "
                                          "constexpr bool combines_in_series = true;`");
    if constexpr (
        !requires {
            { A::needs_exact } -> std::convertible_to<bool>;
        } &&
        requires { &A::needs_exact; })
        static_assert(
            detail::no_plan<A>,
            "bough: an Algorithm's needs_exact, if it has one, is `static constexpr bool needs_exact = true;`");
    if constexpr (
        !requires(const A& a) { a.hash(); } && requires { &A::hash; })
        static_assert(detail::no_plan<A>, "bough: an Algorithm's hash, if it has one, is `std::uint64_t hash() const`");
    return true;
}

template <class A>
consteval bool explain_algorithm() {
    constexpr bool emits_if_not_const = requires(A & a, const dimensions& at, rank_t r, detail::null_sink& sink) {
        a.emit(at, r, sink);
    };
    if constexpr (!detail::Copyable<A>)
        static_assert(detail::no_plan<A>,
                      "bough: an Algorithm needs to be copyable: it is a small value, make its members values");
    if constexpr (!detail::Comparable<A>)
        static_assert(detail::no_plan<A>,
                      "bough: an Algorithm needs ==, by which its plans are found again: add `friend constexpr bool "
                      "operator==(const A&, const A&) = default;` with its name for A");
    if constexpr (!detail::EmitsAt<A> && emits_if_not_const)
        static_assert(detail::no_plan<A>, "bough: an Algorithm needs an emit that does not change it: mark emit const");
    else if constexpr (!detail::EmitsAt<A>)
        static_assert(
            detail::no_plan<A>,
            "bough: an Algorithm needs `void emit(const dimensions& at, rank_t rank, StepSink auto& out) const`: "
            "it pushes the steps of one rank, in program order, into any sink");
    if constexpr (!detail::HasNaturalBlocks<A>)
        static_assert(detail::no_plan<A>,
                      "bough: an Algorithm needs `block_t natural_blocks(rank_t size) const`: into how "
                      "many blocks it cuts the vector if nobody says otherwise");
    if constexpr (!detail::HasScratchAt<A>)
        static_assert(detail::no_plan<A>,
                      "bough: an Algorithm needs `block_t scratch(const dimensions& at, rank_t rank) const`: the most "
                      "scratch blocks that the steps of a rank write");
    if constexpr (!detail::ChecksDimensions<A>)
        static_assert(detail::no_plan<A>,
                      "bough: an Algorithm needs `status check(const dimensions& at) const`: ok, or "
                      "invalid_argument(\"parameter: what it must be\")");
    return Algorithm<A> && explain_claims<A>();
}

template <class P>
consteval bool explain_plan() {
    if constexpr (!detail::HasGoal<P>)
        static_assert(detail::no_plan<P>, "bough: a Plan needs `goal() const`: what the collective promises, one of "
                                          "bough::goal or your own (bough/schedule/goal.hpp)");
    if constexpr (!detail::HasSize<P>)
        static_assert(detail::no_plan<P>, "bough: a Plan needs `rank_t size() const`: how many ranks take part");
    if constexpr (!detail::HasRoot<P>)
        static_assert(detail::no_plan<P>, "bough: a Plan needs `rank_t root() const`: 0 where there is none");
    if constexpr (!detail::HasBlocks<P>)
        static_assert(detail::no_plan<P>,
                      "bough: a Plan needs `block_t blocks() const`: into how many blocks the vector is cut");
    if constexpr (!detail::HasScratch<P>)
        static_assert(
            detail::no_plan<P>,
            "bough: a Plan needs `block_t scratch(rank_t rank) const`: the most scratch blocks that rank writes");
    if constexpr (!detail::Emits<P>)
        static_assert(detail::no_plan<P>, "bough: a Plan needs `void emit(rank_t rank, StepSink auto&& out) const`: it "
                                          "pushes the steps of one rank, in program order");
    return Plan<P>;
}

} // namespace bough

#endif
