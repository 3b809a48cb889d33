// SPDX-License-Identifier: BSL-1.0
// What the compiled form holds of the communicators over one transport.
//
// BOUGH_COMPILED_COMMUNICATOR(T) stands in namespace bough. It declares the functions of these
// communicators, or defines them in a unit of the library (core/config.hpp). Without the compiled
// form it is empty.
//
//   namespace bough::inline BOUGH_ABI { BOUGH_COMPILED_COMMUNICATOR(::mine::transport) }
//
// doc/howto/compiled.md tells how to use the compiled form, and how to add a transport of your own
// to it.
#ifndef BOUGH_COMPILED_COMMUNICATOR_HPP
#define BOUGH_COMPILED_COMMUNICATOR_HPP

#include <bough/communicator.hpp>
#include <bough/core/config.hpp>
#include <bough/model/logp.hpp>
#include <bough/select/any_cost_model.hpp>

#include <cstddef>

#if defined(BOUGH_COMPILED_TEMPLATE)
#define BOUGH_COMPILED_COMMUNICATOR(...)                                                                               \
    BOUGH_COMPILED_TEMPLATE class communicator<__VA_ARGS__>;                                                           \
    BOUGH_COMPILED_TEMPLATE class session<__VA_ARGS__>;                                                                \
    BOUGH_COMPILED_TEMPLATE class unexpected_messages<__VA_ARGS__>;                                                    \
    namespace detail {                                                                                                 \
    BOUGH_COMPILED_TEMPLATE class communicator_core<__VA_ARGS__>;                                                      \
    BOUGH_COMPILED_TEMPLATE class session_core<__VA_ARGS__>;                                                           \
    BOUGH_COMPILED_TEMPLATE class arrivals<communicator_core<__VA_ARGS__>>;                                            \
    BOUGH_COMPILED_TEMPLATE class call_order<__VA_ARGS__>;                                                             \
    BOUGH_COMPILED_TEMPLATE struct letting_go<__VA_ARGS__>;                                                            \
    BOUGH_COMPILED_TEMPLATE class control<__VA_ARGS__>;                                                                \
    BOUGH_COMPILED_TEMPLATE class in_flight<__VA_ARGS__>;                                                              \
    BOUGH_COMPILED_TEMPLATE class matching<__VA_ARGS__>;                                                               \
    BOUGH_COMPILED_TEMPLATE class failure<__VA_ARGS__>;                                                                \
    BOUGH_COMPILED_TEMPLATE class disputes<__VA_ARGS__>;                                                               \
    BOUGH_COMPILED_TEMPLATE class deadline_watch<__VA_ARGS__>;                                                         \
    }
#else
#define BOUGH_COMPILED_COMMUNICATOR(...)
#endif

namespace bough::inline BOUGH_ABI {

BOUGH_COMPILED_COMMON(walked_price any_cost_model::walk_by<model::loggops>(const std::byte*, detail::taped_plan&,
                                                                           const problem&, rank_t, const walk_terms&))
BOUGH_COMPILED_COMMON(cost_bound any_cost_model::busy_ns<model::loggops>(const std::byte*, detail::taped_plan&,
                                                                         const problem&))
BOUGH_COMPILED_COMMON(double any_cost_model::alike_by<model::loggops>(const std::byte*, detail::taped_plan&,
                                                                      const problem&))
BOUGH_COMPILED_COMMON(double any_cost_model::loop_by<model::loggops>(const std::byte*, detail::taped_plan&,
                                                                     const problem&, std::uint64_t))

} // namespace bough

#endif
