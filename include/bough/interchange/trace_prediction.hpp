// SPDX-License-Identifier: BSL-1.0
// predict_call: what a traced call should have taken: its plan, simulated with the costs that the
// ranks wrote into their traces, from the moments at which they really came.
#ifndef BOUGH_INTERCHANGE_TRACE_PREDICTION_HPP
#define BOUGH_INTERCHANGE_TRACE_PREDICTION_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/concepts/step_sink.hpp>
#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/interchange/traced_run.hpp>
#include <bough/report/options.hpp>
#include <bough/report/read_trace.hpp>
#include <bough/report/trace.hpp>
#include <bough/simulate/noise.hpp>
#include <bough/simulate/result.hpp>
#include <bough/simulate/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// The plan of a call, as its ranks have written it.
class written_plan {
public:
    written_plan(const std::vector<const read_plan*>& ranks, rank_t root) : ranks_(&ranks), root_(root) {}
    static constexpr int goal() noexcept { return 0; }
    rank_t size() const noexcept { return static_cast<rank_t>(ranks_->size()); }
    rank_t root() const noexcept { return root_; }
    block_t blocks() const noexcept { return ranks_->front()->blocks; }
    static constexpr block_t scratch(rank_t) noexcept { return 0; }
    void emit(rank_t rank, StepSink auto&& out) const {
        for (const step& s : (*ranks_)[rank]->steps) bough::push_step(out, s);
    }

private:
    const std::vector<const read_plan*>* ranks_;
    rank_t root_;
};

// The costs that are written beside it.
class written_costs {
public:
    explicit written_costs(const std::vector<const read_plan*>& ranks) : ranks_(&ranks) {}
    double start_ns() const { return ranks_->front()->start_ns; }
    double send_ns(rank_t from, rank_t to, std::uint64_t bytes) const {
        return at(from, to, bytes, &traced_cost::send);
    }
    double latency_ns(rank_t from, rank_t to, std::uint64_t bytes) const {
        return at(from, to, bytes, &traced_cost::latency);
    }
    double receive_ns(rank_t from, rank_t to, std::uint64_t bytes) const {
        return at(to, from, bytes, &traced_cost::receive);
    }
    double combine_ns(rank_t rank, std::uint64_t bytes) const {
        return at(rank, no_rank, bytes, &traced_cost::combine);
    }
    double copy_ns(rank_t rank, std::uint64_t bytes) const { return at(rank, no_rank, bytes, &traced_cost::copy); }

protected:
    // Linear between the sizes that are written, and beyond them. no_rank: of any peer.
    double at(rank_t mine, rank_t peer, std::uint64_t bytes, float traced_cost::*what) const {
        const traced_cost *below = nullptr, *above = nullptr, *before = nullptr;
        for (const traced_cost& c : (*ranks_)[mine]->costs) {
            if (peer == no_rank) peer = c.peer;
            if (c.peer != peer) continue;
            if (c.bytes <= bytes) before = below, below = &c;
            if (c.bytes > bytes && above == nullptr) above = &c;
        }
        if (above == nullptr) above = below, below = before;
        if (below == nullptr || above == nullptr) return above != nullptr ? static_cast<double>(above->*what) : 0;
        const double a = static_cast<double>(below->*what), b = static_cast<double>(above->*what);
        const double part = (static_cast<double>(bytes) - static_cast<double>(below->bytes)) /
                            (static_cast<double>(above->bytes) - static_cast<double>(below->bytes));
        return std::max(0.0, a + (b - a) * part);
    }

private:
    const std::vector<const read_plan*>* ranks_;
};

// The same where a message holds ports.
class written_port_costs : public written_costs {
public:
    explicit written_port_costs(const std::vector<const read_plan*>& ranks)
        : written_costs(ranks), early_(ranks.front()->lands_early) {}
    double port_ns(rank_t from, rank_t to, std::uint64_t bytes, bool duplex) const {
        return at(from, to, bytes, duplex ? &traced_cost::duplex_port : &traced_cost::port);
    }
    bool lands_early() const noexcept { return early_; }

private:
    bool early_;
};
static_assert(CostModel<written_costs> && PortedCostModel<written_port_costs> && Plan<written_plan>);

// One call, as all its ranks made it; by their numbers in the communicator.
struct traced_ranks {
    std::vector<const traced_track*> tracks;
    std::vector<const traced_call*> calls;
};

// Did the ranks that ended well send what the plan says?
template <int = 0>
bool has_sent(const traced_ranks& whole, const sim_trace& run) {
    for (rank_t r = 0; r != run.size; ++r) {
        if (!whole.calls[r]->has_ended || whole.calls[r]->code != errc::ok) continue;
        std::map<rank_t, std::pair<std::size_t, std::uint64_t>> planned, real; // messages and bytes, by peer
        for (std::size_t i = run.first[r]; i != run.first[r + std::size_t{1}]; ++i)
            if (const traced_deed& d = run.deeds[i]; d.verb == verb::send) {
                auto& [messages, bytes] = planned[whole.tracks[r]->of.members[d.peer]];
                ++messages, bytes += d.bytes;
            }
        for (const traced_message& m : whole.calls[r]->messages)
            if (m.what == operation_event::kind::sent) {
                auto& [messages, bytes] = real[m.peer];
                ++messages, bytes += m.bytes;
            }
        if (planned != real) return false;
    }
    return true;
}

// False: there is no prediction, as the ranks have made different calls, or in no plan that they have
// written.
template <int = 0>
bool predict_call(const traced_ranks& whole, sim_trace& run) {
    const traced_call& first = *whole.calls.front();
    if (first.element_bytes == 0xffff || first.count > std::uint64_t{1} << 46) return false;
    std::vector<const read_plan*> plans;
    std::uint64_t begin_ns = std::numeric_limits<std::uint64_t>::max();
    for (rank_t r = 0; r != whole.calls.size(); ++r) {
        const traced_call& c = *whole.calls[r];
        const bool is_equal = c.kind == first.kind && c.plan == first.plan && c.count == first.count &&
                              c.element_bytes == first.element_bytes && c.root == first.root;
        const read_plan* const plan = whole.tracks[r]->find_plan(c.plan);
        if (!is_equal || plan == nullptr || plan->blocks != whole.tracks.front()->find_plan(first.plan)->blocks)
            return false;
        for (const step& s : plan->steps)
            if (s.communicates() && s.peer == r) return false;
        plans.push_back(plan);
        begin_ns = std::min(begin_ns, c.begin_ns);
    }
    sim_options options{.bytes = first.bytes(), .element_bytes = std::max(1u, first.element_bytes)};
    options.noise.arrival.how = noise::coming::given;
    for (const traced_call* c : whole.calls)
        options.noise.arrival.at_ns.push_back(static_cast<double>(c->begin_ns - begin_ns));
    const written_plan plan(plans, first.root);
    run = plans.front()->has_ports ? bough::trace(plan, written_port_costs(plans), options)
                                   : bough::trace(plan, written_costs(plans), options);
    return !run.result.deadlock() && detail::has_sent(whole, run);
}

} // namespace bough::detail

#endif
