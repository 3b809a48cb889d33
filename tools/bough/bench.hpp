// SPDX-License-Identifier: BSL-1.0
// Running a plan again and again on ranks that are threads: every run is timed, every element of every result checked.
#ifndef BOUGH_TOOLS_BENCH_HPP
#define BOUGH_TOOLS_BENCH_HPP

#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/communicator.hpp>
#include <bough/error.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/builtin_op.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace cli {

// What is combined, and how often. The values are small whole numbers, so that every order of combining gives the same
// bits; other bits are then a wrong result.
struct workload {
    bough::any_op op{};
    bough::element_type type = bough::element_type::f64;
    bough::op_kind kind = bough::op_kind::plus;
    std::uint64_t count = 1; // elements
    std::size_t iterations = 1;
    bool check = true; // false for an op that does nothing

    std::uint64_t bytes() const { return count * op.element_size; }
};

// Throws usage_error for names that there are not, or that do not go together.
workload find_workload(std::string_view op, std::string_view type);

// The element vector of one rank.
std::vector<std::byte> values_of(const workload&, bough::rank_t rank);
// The sequential fold over the vectors of the given ranks.
std::vector<std::byte> fold(const workload&, const bough::contributions&);

struct timing {
    std::vector<double> ns; // of each run: from when the first rank begins until the last one ends; ascending
    std::uint64_t checked = 0;
    std::uint64_t wrong = 0; // elements
    // Pre: 0 <= part <= 1.
    double quantile_ns(double part) const {
        return ns[static_cast<std::size_t>(part * static_cast<double>(ns.size() - 1) + 0.5)];
    }
};

namespace detail {

// When each rank began and ended each run.
class laps {
public:
    laps(bough::rank_t ranks, std::size_t runs) : runs_(runs), begin_(ranks * runs, 0), end_(ranks * runs, 0) {}

    void set(bough::rank_t rank, std::size_t run, std::uint64_t begin, std::uint64_t end) {
        begin_[rank * runs_ + run] = begin;
        end_[rank * runs_ + run] = end;
    }
    std::vector<double> sorted() const;

private:
    std::size_t runs_;
    std::vector<std::uint64_t> begin_, end_;
};

std::uint64_t count_wrong(const workload&, const std::vector<std::byte>& got, const std::vector<std::byte>& expected);

} // namespace detail

// Pre: the goal combines nothing, or work.op is an op. Throws bough::error if a rank fails.
template <bough::Plan P>
timing time_plan(const P& plan, const workload& work) {
    const bough::dimensions at{plan.size(), plan.root(), plan.blocks()};
    const auto wanted_by = [&](bough::rank_t rank) {
        // A barrier has no values.
        if (plan.goal().kind == bough::goal::barrier::kind || !work.check) return bough::contributions{};
        return plan.goal().result(at, rank, 0);
    };
    std::vector<std::byte> expected; // whoever gets a result gets this one
    for (bough::rank_t r = 0; r != at.size && expected.empty(); ++r)
        if (!wanted_by(r).empty()) expected = fold(work, wanted_by(r));

    detail::laps laps(at.size, work.iterations);
    std::atomic<std::uint64_t> checked{0}, wrong{0};
    bough::in_process world{at.size};
    world.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        const bough::rank_t me = comm.rank();
        const bool gets_result = !wanted_by(me).empty();
        const std::vector<std::byte> input = values_of(work, me);
        std::vector<std::byte> output(input.size());
        bough::call call;
        call.input = input.data();
        call.output = output.data();
        call.count = work.count;
        call.element_bytes = static_cast<std::uint32_t>(work.op.element_size);
        call.combine = work.op.function;
        call.combine_state = work.op.state;
        bough::call_signature signature;
        signature.count = work.count;
        signature.root = at.root;
        const auto barrier = bough::plan_barrier(bough::dissemination{}, {.size = at.size});
        bough::call nothing;
        nothing.element_bytes = 1;
        for (std::size_t i = 0; i != work.iterations; ++i) {
            if (gets_result) std::fill(output.begin(), output.end(), std::byte{0xa5});
            if (const bough::status bad = comm.run(barrier, nothing, {})) throw bough::error(bad);
            const std::uint64_t begin = comm.transport().now_ns();
            if (const bough::status bad = comm.run(plan, call, signature)) throw bough::error(bad);
            laps.set(me, i, begin, comm.transport().now_ns());
            if (!gets_result) continue;
            checked += work.count;
            wrong += detail::count_wrong(work, output, expected);
        }
    });
    return {laps.sorted(), checked, wrong};
}

} // namespace cli

#endif
