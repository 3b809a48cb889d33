// SPDX-License-Identifier: BSL-1.0
// A party over a transport of type X.
#ifndef BOUGH_TOOLS_PARTY_OF_HPP
#define BOUGH_TOOLS_PARTY_OF_HPP

#include "bench_rank.hpp"
#include "party.hpp"
#include <bough/allreduce.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/select/transport_costs.hpp>
#include <bough/select/ways.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace cli {

// How rows travel in words that ranks add up: each rank has a place of its own for `most` rows; elsewhere are zeros.
std::vector<std::uint64_t> words_of(const std::vector<bough::message_way>& rows, bough::rank_t rank,
                                    bough::rank_t ranks, std::size_t most);
std::vector<bough::message_way> ways_in(const std::vector<std::uint64_t>& words);
bough::plan_ref plan_of(const bough::candidate&, bough::dimensions);

template <bough::Transport X>
class party_of : public party {
public:
    explicit party_of(X transport) : comm_(std::move(transport)) {}

    bough::rank_t rank() const override { return comm_.rank(); }
    bough::rank_t size() const override { return comm_.size(); }
    bough::any_cost_model costs() const override { return comm_.options().costs; }
    bough::problem known() override {
        return {.cores = bough::cores_of(comm_.transport()),
                .switch_ns = bough::switch_ns_of(comm_.transport()),
                .levels = comm_.options().levels.get()};
    }

    std::vector<bough::message_way> ways_of(const bough::candidate_list& from, std::size_t winner, bough::dimensions at,
                                            const bough::problem& what) override {
        std::uint64_t told = rank() == 0 ? winner : 0;
        bough::allreduce(comm_, std::span(&told, 1), bough::max{});
        if (told == from.list.size()) return {};
        const auto mine = bough::ways_of(plan_of(from.list[static_cast<std::size_t>(told)], at), what, comm_);
        std::uint64_t most = mine.size();
        bough::allreduce(comm_, std::span(&most, 1), bough::max{});
        std::vector<std::uint64_t> all = words_of(mine, rank(), size(), static_cast<std::size_t>(most));
        if (!all.empty()) bough::allreduce(comm_, std::span(all), bough::plus{});
        return ways_in(all);
    }

    timing time(const problem& what, const workload& work) override {
        const auto expected = expectations(what, work);
        // By this rank's clock: when it came and when it ended, after all had met.
        std::vector<std::uint64_t> came(work.arrivals_ns.empty() ? 0 : work.iterations), ended(work.iterations);
        const checked_elements mine = time_rank(
            comm_, what, work, expected[rank()], [this] { meet_by_messages(comm_); },
            [&](std::size_t i, const lap& now) {
                ended[i] = now.end_ns - now.met_ns;
                if (!came.empty()) came[i] = now.begin_ns - now.met_ns;
            });
        std::array<std::uint64_t, 2> elements{mine.checked, mine.wrong};
        bough::allreduce(comm_, std::span(ended), bough::max{});
        if (!came.empty()) bough::allreduce(comm_, std::span(came), bough::max{});
        bough::allreduce(comm_, std::span(elements), bough::plus{});
        timing result{{}, elements[0], elements[1]};
        for (std::size_t i = 0; i != ended.size(); ++i)
            result.ns.push_back(static_cast<double>(ended[i]) - (came.empty() ? 0 : static_cast<double>(came[i])));
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
