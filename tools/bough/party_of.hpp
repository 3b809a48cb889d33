// SPDX-License-Identifier: BSL-1.0
// A party over a transport of type X.
#ifndef BOUGH_TOOLS_PARTY_OF_HPP
#define BOUGH_TOOLS_PARTY_OF_HPP

#include "bench_rank.hpp"
#include "party.hpp"
#include <bough/allreduce.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace cli {

template <bough::Transport X>
class party_of : public party {
public:
    explicit party_of(X transport) : comm_(std::move(transport)) {}

    bough::rank_t rank() const override { return comm_.rank(); }
    bough::rank_t size() const override { return comm_.size(); }

    timing time(const problem& what, const workload& work) override {
        const auto expected = expectations(what, work);
        std::vector<std::uint64_t> ns(work.iterations);
        const checked_elements mine = time_rank(
            comm_, what, work, expected[rank()], [this] { meet_by_messages(comm_); },
            [&](std::size_t i, std::uint64_t begin, std::uint64_t end) { ns[i] = end - begin; });
        std::array<std::uint64_t, 2> elements{mine.checked, mine.wrong};
        bough::allreduce(comm_, std::span(ns), bough::max{});
        bough::allreduce(comm_, std::span(elements), bough::plus{});
        timing result{{ns.begin(), ns.end()}, elements[0], elements[1]};
        std::sort(result.ns.begin(), result.ns.end());
        return result;
    }

    measured_costs measure(const bough::measure_options& options) override {
        measured_costs costs;
        costs.cores = std::max(1u, std::thread::hardware_concurrency());
        costs.found = bough::measure(comm_, options);
        if (costs.found.fit.error) throw std::runtime_error(costs.found.fit.error.argument);
        return costs;
    }

private:
    bough::communicator<X> comm_;
};

} // namespace cli

#endif
