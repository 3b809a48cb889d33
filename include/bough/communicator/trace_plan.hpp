// SPDX-License-Identifier: BSL-1.0
// trace_plan: writes a plan into the trace of a communicator, with what its steps should cost, so that
// the run can be compared with the prediction.
//
// The costs of messages are asked for at nine sizes for each peer. Between them they are interpolated,
// which is exact for the models of bough's transports.
#ifndef BOUGH_COMMUNICATOR_TRACE_PLAN_HPP
#define BOUGH_COMMUNICATOR_TRACE_PLAN_HPP

#include <bough/communicator/plan_cache.hpp>
#include <bough/core/config.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/step.hpp>
#include <bough/report/trace.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/transport_costs.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// `rank` and `size` are those of the communicator.
template <int = 0>
void trace_plan(communicator_trace& out, const bound_plan& bound, const char* name, rank_t rank, rank_t size,
                const any_cost_model& costs, const problem& what) {
    const schedule its = bound.steps_of(rank);
    traced_plan made{
        .id = bound.work.bound().plan_id, .name = name, .blocks = bound.blocks(), .steps = its.steps, .costs = {}};
    std::vector<rank_t> peers;
    for (const step& s : its.steps)
        if (s.communicates()) peers.push_back(s.peer);
    if (peers.empty()) peers.push_back(rank); // a combine and a copy have a price, too
    std::sort(peers.begin(), peers.end());
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    plain_list<traced_cost> table;
    for (const rank_t peer : peers)
        for (const std::uint64_t bytes : {0u, 8u, 64u, 512u, 4096u, 32768u, 262144u, 2097152u, 16777216u}) {
            const message_costs to = costs.costs_of(rank, peer, bytes, what, size);
            const message_costs from = costs.costs_of(peer, rank, bytes, what, size);
            const auto f = [](double ns) { return static_cast<float>(ns); };
            table.push_back({.peer = peer,
                             .send = f(to.send_ns),
                             .latency = f(to.latency_ns),
                             .port = f(to.port_ns),
                             .duplex_port = f(to.duplex_port_ns),
                             .receive = f(from.receive_ns),
                             .combine = f(from.combine_ns),
                             .copy = f(from.copy_ns),
                             .bytes = bytes});
            made.start_ns = to.start_ns;
            made.has_ports = to.has_ports;
            made.lands_early = to.lands_early;
        }
    made.costs = table;
    out.add(made);
}

// The same of a communicator_core that has a trace. If memory runs out, nothing is written.
template <class Core>
BOUGH_COLD void trace_plan(const Core& comm, const bound_plan& bound, const char* name) {
    auto& session = *comm.shared_session();
    ignore_exceptions([&] {
        session.with_lock([&] {
            communicator_trace& out = *comm.reporter.recorded.trace();
            if (out.knows(bound.work.bound().plan_id) || !comm.options.costs) return;
            detail::trace_plan(
                out, bound, name, comm.rank(), comm.size(), comm.options.costs,
                {.cores = bough::cores_of(session.transport()), .switch_ns = bough::switch_ns_of(session.transport())});
        });
    });
}

BOUGH_COMPILED_COMMON(void trace_plan<0>(communicator_trace&, const bound_plan&, const char*, rank_t, rank_t,
                                         const any_cost_model&, const problem&))

} // namespace bough::detail

#endif
