// SPDX-License-Identifier: BSL-1.0
// The options of a simulation (what it is told besides the plan and the model), and its result.
#ifndef BOUGH_SIMULATE_RESULT_HPP
#define BOUGH_SIMULATE_RESULT_HPP

#include <bough/core/rank.hpp>
#include <bough/simulate/noise.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI {

class network;

// Which engine runs the simulation. Both give the same result wherever both can run it.
enum class simulator : std::uint8_t {
    automatic, // the static pass, if it can run it
    // The static pass: fast, without a queue; a rank's own past and the messages decide all times.
    one_pass,
    discrete // events in the order of time: step_order::dependence, slots, rendezvous, ports, networks
};
// In which order a rank does its steps.
enum class step_order : std::uint8_t {
    program,   // one after the other, as written
    dependence // any step that waits for no other, the first written first; arrivals in any order
};

// Split phase (application bypass: Wagner et al., Cluster 2003): a rank that would wait goes back
// to its work, and takes in what has come when it polls next.
struct split_phase {
    bool on = false;
    bool root_too = false; // false: the root stays until it is done, as it returns the result
    // Time between two polls, from when it left; 0: a message interrupts its work at once.
    double poll_ns = 0;
    double poll_cost_ns = 0; // what a poll or interrupt costs that finds a message
    friend constexpr bool operator==(const split_phase&, const split_phase&) = default;
};

// The options of one run, such as sim_options{.bytes = 4096, .noise = {.seed = 3}}.
struct sim_options {
    std::uint64_t bytes = 8; // the size of the vector that is cut into the plan's blocks
    std::uint64_t element_bytes = 1;
    bough::noise noise{};
    simulator engine = simulator::automatic;
    step_order order = step_order::program;
    // How many messages on one channel may be sent and not yet received; then the sender waits. 0:
    // no limit.
    std::uint32_t slots = 0;
    // Longer messages are sent when their receive is posted; over a network that is when what the receive
    // depends on is complete, in either order. A model with eager_bytes() sets this itself.
    std::uint64_t eager_bytes = ~std::uint64_t{0};
    const bough::network* network = nullptr; // nullptr: every pair has its own wires
    // Over a network: do the messages of a channel go one after the other, as over TCP or a queue pair?
    // Otherwise all that are under way share the links, so that the first of many is late.
    bool in_turn = true;
    std::uint32_t operations = 1;                      // how many run one after the other, on every rank
    double compute_ns = 0;                             // work between two of them, on every rank
    split_phase split{};                               //
    bool per_rank = false;                             // keep the figures of every rank
    std::size_t memory_bytes = std::size_t{256} << 20; // for steps that wait, shared by all ranks
};

// The times of one rank.
struct rank_figures {
    double arrival_ns = 0;
    double finish_ns = 0;
    double busy_ns = 0; // time in its steps, without interruptions
    double away_ns = 0; // split phase: time back at its work
    // The time neither busy nor away: waiting for messages, credits and ends of interruptions.
    constexpr double wait_ns() const noexcept { return finish_ns - arrival_ns - busy_ns - away_ns; }
    friend constexpr bool operator==(const rank_figures&, const rank_figures&) = default;
};

// Times and counts of a run.
struct sim_result {
    double makespan_ns = 0;       // when the last rank ends
    double first_finish_ns = 0;   // when the first does
    double mean_finish_ns = 0;    //
    double root_finish_ns = 0;    //
    double last_arrival_ns = 0;   // when the last rank has come
    double busy_ns = 0;           // of all ranks together
    double wait_ns = 0;           // of all ranks together
    double away_ns = 0;           // of all ranks together
    rank_t last_rank = 0;         // the rank that ends last; the lowest if several do
    std::uint64_t events = 0;     // messages sent, messages received, combines and copies that were done
    std::uint64_t messages = 0;   // sent
    std::uint64_t bytes = 0;      // sent
    std::uint64_t unreceived = 0; // messages that no rank received
    // If the plan deadlocks: the lowest rank that waits for ever, and the rank for which it waits.
    // Then the figures above are of what ran.
    rank_t stuck = no_rank;
    rank_t stuck_on = no_rank;
    std::vector<rank_figures> ranks{}; // if options.per_rank

    constexpr bool deadlock() const noexcept { return stuck != no_rank; }
    // From the arrival of the last rank to the end.
    constexpr double latency_ns() const noexcept { return makespan_ns - last_arrival_ns; }
    friend constexpr bool operator==(const sim_result&, const sim_result&) = default;

    // For the engines: adds the figures of one rank, in the order of ranks. end() ends the sums.
    constexpr void add(rank_t rank, const rank_figures& of, bool keep) {
        if (rank == 0 || makespan_ns < of.finish_ns) makespan_ns = of.finish_ns, last_rank = rank;
        if (rank == 0 || of.finish_ns < first_finish_ns) first_finish_ns = of.finish_ns;
        if (last_arrival_ns < of.arrival_ns) last_arrival_ns = of.arrival_ns;
        mean_finish_ns += (of.finish_ns - mean_finish_ns) / (static_cast<double>(rank) + 1);
        wait_ns += of.finish_ns - of.arrival_ns - of.away_ns;
        away_ns += of.away_ns;
        if (keep) ranks.push_back(of);
    }
    constexpr void end(double root_ns, double total_busy_ns, std::uint64_t received) {
        root_finish_ns = root_ns;
        busy_ns = total_busy_ns;
        wait_ns -= total_busy_ns;
        unreceived = messages - received;
    }
};

} // namespace bough

#endif
