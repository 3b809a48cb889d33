// SPDX-License-Identifier: BSL-1.0
// trace: simulates a run and keeps everything that happened in it, for pictures and for other
// tools.
//
//   sim_trace run = bough::trace(plan, model, {.bytes = 4096});
//   run.result         what simulate() returns for it, to the last bit
//   run.deeds          what each rank did: from when to when, with whom, how many bytes, which message
// The run is that of simulate(), on the same engines. They are watched from outside: a wrapped
// model records which deed it prices, and a wrapped noise records when. Messages are numbered; a
// receive has the number of the send that it takes.
// Memory: 48 bytes per deed.
#ifndef BOUGH_SIMULATE_TRACE_HPP
#define BOUGH_SIMULATE_TRACE_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/step.hpp>
#include <bough/simulate/engine.hpp>
#include <bough/simulate/noise.hpp>
#include <bough/simulate/result.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/simulate/static.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// One step that a rank did, and when.
struct traced_deed {
    rank_t rank = 0;
    bough::verb verb = verb::copy;
    rank_t peer = no_rank; // for a send or a receive
    std::uint64_t bytes = 0;
    double begin_ns = 0;
    double end_ns = 0;           // interruptions in between are included
    std::uint32_t message = ~0u; // the same for a send and its receive
    friend constexpr bool operator==(const traced_deed&, const traced_deed&) = default;
};

struct sim_trace {
    sim_result result;
    rank_t size = 0;
    std::vector<traced_deed> deeds; // rank by rank, in the order of time
    std::vector<std::size_t> first; // by rank: where its deeds begin; then the end
    std::vector<double> arrival_ns; // by rank
};

namespace detail {

struct trace_tape {
    traced_deed next;
    std::vector<traced_deed> deeds;
};

// A model that records what it is asked to price.
template <class M>
class traced_model : public M {
public:
    constexpr traced_model(const M& model, trace_tape& tape) : M(model), tape_(&tape) {}
    constexpr double send_ns(rank_t from, rank_t to, std::uint64_t bytes) const {
        note(from, verb::send, to, bytes);
        return M::send_ns(from, to, bytes);
    }
    constexpr double receive_ns(rank_t from, rank_t to, std::uint64_t bytes) const {
        note(to, verb::receive, from, bytes);
        return M::receive_ns(from, to, bytes);
    }
    constexpr double combine_ns(rank_t rank, std::uint64_t bytes) const {
        note(rank, verb::combine, no_rank, bytes);
        return M::combine_ns(rank, bytes);
    }
    constexpr double copy_ns(rank_t rank, std::uint64_t bytes) const {
        note(rank, verb::copy, no_rank, bytes);
        return M::copy_ns(rank, bytes);
    }

private:
    constexpr void note(rank_t rank, verb what, rank_t peer, std::uint64_t bytes) const {
        tape_->next = {rank, what, peer, bytes, 0, 0, ~0u};
    }
    trace_tape* tape_;
};

// A noise that records when the deed that was just priced is done.
template <class Noise>
class traced_noise : public Noise {
public:
    constexpr traced_noise(const Noise& noise, trace_tape& tape) : Noise(noise), tape_(&tape) {}
    constexpr double work(rank_t rank, double at_ns, double work_ns) const {
        const double end_ns = Noise::work(rank, at_ns, work_ns);
        tape_->next.begin_ns = at_ns;
        tape_->next.end_ns = end_ns;
        tape_->deeds.push_back(tape_->next);
        return end_ns;
    }

private:
    trace_tape* tape_;
};

template <int = 0>
constexpr void number_messages(sim_trace& run) {
    struct end {
        rank_t from, to;
        std::size_t deed;
    };
    std::vector<end> sends, receives;
    for (std::size_t i = 0; i != run.deeds.size(); ++i) {
        const traced_deed& d = run.deeds[i];
        if (d.verb == verb::send) sends.push_back({d.rank, d.peer, i});
        if (d.verb == verb::receive) receives.push_back({d.peer, d.rank, i});
    }
    const auto before = [](const end& a, const end& b) {
        return a.from != b.from ? a.from < b.from : a.to != b.to ? a.to < b.to : a.deed < b.deed;
    };
    std::sort(sends.begin(), sends.end(), before);
    std::sort(receives.begin(), receives.end(), before);
    std::uint32_t number = 0;
    std::size_t r = 0;
    for (const end& s : sends) {
        run.deeds[s.deed].message = number;
        while (r != receives.size() &&
               (receives[r].from < s.from || (receives[r].from == s.from && receives[r].to < s.to)))
            ++r;
        if (r != receives.size() && receives[r].from == s.from && receives[r].to == s.to)
            run.deeds[receives[r++].deed].message = number;
        ++number;
    }
}

} // namespace detail

// Simulates a run and records it. Pre: as simulate().
template <Plan P, CostModel M>
constexpr sim_trace trace(const P& plan, const M& model, const sim_options& options = {}) {
    detail::trace_tape tape;
    sim_trace run;
    run.size = plan.size();
    const detail::traced_model<M> watched(model, tape);
    const auto with = [&](const auto& noise) {
        using noise_type = detail::traced_noise<std::remove_cvref_t<decltype(noise)>>;
        const noise_type heard(noise, tape);
        for (rank_t r = 0; r != plan.size(); ++r) run.arrival_ns.push_back(detail::arrival_ns(model, noise, r));
        if constexpr (!PortedCostModel<M>)
            if (options.engine != simulator::discrete && is_one_pass(model, options)) {
                run.result = detail::static_pass(plan, watched, heard, options);
                return;
            }
        run.result = detail::event_engine<P, detail::traced_model<M>, noise_type>(plan, watched, heard, options).run();
    };
    if (options.noise.quiet())
        with(detail::no_noise{});
    else
        with(detail::noise_of_ranks(options.noise, plan.size()));

    // Sort by rank; the deeds of a rank stay in their order.
    run.first.assign(plan.size() + std::size_t{1}, 0);
    for (const traced_deed& d : tape.deeds) ++run.first[d.rank + std::size_t{1}];
    for (rank_t r = 0; r != plan.size(); ++r) run.first[r + std::size_t{1}] += run.first[r];
    std::vector<std::size_t> next(run.first.begin(), run.first.end() - 1);
    run.deeds.resize(tape.deeds.size());
    for (const traced_deed& d : tape.deeds) run.deeds[next[d.rank]++] = d;
    detail::number_messages(run);
    return run;
}

} // namespace bough

#endif
