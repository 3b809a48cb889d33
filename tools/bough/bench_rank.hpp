// SPDX-License-Identifier: BSL-1.0
// What one rank does when a plan is run again and again, over any transport.
#ifndef BOUGH_TOOLS_BENCH_RANK_HPP
#define BOUGH_TOOLS_BENCH_RANK_HPP

#include "bench.hpp"
#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/communicator.hpp>
#include <bough/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace cli {

// A part of a rank's result, and the fold that it must be equal to.
struct expectation {
    std::size_t first = 0, last = 0; // bytes
    std::shared_ptr<const std::vector<std::byte>> fold{};
};
// What every rank must get. Ranks that expect the same fold share it.
std::vector<std::vector<expectation>> expectations(const problem&, const workload&);
std::uint64_t count_wrong(const workload&, const std::vector<std::byte>& got, const expectation&); // elements

struct checked_elements {
    std::uint64_t checked = 0, wrong = 0;
};

// All ranks come here before one goes on.
template <class X>
void meet_by_messages(bough::communicator<X>& comm) {
    bough::call nothing;
    nothing.element_bytes = 1;
    const auto barrier = bough::plan_barrier(bough::dissemination{}, {.size = comm.size()});
    if (const bough::status bad = comm.run(barrier, nothing, {})) throw bough::error(bad);
}

// What a rank's clock says of one run: when all had met, when this rank began, and when it ended.
struct lap {
    std::uint64_t met_ns = 0, begin_ns = 0, end_ns = 0;
};

// Runs the plan work.iterations times, each after meet() and the rank's arrival: set(i, lap) hears of
// run i.
template <class X, class Meet, class Set>
checked_elements time_rank(bough::communicator<X>& comm, const problem& what, const workload& work,
                           const std::vector<expectation>& expected, Meet&& meet, Set&& set) {
    checked_elements found;
    const std::vector<std::byte> values = values_of(work, comm.rank());
    std::vector<std::byte> input(values.size()), output(values.size());
    bough::call call;
    call.input = input.data();
    call.output = output.data();
    call.count = work.count;
    call.element_bytes = static_cast<std::uint32_t>(work.op.element_size);
    call.combine = work.op.function;
    call.combine_state = work.op.state;
    bough::call_signature signature;
    signature.count = work.count;
    signature.root = what.at.root;
    with_plain_plan(what, [&](const auto& plan) {
        for (std::size_t i = 0; i != work.iterations; ++i) {
            // Anew, as a program would: what nobody has written since is still in the cache of whoever read it.
            std::copy(values.begin(), values.end(), input.begin());
            for (const expectation& e : expected)
                std::fill(output.begin() + static_cast<std::ptrdiff_t>(e.first),
                          output.begin() + static_cast<std::ptrdiff_t>(e.last), std::byte{0xa5});
            meet();
            lap now{.met_ns = comm.transport().now_ns()};
            if (!work.arrivals_ns.empty())
                std::this_thread::sleep_for(std::chrono::nanoseconds(work.arrivals_ns[comm.rank()]));
            now.begin_ns = work.arrivals_ns.empty() ? now.met_ns : comm.transport().now_ns();
            if (const bough::status bad = comm.run(plan, call, signature)) throw bough::error(bad);
            now.end_ns = comm.transport().now_ns();
            set(i, now);
            for (const expectation& e : expected) {
                found.checked += (e.last - e.first) / work.op.element_size;
                found.wrong += count_wrong(work, output, e);
            }
        }
    });
    return found;
}

} // namespace cli

#endif
