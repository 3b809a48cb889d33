// SPDX-License-Identifier: BSL-1.0
// simulate: runs a plan in virtual time against a cost model, for any number of ranks, with noise
// and a network if wanted.
//
//   auto run = bough::simulate(plan, model);                                          the price, as model::walk
//   auto run = bough::simulate(plan, model, {.bytes = 4096, .noise = {.seed = 7, ...}});
//   run.makespan_ns  run.wait_ns  run.messages ...                                    see bough/simulate/result.hpp
//
// There are two engines: one pass without a queue (bough/simulate/static.hpp), and discrete events
// (bough/simulate/engine.hpp). Where both can run a simulation, they find the same times to the
// last bit. The third way to run a plan in virtual time is the transport
// bough/transport/simulated.hpp, where the real engine moves real data.
#ifndef BOUGH_SIMULATE_SIMULATE_HPP
#define BOUGH_SIMULATE_SIMULATE_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/core/contract.hpp>
#include <bough/simulate/engine.hpp>
#include <bough/simulate/noise.hpp>
#include <bough/simulate/result.hpp>
#include <bough/simulate/static.hpp>

#include <cstdint>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

// Can the static pass run this simulation?
template <CostModel M>
constexpr bool is_one_pass(const M&, const sim_options& options) {
    return !PortedCostModel<M> && options.order == step_order::program && options.slots == 0 && !options.split.on &&
           options.eager_bytes >= options.bytes && options.network == nullptr;
}

// Simulates one run of a plan. Pre: options.bytes is a multiple of options.element_bytes;
// options.noise.check(plan.size()) is ok; if options.engine is one_pass, is_one_pass() is true; the
// network's placement is empty, or names a host for each rank.
template <Plan P, CostModel M>
constexpr sim_result simulate(const P& plan, const M& model, const sim_options& options = {}) {
    const bool one_pass = options.engine != simulator::discrete && is_one_pass(model, options);
    BOUGH_EXPECTS(options.engine != simulator::one_pass || one_pass,
                  "engine: one pass cannot do slots, rendezvous, ports, networks, split phase, or any other order than "
                  "the program's");
    const auto with = [&](const auto& noise) {
        using noise_type = std::remove_cvref_t<decltype(noise)>;
        if constexpr (!PortedCostModel<M>)
            if (one_pass) return detail::static_pass(plan, model, noise, options);
        return detail::event_engine<P, M, noise_type>(plan, model, noise, options).run();
    };
    if (options.noise.quiet()) return with(detail::no_noise{});
    return with(detail::noise_of_ranks(options.noise, plan.size()));
}

} // namespace bough

#endif
