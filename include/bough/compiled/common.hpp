// SPDX-License-Identifier: BSL-1.0
// What the compiled form holds for all collectives and transports. One unit of the library includes it.
#ifndef BOUGH_COMPILED_COMMON_HPP
#define BOUGH_COMPILED_COMMON_HPP

#include <bough/communicator/plan_cache.hpp>
#include <bough/communicator/trace_plan.hpp>
#include <bough/compiled/communicator.hpp>
#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/error.hpp>
#include <bough/model/logp.hpp>
#include <bough/model/lrc.hpp>
#include <bough/report/recorder.hpp>
#include <bough/report/trace_file.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/plan_ref.hpp>
#include <bough/select/transport_costs.hpp>

#include <cstddef>
#include <memory>
#include <string>

#if defined(BOUGH_COMPILED_HERE)
namespace bough::inline BOUGH_ABI {

template class basic_prepared<0>;
template walked_price any_cost_model::walk_by<model::lrc>(const std::byte*, detail::taped_plan&, const problem&, rank_t,
                                                          const walk_terms&);
template cost_bound any_cost_model::busy_ns<model::lrc>(const std::byte*, detail::taped_plan&, const problem&);
template walked_price any_cost_model::walk_by<model::loggops>(const std::byte*, detail::taped_plan&, const problem&,
                                                              rank_t, const walk_terms&);
template cost_bound any_cost_model::busy_ns<model::loggops>(const std::byte*, detail::taped_plan&, const problem&);
template double any_cost_model::alike_by<model::lrc>(const std::byte*, detail::taped_plan&, const problem&);
template double any_cost_model::loop_by<model::lrc>(const std::byte*, detail::taped_plan&, const problem&,
                                                    std::uint64_t);
template double any_cost_model::alike_by<model::loggops>(const std::byte*, detail::taped_plan&, const problem&);
template double any_cost_model::loop_by<model::loggops>(const std::byte*, detail::taped_plan&, const problem&,
                                                        std::uint64_t);

namespace detail {
template class basic_recorder<0>;
template std::string details_of<status>(const status&);
template std::shared_ptr<trace_place> trace_in_folder<0>();
template void trace_plan<0>(communicator_trace&, const bound_plan&, const char*, rank_t, rank_t, const any_cost_model&,
                            const problem&);
template void plan_cache::put<0>(std::unique_ptr<bound_plan>);
} // namespace detail

} // namespace bough
#endif

#endif
