// SPDX-License-Identifier: BSL-1.0
// The static pass: the simulator's fast engine, without a queue of events. It is the walk
// (bough/model/walker.hpp) with noise, and with several operations one after the other.
//
// Noise (bough/simulate/noise.hpp) is a function of rank and time, so ranks may be visited in any
// order here, too.
//
// Time     as the walk
// Memory   28 bytes per rank, 16 per message under way beyond the first of its sender, 16 per kept step
//          (memory_bytes)
#ifndef BOUGH_SIMULATE_STATIC_HPP
#define BOUGH_SIMULATE_STATIC_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/core/rank.hpp>
#include <bough/model/walker.hpp>
#include <bough/simulate/result.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Noise is no_noise or noise_of_ranks, or one of them watched.
template <class Noise>
class sim_conditions {
public:
    constexpr sim_conditions(const Noise& noise, const sim_options& options, rank_t ranks)
        : noise_(noise), options_(options) {
        if (options.operations > 1) operations_.resize(ranks, 0);
        if (options.per_rank) busy_.resize(ranks, 0.0);
    }

    constexpr double total_busy_ns() const noexcept { return total_busy_ns_; }
    constexpr double busy_ns(rank_t rank) const noexcept { return busy_.empty() ? 0 : busy_[rank]; }

    // Of one rank, during one visit of the walk.
    struct of_rank {
        constexpr of_rank(const sim_conditions& all, rank_t rank) : factor(all.noise_.factor(rank)) {}
        double factor;
        double busy_ns = 0;
    };
    constexpr double start(of_rank& mine, const auto& model, rank_t rank) const {
        return enter(mine, rank, detail::arrival_ns(model, noise_, rank), model.start_ns());
    }
    constexpr double work(of_rank& mine, rank_t rank, double at_ns, double ns) const {
        mine.busy_ns += ns * mine.factor;
        return noise_.work(rank, at_ns, ns);
    }
    constexpr bool again(of_rank& mine, const auto& model, rank_t rank, double& clock_ns) {
        clock_ns = noise_.leave(rank, clock_ns);
        if (operations_.empty() || ++operations_[rank] >= options_.operations) return false;
        mine.busy_ns += options_.compute_ns * mine.factor;
        clock_ns = noise_.compute(rank, clock_ns, options_.compute_ns);
        clock_ns = enter(mine, rank, clock_ns, model.start_ns());
        return true;
    }
    constexpr bool is_enough(double) const noexcept { return false; }
    constexpr void leave(const of_rank& mine, rank_t rank) {
        total_busy_ns_ += mine.busy_ns;
        if (!busy_.empty()) busy_[rank] += mine.busy_ns;
    }

private:
    constexpr double enter(of_rank& mine, rank_t rank, double at_ns, double ns) const {
        mine.busy_ns += ns * mine.factor;
        return noise_.enter(rank, at_ns, ns);
    }

    const Noise& noise_;
    const sim_options& options_;
    std::vector<std::uint32_t> operations_; // by rank: how many are finished; empty if there is one only
    std::vector<double> busy_;              // by rank, if it is asked for
    double total_busy_ns_ = 0;
};

template <Plan P, CostModel M, class Noise>
constexpr sim_result static_pass(const P& plan, const M& model, const Noise& noise, const sim_options& options) {
    model::detail::walker<P, M, sim_conditions<Noise>> walker(plan, model, options.bytes, options.element_bytes,
                                                              options.memory_bytes / sizeof(model::taped_step),
                                                              sim_conditions<Noise>(noise, options, plan.size()));
    const model::walk_result walked = walker.run();
    sim_result result;
    for (rank_t r = 0; r != plan.size(); ++r)
        result.add(r, {detail::arrival_ns(model, noise, r), walker.finish_ns(r), walker.conditions().busy_ns(r), 0},
                   options.per_rank);
    result.events = walker.deeds();
    result.messages = walked.messages;
    result.bytes = walked.bytes;
    result.stuck = walked.stuck;
    result.stuck_on = walked.stuck_on;
    result.end(walked.root_finish_ns, walker.conditions().total_busy_ns(), walked.messages - walked.unreceived);
    return result;
}

} // namespace bough::detail

#endif
