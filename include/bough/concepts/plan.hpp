// SPDX-License-Identifier: BSL-1.0
// Algorithm and Plan: a whole collective as a function from rank to steps. Lazy: nothing is computed until asked.
//
// An *algorithm* is a small structural value with
//   a.emit(at, rank, sink)     pushes the steps of `rank` in program order; `at` holds size, root and
//                              blocks
//   a.natural_blocks(size)     into how many blocks it cuts the vector by default
//   a.scratch(at, rank)        the most blocks of scratch memory the steps of `rank` touch (a
//                              declaration: verify checks)
//   a.check(at)                ok, or invalid_argument naming what is out of range
//   a == b                     the same steps at all dimensions: plans of equal algorithms are bound
//                              once and used again
// Optional; claims, which verify proves (bough/verify/verify_claims.hpp):
//   a.keeps_rank_order(at)         results combine in rank order, so any associative op will do;
//                                  absent: false
//   A::may_hold                    messages may stay where they landed until they are combined (verify:
//                                  hold); absent: false
//   a.check_claims(at)             ok, or an error, if the claim of rank order can be checked quickly;
//                                  absent: ok
//   A::serves                      goals<...> (bough/schedule/goal.hpp): of which collectives; absent:
//                                  of any
//   more of them                   bough/schedule/claims.hpp
//   a.text()                       how it is written, as a label (bough/core/label.hpp); absent: the
//                                  name of its type
// Optional; for algorithms that hold more than shows in every schedule, like a list of members:
//   a.goal()                       the goal, where its type is not empty
//   a.hash()                       of what all ranks must agree on, so that a mismatched call is seen
// A *plan* binds an algorithm to its goal (bough/schedule/goal.hpp) and its dimensions:
//   p.goal()  p.size()  p.root()  p.blocks()  p.scratch(rank)  p.emit(rank, sink)
// Two calls of emit with equal arguments push equal steps, on every machine and at compile time.
#ifndef BOUGH_CONCEPTS_PLAN_HPP
#define BOUGH_CONCEPTS_PLAN_HPP

#include <bough/concepts/copyable.hpp>
#include <bough/concepts/members.hpp>
#include <bough/concepts/step_sink.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/status.hpp>

#include <concepts>

namespace bough::inline BOUGH_ABI {

// Asks an algorithm for the number of blocks that suits it.
inline constexpr block_t natural_blocks = 0xffff'ffffu;

// The dimensions of a plan.
struct dimensions {
    rank_t size = 1;
    rank_t root = 0;
    block_t blocks = natural_blocks;
    friend constexpr bool operator==(const dimensions&, const dimensions&) = default;
};

namespace detail {
// The sink with the least rights: it takes steps and does nothing with them.
struct null_sink {
    constexpr void send(rank_t, slice) {}
    constexpr void receive(rank_t, slice) {}
    constexpr void send_part(rank_t, slice) {}
    constexpr void receive_part(rank_t, slice) {}
    constexpr void combine(slice, slice, slice) {}
    constexpr void copy(slice, slice) {}
};

// What an Algorithm and a Plan need, by name; explain_algorithm and explain_plan use the same names.
template <class A>
concept EmitsAt = requires(const A& a, const dimensions& at, rank_t r, null_sink& sink) {
    a.emit(at, r, sink);
};
template <class A>
concept HasNaturalBlocks = requires(const A& a, rank_t size) {
    { a.natural_blocks(size) } -> std::same_as<block_t>;
};
template <class A>
concept HasScratchAt = requires(const A& a, const dimensions& at, rank_t r) {
    { a.scratch(at, r) } -> std::same_as<block_t>;
};
template <class A>
concept ChecksDimensions = requires(const A& a, const dimensions& at) {
    { a.check(at) } -> std::same_as<status>;
};
template <class P>
concept HasGoal = requires(const P& plan) {
    plan.goal();
};
template <class P>
concept HasBlocks = requires(const P& plan) {
    { plan.blocks() } -> std::same_as<block_t>;
};
template <class P>
concept HasScratch = requires(const P& plan, rank_t r) {
    { plan.scratch(r) } -> std::same_as<block_t>;
};
template <class P>
concept Emits = requires(const P& plan, rank_t r, null_sink& sink) {
    plan.emit(r, sink);
};
} // namespace detail

template <class A>
concept Algorithm = detail::Copyable<A> && detail::Comparable<A> && detail::EmitsAt<A> && detail::HasNaturalBlocks<A> &&
    detail::HasScratchAt<A> && detail::ChecksDimensions<A>;

template <Algorithm A>
constexpr bool keeps_rank_order(const A& algorithm, const dimensions& at) {
    if constexpr (requires { algorithm.keeps_rank_order(at); })
        return algorithm.keeps_rank_order(at);
    else
        return false;
}
// A::may_hold; false if the type has none.
template <Algorithm A>
inline constexpr bool may_hold_v = requires {
    requires A::may_hold;
};

// The same of a value; one that knows at run time only says so in fixed_claims() (bough/schedule/claims.hpp).
template <Algorithm A>
constexpr bool may_hold(const A& algorithm) {
    if constexpr (requires { algorithm.fixed_claims(); })
        return algorithm.fixed_claims().may_hold;
    else
        return may_hold_v<A>;
}

template <class P>
concept Plan = detail::HasGoal<P> && detail::HasSize<P> && detail::HasRoot<P> && detail::HasBlocks<P> &&
    detail::HasScratch<P> && detail::Emits<P>;

} // namespace bough

#endif
