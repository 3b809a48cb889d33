// SPDX-License-Identifier: BSL-1.0
// Costs of each rank, set anew while a job runs: plans that go around a slow rank are taken and dropped by all
// ranks in the same call.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/slow_rank.hpp>
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/decision.hpp>
#include <bough/model/heterogeneous.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/transport/in_process.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

using namespace bough;

namespace {

constexpr rank_t size = 8;
constexpr std::uint64_t bytes = 1 << 21;

// 1 us a message, 10 bytes per ns; the slow one takes four times as long.
model::heterogeneous costs_with(rank_t slow) {
    model::heterogeneous made;
    for (rank_t r = 0; r != size; ++r) {
        const double times = r == slow ? 4 : 1;
        made.send.push_back({1000 * times, 0.1 * times});
        made.receive.push_back({1000 * times, 0.1 * times});
        made.combine.push_back({0, 0.02});
    }
    return made;
}

} // namespace

TEST_CASE("costs: a slow rank is gone around from the call on in which all have new costs, and no longer than that") {
    const std::array<rank_t, 6> slow{no_rank, 5, 5, no_rank, 2, no_rank};
    std::array<model::heterogeneous, slow.size()> costs;
    for (std::size_t i = 0; i != slow.size(); ++i) costs[i] = costs_with(slow[i]);
    std::atomic<int> wrong{0}, others{0};
    in_process{size}.run([&](auto link) {
        communicator comm{std::move(link)};
        for (std::size_t i = 0; i != slow.size(); ++i) {
            comm.set_costs(model::heterogeneous_view{&costs[i]});
            const decision d = decision_of<goal::allreduce>(comm, {.bytes = bytes, .element_bytes = 8});
            const auto* around = d.winner().what.algorithm.template get<slow_rank_allreduce>();
            others += (around == nullptr ? no_rank : around->slow) != slow[i];
            for (int call = 0; call != 2; ++call) {
                std::vector<std::uint64_t> x(bytes / 8, comm.rank() + i);
                allreduce(comm, std::span(x), plus{});
                for (const std::uint64_t sum : x) wrong += sum != size * (size - 1) / 2 + size * i;
            }
        }
    });
    CHECK(others == 0);
    CHECK(wrong == 0);
}
