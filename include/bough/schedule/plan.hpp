// SPDX-License-Identifier: BSL-1.0
// A plan: goal x algorithm x dimensions. A function from rank to schedule; it costs nothing until asked.
//
//   constexpr auto plan = bough::plan_allreduce(bough::recursive_doubling{}, {.size = 13});
//   plan.schedule_of(5)        the steps of rank 5
//   plan.emit(5, sink)         the same, into any sink, without memory
#ifndef BOUGH_SCHEDULE_PLAN_HPP
#define BOUGH_SCHEDULE_PLAN_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/contract.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/schedule/schedule.hpp>

#include <type_traits>

namespace bough {

// What is wrong with these dimensions, if anything: no ranks, a root that is not a rank, what the algorithm refuses.
template <Algorithm A>
constexpr status check_plan(const A& algorithm, const dimensions& at) noexcept {
    if (at.size == 0) return invalid_argument("size: a group needs at least one rank");
    if (at.size == no_rank) return invalid_argument("size: too many ranks");
    if (at.root >= at.size) return invalid_argument("root: not a rank of the group");
    return algorithm.check(at);
}

template <class Goal, Algorithm A>
class plan {
public:
    // Pre: check_plan(algorithm, at) is ok.
    constexpr plan(const A& algorithm, dimensions at) : algorithm_(algorithm), at_(at) {
        BOUGH_EXPECTS(at.size >= 1, "size: a group needs at least one rank");
        BOUGH_EXPECTS(at.root < at.size, "root: not a rank of the group");
        BOUGH_EXPECTS(!check_plan(algorithm, at), "the algorithm refuses these dimensions: see its check()");
        if (at_.blocks == natural_blocks) at_.blocks = algorithm.natural_blocks(at.size);
    }

    // Of a goal that is not empty, the algorithm knows the rest.
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

    friend constexpr bool operator==(const plan&, const plan&) = default;

private:
    A algorithm_;
    dimensions at_;
};

template <Algorithm A>
constexpr plan<goal::reduce, A> plan_reduce(const A& algorithm, dimensions at) {
    return {algorithm, at};
}
template <Algorithm A>
constexpr plan<goal::allreduce, A> plan_allreduce(const A& algorithm, dimensions at) {
    return {algorithm, at};
}
template <Algorithm A>
constexpr plan<goal::broadcast, A> plan_broadcast(const A& algorithm, dimensions at) {
    return {algorithm, at};
}
template <Algorithm A>
constexpr plan<goal::barrier, A> plan_barrier(const A& algorithm, dimensions at) {
    return {algorithm, at};
}
template <Algorithm A>
constexpr plan<goal::gather, A> plan_gather(const A& algorithm, dimensions at) {
    return {algorithm, at};
}
template <Algorithm A>
constexpr plan<goal::scatter, A> plan_scatter(const A& algorithm, dimensions at) {
    return {algorithm, at};
}
template <Algorithm A>
constexpr plan<goal::multicast, A> plan_multicast(const A& algorithm, dimensions at) {
    return {algorithm, at};
}
template <Algorithm A>
constexpr plan<goal::scan, A> plan_scan(const A& algorithm, dimensions at) {
    return {algorithm, at};
}
template <Algorithm A>
constexpr plan<goal::exscan, A> plan_exscan(const A& algorithm, dimensions at) {
    return {algorithm, at};
}
template <Algorithm A>
constexpr plan<goal::reduce_scatter, A> plan_reduce_scatter(const A& algorithm, dimensions at) {
    return {algorithm, at};
}
template <Algorithm A>
constexpr plan<goal::allgather, A> plan_allgather(const A& algorithm, dimensions at) {
    return {algorithm, at};
}
template <Algorithm A>
constexpr plan<goal::alltoall, A> plan_alltoall(const A& algorithm, dimensions at) {
    return {algorithm, at};
}

} // namespace bough

#endif
