// SPDX-License-Identifier: BSL-1.0
// What messages cost over each transport, as measured where bough is developed. Automatic choice
// uses these costs by default.
//
// They were measured on one machine with two cores of one chip: allreduce and barrier by every
// standard form, 8 bytes to 4 MiB, p = 2, 8 and 16 (doc/concepts/choosing.md). On your machine they
// may be wrong by a factor of two. They only have to put the sizes at which one algorithm overtakes
// another into about the right place; no constant costs fit such a place exactly. measure(comm)
// measures the costs of your machine.
#ifndef BOUGH_TRANSPORT_MEASURED_COSTS_HPP
#define BOUGH_TRANSPORT_MEASURED_COSTS_HPP

#include <bough/model/logp.hpp>

namespace bough::inline BOUGH_ABI::detail {

struct measured_costs {
    model::loggops model;
    // To switch from one rank of a core to the next, by yielding or by sleeping and waking.
    double switch_ns;
};

inline constexpr measured_costs shared_memory_costs{{.message_latency_ns = 70,
                                                     .overhead = {75, 0.05},
                                                     // Of a payload that is read in place.
                                                     .combine = {10, 0.01},
                                                     .copy = {10, 0.05}},
                                                    1500};
// Over loopback. A network of 10 Gbit/s takes as long for each byte, and a fast network about as
// long for each message.
inline constexpr measured_costs tcp_costs{
    {.message_latency_ns = 2000, .overhead = {2000, 0.05}, .gap = {0, 0.1}, .combine = {20, 0.1}, .copy = {20, 0.05}},
    2500};
// On one node, with Open MPI and MPICH.
inline constexpr measured_costs mpi_costs{
    {.message_latency_ns = 300, .overhead = {200, 0.1}, .gap = {0, 0.05}, .combine = {10, 0.05}, .copy = {10, 0.05}},
    5000};
// Between what libfabric's providers shm (0.7 us for a message) and tcp (12 us) take.
inline constexpr measured_costs fabric_costs{
    {.message_latency_ns = 2000, .overhead = {1000, 0.1}, .gap = {0, 0.1}, .combine = {10, 0.1}, .copy = {10, 0.05}},
    5000};

} // namespace bough::detail

#endif
