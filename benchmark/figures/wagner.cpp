// SPDX-License-Identifier: BSL-1.0
// The figures of doc/papers/wagner.md: the processor time of a reduce when ranks come at different times.
//
// Three ways to take part in a binomial reduce, all of them by bough::simulate:
//   blocking   a rank stays in the call, polling, until it has sent its result
//   bypass     the paper's: an inner rank takes in what is there and leaves the call; a message that comes later interrupts
//              its work, for `signal` and for what the message needs. The root stays in the call.
//   split      as bypass, and the root leaves too: a split-phase front door
// The second and third are computed a second time below, from the tree and the arrivals alone.
#include "csv.hpp"
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/lrc.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/tree.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using bough::rank_t;

namespace {

// The paper gives none of these: L, r, c and what a call costs, of a network of its time; and what a signal costs.
constexpr double call_ns = 2000, latency_ns = 9000, receive_ns = 1000, combine_ns_per_byte = 4;
constexpr double signal_ns = 10'000;

struct times {
    double blocking_ns = 0, bypass_ns = 0, split_ns = 0;
    times& operator+=(const times& other) {
        blocking_ns += other.blocking_ns, bypass_ns += other.bypass_ns, split_ns += other.split_ns;
        return *this;
    }
};

// A rank that leaves the call: when it has its result, and what it spent. Messages are combined as they come.
struct outcome {
    double done_ns = 0, spent_ns = 0;
};
outcome leaving(double entered_ns, std::vector<double> messages_ns, double message_ns, double signal) {
    std::sort(messages_ns.begin(), messages_ns.end());
    outcome o{entered_ns + call_ns, call_ns};
    for (const double at : messages_ns) {
        const double work = message_ns + (at > o.done_ns ? signal : 0); // one that comes meanwhile needs no signal
        o.done_ns = std::max(o.done_ns, at) + work;
        o.spent_ns += work;
    }
    return o;
}
times second_opinion(const std::vector<bough::rank_figures>& ranks, double message_ns, double signal) {
    const auto size = static_cast<rank_t>(ranks.size());
    const bough::tree tree{bough::binomial{}, size};
    std::vector<double> done(size, 0);
    times sum;
    for (rank_t r = size; r-- != 0;) { // children have higher numbers
        std::vector<double> messages;
        for (rank_t i = 0; i != tree.child_count(r); ++i) messages.push_back(done[tree.child(r, i)] + latency_ns);
        const double entered = ranks[r].arrival_ns;
        const outcome left = leaving(entered, messages, message_ns, signal);
        done[r] = left.done_ns;
        sum.split_ns += left.spent_ns;
        sum.bypass_ns += r != 0 ? left.spent_ns : leaving(entered, messages, message_ns, 0).done_ns - entered;
    }
    return sum;
}

// What the processors spend on 500 reduces, of which each has other arrivals.
times mean(rank_t ranks, double skew_us, std::uint64_t elements, double signal) {
    constexpr std::uint32_t runs = 500;
    const bough::model::lrc model{.message_latency_ns = latency_ns,
                                  .receive = {receive_ns},
                                  .combine = {0, combine_ns_per_byte},
                                  .startup_ns = call_ns};
    const auto plan = bough::plan_reduce(bough::binomial{}, {.size = ranks});
    const std::uint64_t bytes = 8 * elements;
    const auto spent_ns = [&](const bough::sim_options& options) {
        double sum = 0;
        for (const bough::rank_figures& r : bough::simulate(plan, model, options).ranks)
            sum += r.finish_ns - r.arrival_ns - r.away_ns;
        return sum;
    };
    times sum, second;
    bough::sim_options options{.bytes = bytes, .per_rank = true};
    if (skew_us > 0) options.noise.arrival = {bough::noise::coming::uniform, skew_us * 1000};
    for (options.noise.seed = 1; options.noise.seed <= runs; ++options.noise.seed) {
        options.order = bough::step_order::program;
        options.split = {};
        second += second_opinion(bough::simulate(plan, model, options).ranks, model.message_ns(bytes), signal);
        sum.blocking_ns += spent_ns(options);
        options.order = bough::step_order::dependence; // messages are taken in as they come
        options.split = {.on = true, .root_too = false, .poll_ns = 0, .poll_cost_ns = signal};
        sum.bypass_ns += spent_ns(options);
        options.split.root_too = true;
        sum.split_ns += spent_ns(options);
    }
    // Not equal: the plan combines in its order, the second opinion in that of arrivals.
    const auto close = [](double a, double b) { return a < b * 1.01 && b < a * 1.01; };
    figures::expect(close(sum.bypass_ns, second.bypass_ns) && close(sum.split_ns, second.split_ns),
                    "the simulator and the tree by itself");
    const double us = 1000.0 * runs * ranks;
    return {sum.blocking_ns / us, sum.bypass_ns / us, sum.split_ns / us};
}

} // namespace

int main(int count, char** arguments) {
    const std::string to = figures::directory(count, arguments);
    const std::string columns = "blocking_us,bypass_us,split_us,bypass_factor,split_factor";
    const auto row = [](figures::csv& out, auto key, auto other, const times& t) { // here in us
        out.row(key, other, t.blocking_ns, t.bypass_ns, t.split_ns, t.blocking_ns / t.bypass_ns,
                t.blocking_ns / t.split_ns);
    };
    // Figure 6: 32 ranks, skew; figure 7: ranks, 1000 us of skew; and how much of it is the price of a signal.
    figures::csv skews(to, "wagner_skew", "elements,skew_us," + columns);
    for (const std::uint64_t elements : {4u, 32u, 128u})
        for (int skew = 0; skew <= 1000; skew += 100) row(skews, elements, skew, mean(32, skew, elements, signal_ns));
    figures::csv sizes(to, "wagner_ranks", "elements,ranks," + columns);
    for (const std::uint64_t elements : {4u, 32u, 128u})
        for (rank_t ranks = 2; ranks <= 32; ranks *= 2)
            row(sizes, elements, ranks, mean(ranks, 1000, elements, signal_ns));
    figures::csv larger(to, "wagner_larger", "elements,ranks," + columns);
    for (rank_t ranks = 64; ranks <= 1024; ranks *= 4) row(larger, 4, ranks, mean(ranks, 1000, 4, signal_ns));
    figures::csv signals(to, "wagner_signal", "signal_us,ranks," + columns);
    for (const int signal : {0, 2, 5, 10, 20, 50}) row(signals, signal, 32, mean(32, 1000, 4, signal * 1000.0));
}
