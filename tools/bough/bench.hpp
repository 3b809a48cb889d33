// SPDX-License-Identifier: BSL-1.0
// Running a plan again and again on ranks that are threads: every run is timed, every element of every result checked.
#ifndef BOUGH_TOOLS_BENCH_HPP
#define BOUGH_TOOLS_BENCH_HPP

#include "catalogue.hpp"
#include <bough/op/any_op.hpp>
#include <bough/op/builtin_op.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/transport/emulated.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
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
    std::optional<bough::emulation> emulate{};
    // When each rank begins a run, after all have met; empty: at once. Meanwhile it sleeps.
    std::vector<std::uint64_t> arrivals_ns{};

    std::uint64_t bytes() const { return count * op.element_size; }
    std::uint64_t last_arrival_ns() const {
        return arrivals_ns.empty() ? 0 : *std::max_element(arrivals_ns.begin(), arrivals_ns.end());
    }
};

// Throws usage_error for names that there are not, or that do not go together.
workload find_workload(std::string_view op, std::string_view type);

// Throws usage_error unless all sizes are whole numbers of elements. `type` is what the user calls them.
void check_whole(const std::vector<std::uint64_t>& sizes, const workload&, const std::string& type);

// The element vector of one rank.
std::vector<std::byte> values_of(const workload&, bough::rank_t rank);
// The sequential fold over the vectors of the given ranks.
std::vector<std::byte> fold(const workload&, const bough::contributions&);

struct timing {
    // Of each run, ascending: from when the first rank begins until the last one ends; if ranks come at
    // given times, from when the last one has come.
    std::vector<double> ns;
    std::uint64_t checked = 0;
    std::uint64_t wrong = 0; // elements
    // Pre: 0 <= part <= 1.
    double quantile_ns(double part) const {
        return ns[static_cast<std::size_t>(part * static_cast<double>(ns.size() - 1) + 0.5)];
    }
};

// Runs the problem's plan. Pre: check(what) does not throw; the goal combines nothing, or work.op is an op. Throws bough::error
// if a rank fails.
timing time_plan(const problem& what, const workload& work);

} // namespace cli

#endif
