// SPDX-License-Identifier: BSL-1.0
// Asks a transport for its costs, so that a collective without a given algorithm is chosen well
// where nobody has measured.
//
//   static constexpr auto default_costs() noexcept { return model::loggops{...}; }
//                                         a CostModel, or any_cost_model
//   std::shared_ptr<const two_levels> levels() const { return make_two_levels(groups, near, far); }
//                                         if some ranks are near each other; null: that is not known
//   static constexpr double switch_ns() noexcept { return 5000; }
//                                         the time to give a core from one rank to the next
//   rank_t cores() const noexcept;        how many cores the ranks share; 0: unknown
//
// All four members are optional. They return the same on every rank: they follow from the
// transport's type, or were agreed when it was joined. The defaults of bough's transports were
// measured on one machine (doc/concepts/choosing.md); measure(comm) and communicator_options::costs
// are more accurate.
#ifndef BOUGH_SELECT_TRANSPORT_COSTS_HPP
#define BOUGH_SELECT_TRANSPORT_COSTS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/rank.hpp>
#include <bough/model/lrc.hpp>
#include <bough/select/any_cost_model.hpp>

namespace bough::inline BOUGH_ABI {

// The costs of threads that pass messages through memory. They are assumed of a transport that says
// nothing.
inline constexpr model::lrc thread_costs{
    .message_latency_ns = 100, .receive = {60, 0.1}, .combine = {10, 0.1}, .startup_ns = 50, .copy = {}};

BOUGH_COMPILED_COMMON(walked_price any_cost_model::walk_by<model::lrc>(const std::byte*, detail::taped_plan&,
                                                                       const problem&, rank_t, const walk_terms&))
BOUGH_COMPILED_COMMON(cost_bound any_cost_model::busy_ns<model::lrc>(const std::byte*, detail::taped_plan&,
                                                                     const problem&))
BOUGH_COMPILED_COMMON(double any_cost_model::alike_by<model::lrc>(const std::byte*, detail::taped_plan&,
                                                                  const problem&))
BOUGH_COMPILED_COMMON(double any_cost_model::loop_by<model::lrc>(const std::byte*, detail::taped_plan&, const problem&,
                                                                 std::uint64_t))

// What the transport says that messages cost; without a word from it, the costs of threads.
template <class X>
any_cost_model default_costs_of(const X& transport) {
    if constexpr (KnowsCosts<X>)
        return transport.default_costs();
    else
        return thread_costs;
}

// How many cores the ranks of a transport share. If it does not know, each rank has its own.
template <class X>
rank_t cores_of(const X& transport) noexcept {
    if constexpr (KnowsCores<X>)
        if (const rank_t known = transport.cores(); known != 0) return known;
    return no_rank;
}

// How long the transport says that a switch between two ranks on one core takes; without a word,
// the default of `problem`. In nanoseconds.
template <class X>
double switch_ns_of(const X& transport) noexcept {
    if constexpr (KnowsSwitchTime<X>)
        return transport.switch_ns();
    else
        return problem{}.switch_ns;
}

} // namespace bough

#endif
