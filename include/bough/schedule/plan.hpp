// SPDX-License-Identifier: BSL-1.0
// A plan: a goal, an algorithm and dimensions. It is a function from rank to schedule, and costs
// nothing until it is asked.
//
//   constexpr auto plan = bough::plan_allreduce(bough::recursive_doubling{}, {.size = 13});
//   plan.schedule_of(5)        the steps of rank 5
//   plan.emit(5, sink)         the same, into any sink, without memory
#ifndef BOUGH_SCHEDULE_PLAN_HPP
#define BOUGH_SCHEDULE_PLAN_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/contract.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/schedule/neighbourhood.hpp>
#include <bough/schedule/schedule.hpp>

#include <type_traits>

namespace bough::inline BOUGH_ABI {

// What is wrong with a group, if anything: no ranks, or a root that is not one of them.
constexpr status check_group(const dimensions& at) noexcept {
    if (at.size == 0) return invalid_argument("size: a group needs at least one rank");
    if (at.size == no_rank) return invalid_argument("size: too many ranks");
    if (at.root >= at.size) return invalid_argument("root: not a rank of the group");
    return {};
}
// What is wrong with a group, or what the algorithm refuses, if anything.
template <Algorithm A>
constexpr status check_plan(const A& algorithm, const dimensions& at) noexcept(noexcept(algorithm.check(at))) {
    if (const status bad = check_group(at)) return bad;
    return algorithm.check(at);
}

template <class Goal, Algorithm A>
class plan {
    static_assert(serves_v<A, Goal>, "bough: this algorithm is one of another collective");

public:
    // Pre: check_plan(algorithm, at) is ok.
    constexpr plan(const A& algorithm, dimensions at) : algorithm_(algorithm), at_(at) {
        BOUGH_EXPECTS(at.size >= 1, "size: a group needs at least one rank");
        BOUGH_EXPECTS(at.root < at.size, "root: not a rank of the group");
        BOUGH_EXPECTS(!bough::check_plan(algorithm, at), "the algorithm refuses these dimensions: see its check()");
        if (at_.blocks == natural_blocks) at_.blocks = algorithm.natural_blocks(at.size);
    }

    // The goal. If its type is not empty, the algorithm knows the rest.
    constexpr Goal goal() const noexcept(std::is_empty_v<Goal>) {
        if constexpr (std::is_empty_v<Goal>)
            return {};
        else
            return algorithm_.goal();
    }
    constexpr const A& algorithm() const noexcept { return algorithm_; }
    constexpr const dimensions& at() const noexcept { return at_; }
    constexpr rank_t size() const noexcept { return at_.size; }
    constexpr rank_t root() const noexcept { return at_.root; }
    constexpr block_t blocks() const noexcept { return at_.blocks; }
    // The most scratch blocks that the steps of `rank` touch, as the algorithm declares.
    constexpr block_t scratch(rank_t rank) const { return algorithm_.scratch(at_, rank); }

    // Pushes the steps of `rank` into `sink`. Pre: rank < size().
    constexpr void emit(rank_t rank, StepSink auto&& sink) const {
        BOUGH_EXPECTS(rank < at_.size, "rank: not a rank of the plan");
        algorithm_.emit(at_, rank, sink);
    }

    constexpr schedule schedule_of(rank_t rank) const {
        schedule steps;
        emit(rank, steps);
        return steps;
    }

    friend bool operator==(const plan&, const plan&) = default; // constexpr if that of the algorithm is

private:
    A algorithm_;
    dimensions at_;
};

// A family gives an algorithm for each of several goals: family.algorithm_for(goal::allreduce{}).
template <class F, class Goal>
concept FamilyFor = requires(const F& family) {
    { family.algorithm_for(Goal{}) } -> Algorithm;
};
// A plan of this goal can be made of such a type: a family that has an algorithm for it, or an
// algorithm.
template <class C, class Goal>
concept ServesGoal = FamilyFor<C, Goal> || Algorithm<C>;

// The algorithm for a goal: the one that a family gives, or the choice itself.
template <class Goal, ServesGoal<Goal> C>
constexpr auto algorithm_for(const C& choice) {
    if constexpr (FamilyFor<C, Goal>)
        return choice.algorithm_for(Goal{});
    else
        return choice;
}

// A plan of the goal Goal. Each plan_x below makes one of the goal of its name. Pre: check_plan is
// ok.
template <class Goal, ServesGoal<Goal> C>
constexpr auto make_plan(const C& choice, dimensions at) {
    return plan<Goal, decltype(bough::algorithm_for<Goal>(choice))>(bough::algorithm_for<Goal>(choice), at);
}

// For dimensions that may be wrong, ask check_plan first.
template <ServesGoal<goal::reduce> C>
constexpr auto plan_reduce(const C& choice, dimensions at) {
    return make_plan<goal::reduce>(choice, at);
}
template <ServesGoal<goal::allreduce> C>
constexpr auto plan_allreduce(const C& choice, dimensions at) {
    return make_plan<goal::allreduce>(choice, at);
}
template <ServesGoal<goal::broadcast> C>
constexpr auto plan_broadcast(const C& choice, dimensions at) {
    return bough::make_plan<goal::broadcast>(choice, at);
}
template <ServesGoal<goal::barrier> C>
constexpr auto plan_barrier(const C& choice, dimensions at) {
    return make_plan<goal::barrier>(choice, at);
}
template <ServesGoal<goal::gather> C>
constexpr auto plan_gather(const C& choice, dimensions at) {
    return make_plan<goal::gather>(choice, at);
}
template <ServesGoal<goal::scatter> C>
constexpr auto plan_scatter(const C& choice, dimensions at) {
    return make_plan<goal::scatter>(choice, at);
}
template <ServesGoal<goal::multicast> C>
constexpr auto plan_multicast(const C& choice, dimensions at) {
    return make_plan<goal::multicast>(choice, at);
}
template <ServesGoal<goal::scan> C>
constexpr auto plan_scan(const C& choice, dimensions at) {
    return make_plan<goal::scan>(choice, at);
}
template <ServesGoal<goal::exscan> C>
constexpr auto plan_exscan(const C& choice, dimensions at) {
    return make_plan<goal::exscan>(choice, at);
}
template <ServesGoal<goal::reduce_scatter> C>
constexpr auto plan_reduce_scatter(const C& choice, dimensions at) {
    return make_plan<goal::reduce_scatter>(choice, at);
}
template <ServesGoal<goal::allgather> C>
constexpr auto plan_allgather(const C& choice, dimensions at) {
    return make_plan<goal::allgather>(choice, at);
}
template <ServesGoal<goal::alltoall> C>
constexpr auto plan_alltoall(const C& choice, dimensions at) {
    return make_plan<goal::alltoall>(choice, at);
}
// Among neighbours. The choice is a family, such as direct_neighbours{} or by_dimension{}.
template <FamilyFor<goal::neighbour_allgather> C>
constexpr auto plan_neighbour_allgather(const C& choice, const neighbourhood& around, dimensions at) {
    return make_plan<goal::neighbour_allgather>(choice.algorithm_for(goal::neighbour_allgather{around}), at);
}
template <FamilyFor<goal::neighbour_alltoall> C>
constexpr auto plan_neighbour_alltoall(const C& choice, const neighbourhood& around, dimensions at) {
    return make_plan<goal::neighbour_alltoall>(choice.algorithm_for(goal::neighbour_alltoall{around}), at);
}

} // namespace bough

#endif
