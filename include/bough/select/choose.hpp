// SPDX-License-Identifier: BSL-1.0
// choose: which of several plans a cost model expects to be fastest. A pure function of what all ranks agree on, so all
// ranks choose alike; its value keeps the prices, so it can say why.
//
//   auto c = choose(model, {.bytes = 8, .cores = 8}, plan_allreduce(recursive_doubling{}, at), plan_allreduce(fnomial{}, at));
//   c.winner, c.prices[c.winner].predicted_ns
//
// The price of a plan is its walk under the model. Where ranks share cores, somebody works whenever anybody could, so the
// work of all ranks divided by the cores is a second lower bound; the price is the larger of the two.
#ifndef BOUGH_SELECT_CHOOSE_HPP
#define BOUGH_SELECT_CHOOSE_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/model/walk.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace bough {

// What is to be done, and on what.
struct problem {
    std::uint64_t bytes = 0;         // of the whole vector
    std::uint64_t element_bytes = 1; // bytes is a multiple of it
    rank_t cores = no_rank;          // that the ranks share; no_rank: one each
};

struct price {
    double predicted_ns = 0;
    double critical_path_ns = 0; // the walk
    double shared_work_ns = 0;   // the work of all ranks divided by the cores
    friend constexpr bool operator==(const price&, const price&) = default;
};

template <std::size_t N>
struct choice {
    std::size_t winner = 0; // the first of equals
    std::array<price, N> prices{};
    friend constexpr bool operator==(const choice&, const choice&) = default;
};

template <CostModel M, Plan P>
constexpr price price_of(const M& model, const problem& what, const P& plan) {
    const model::walk_result walked = model::walk(plan, model, what.bytes, what.element_bytes);
    price p;
    p.critical_path_ns = walked.makespan_ns;
    const rank_t cores = std::min(what.cores, plan.size());
    if (cores < plan.size() && walked.messages != 0) {
        const std::uint64_t mean_bytes = walked.bytes / walked.messages;
        const double each = model.send_ns(0, 1, mean_bytes) + model.receive_ns(0, 1, mean_bytes) +
                            model.combine_ns(0, mean_bytes) + model.latency_ns(0, 1, mean_bytes);
        p.shared_work_ns = model.start_ns() + each * static_cast<double>(walked.messages) / static_cast<double>(cores);
    }
    p.predicted_ns = std::max(p.critical_path_ns, p.shared_work_ns);
    return p;
}

template <CostModel M, Plan... P>
constexpr choice<sizeof...(P)> choose(const M& model, const problem& what, const P&... plans) {
    choice<sizeof...(P)> made;
    made.prices = {price_of(model, what, plans)...};
    for (std::size_t i = 1; i != sizeof...(P); ++i)
        if (made.prices[i].predicted_ns < made.prices[made.winner].predicted_ns) made.winner = i;
    return made;
}

} // namespace bough

#endif
