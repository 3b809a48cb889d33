// SPDX-License-Identifier: BSL-1.0
// explain_algorithm, explain_plan: what a type lacks to be an Algorithm or a Plan, in a sentence.
//
//   static_assert(bough::explain_algorithm<my_algorithm>());      // true, or an error that says what to write
#ifndef BOUGH_CONCEPTS_EXPLAIN_PLAN_HPP
#define BOUGH_CONCEPTS_EXPLAIN_PLAN_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/status.hpp>

#include <concepts>

namespace bough {

namespace detail {
template <class>
inline constexpr bool no_plan = false; // dependent, so that only the branch that is taken fails
} // namespace detail

template <class A>
consteval bool explain_algorithm() {
    constexpr bool copies = detail::Copyable<A>;
    constexpr bool emits = requires(const A& a, const dimensions& at, rank_t r, detail::null_sink& sink) {
        a.emit(at, r, sink);
    };
    constexpr bool emits_if_not_const = requires(A & a, const dimensions& at, rank_t r, detail::null_sink& sink) {
        a.emit(at, r, sink);
    };
    constexpr bool natural = requires(const A& a, rank_t r) {
        { a.natural_blocks(r) } -> std::same_as<block_t>;
    };
    constexpr bool scratch = requires(const A& a, const dimensions& at, rank_t r) {
        { a.scratch(at, r) } -> std::same_as<block_t>;
    };
    constexpr bool check = requires(const A& a, const dimensions& at) {
        { a.check(at) } -> std::same_as<status>;
    };
    if constexpr (!copies)
        static_assert(detail::no_plan<A>,
                      "bough: an Algorithm needs to be copyable: it is a small value, make its members values");
    if constexpr (!emits && emits_if_not_const)
        static_assert(detail::no_plan<A>, "bough: an Algorithm needs an emit that does not change it: mark emit const");
    else if constexpr (!emits)
        static_assert(
            detail::no_plan<A>,
            "bough: an Algorithm needs `void emit(const dimensions& at, rank_t rank, StepSink auto& out) const`: "
            "it pushes the steps of one rank, in program order, into any sink");
    if constexpr (!natural)
        static_assert(detail::no_plan<A>,
                      "bough: an Algorithm needs `block_t natural_blocks(rank_t size) const`: into how "
                      "many blocks it cuts the vector if nobody says otherwise");
    if constexpr (!scratch)
        static_assert(detail::no_plan<A>,
                      "bough: an Algorithm needs `block_t scratch(const dimensions& at, rank_t rank) const`: the most "
                      "scratch blocks that the steps of a rank write");
    if constexpr (!check)
        static_assert(detail::no_plan<A>,
                      "bough: an Algorithm needs `status check(const dimensions& at) const`: ok, or "
                      "invalid_argument(\"parameter: what it must be\")");
    return Algorithm<A>;
}

template <class P>
consteval bool explain_plan() {
    constexpr bool goal = requires(const P& p) { p.goal(); };
    constexpr bool size = requires(const P& p) {
        { p.size() } -> std::same_as<rank_t>;
    };
    constexpr bool root = requires(const P& p) {
        { p.root() } -> std::same_as<rank_t>;
    };
    constexpr bool blocks = requires(const P& p) {
        { p.blocks() } -> std::same_as<block_t>;
    };
    constexpr bool scratch = requires(const P& p, rank_t r) {
        { p.scratch(r) } -> std::same_as<block_t>;
    };
    constexpr bool emits = requires(const P& p, rank_t r, detail::null_sink& sink) { p.emit(r, sink); };
    if constexpr (!goal)
        static_assert(detail::no_plan<P>, "bough: a Plan needs `goal() const`: what the collective promises, one of "
                                          "bough::goal or your own (bough/schedule/goal.hpp)");
    if constexpr (!size)
        static_assert(detail::no_plan<P>, "bough: a Plan needs `rank_t size() const`: how many ranks take part");
    if constexpr (!root)
        static_assert(detail::no_plan<P>, "bough: a Plan needs `rank_t root() const`: 0 where there is none");
    if constexpr (!blocks)
        static_assert(detail::no_plan<P>,
                      "bough: a Plan needs `block_t blocks() const`: into how many blocks the vector is cut");
    if constexpr (!scratch)
        static_assert(
            detail::no_plan<P>,
            "bough: a Plan needs `block_t scratch(rank_t rank) const`: the most scratch blocks that rank writes");
    if constexpr (!emits)
        static_assert(detail::no_plan<P>, "bough: a Plan needs `void emit(rank_t rank, StepSink auto&& out) const`: it "
                                          "pushes the steps of one rank, in program order");
    return Plan<P>;
}

} // namespace bough

#endif
