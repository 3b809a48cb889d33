// SPDX-License-Identifier: BSL-1.0
// What `bough demo` runs: the program that a user of bough would write, timed.
#include "demo.hpp"

#include "costs.hpp"
#include <bough/barrier.hpp>
#include <bough/communicator.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/fnomial.hpp>

#include <chrono>
#include <utility>

namespace cli {

namespace {

constexpr std::size_t runs = 100;

// What it costs to merge two messages: the median over messages of all ranks in turn, which no
// cache near the core holds.
double merge_ns() {
    std::vector<summary> mine(demo_groups);
    const std::vector<std::vector<summary>> theirs(demo_ranks, mine);
    std::vector<double> ns;
    for (int round = 0; round != 5; ++round)
        for (const std::vector<summary>& message : theirs) {
            const auto begin = std::chrono::steady_clock::now();
            for (std::size_t g = 0; g != demo_groups; ++g) mine[g] = merge{}(mine[g], message[g]);
            const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
            ns.push_back(took.count());
        }
    std::nth_element(ns.begin(), ns.begin() + static_cast<std::ptrdiff_t>(ns.size() / 2), ns.end());
    return mine[0].count == 0 ? ns[ns.size() / 2] : 0; // reads what was merged, so that it is merged
}

} // namespace

std::vector<summary> summaries_of(std::span<const double> numbers, std::size_t first, std::size_t last) {
    std::vector<summary> groups(demo_groups);
    for (std::size_t i = first; i != last; ++i) groups[i % demo_groups].add(numbers[i]);
    return groups;
}

demo_costs measure_for_demo() {
    constexpr std::uint64_t bytes = demo_groups * sizeof(summary);
    const measured_costs found = measure_in_process(demo_ranks, {.repetitions = 15, .long_bytes = bytes});
    demo_costs costs{found.model(), found.cores};
    costs.model.combine = {0, merge_ns() / static_cast<double>(bytes)};
    return costs;
}

demo_run reduce_on_threads(std::span<const double> numbers, bough::rank_t degree) {
    demo_run done;
    bough::in_process world{demo_ranks};
    world.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        const auto share = [&](std::size_t rank) { return numbers.size() * rank / demo_ranks; };
        const std::vector<summary> mine =
            summaries_of(numbers, share(comm.rank()), share(comm.rank() + std::size_t{1}));
        std::vector<summary> all = mine;
        for (std::size_t i = 0; i != runs; ++i) {
            all = mine;
            bough::barrier(comm);
            const std::uint64_t begin = comm.transport().now_ns();
            bough::reduce(comm, std::span(all), merge{}, bough::root{0}, bough::fnomial{degree});
            if (comm.rank() == 0) done.ns.push_back(static_cast<double>(comm.transport().now_ns() - begin));
        }
        if (comm.rank() == 0) done.result = all;
    });
    std::sort(done.ns.begin(), done.ns.end());
    return done;
}

} // namespace cli
