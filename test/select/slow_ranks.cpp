// SPDX-License-Identifier: BSL-1.0
// A slow rank: found where costs say so, gone around where that is the fastest, and only there.
#include "support/catch.hpp"
#include <bough/model/heterogeneous.hpp>
#include <bough/model/lrc.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/slow_ranks.hpp>
#include <bough/select/standard/allreduce.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

using namespace bough;

namespace {

// 1 us a message, 10 bytes per ns; these ranks take so many times as long.
model::heterogeneous costs_of(rank_t size, double factor, std::initializer_list<rank_t> slow) {
    model::heterogeneous made;
    for (rank_t r = 0; r != size; ++r) {
        const double times = std::find(slow.begin(), slow.end(), r) != slow.end() ? factor : 1;
        made.send.push_back({1000 * times, 0.1 * times});
        made.receive.push_back({1000 * times, 0.1 * times});
        made.combine.push_back({0, 0.02});
    }
    return made;
}

decision decide(const model::heterogeneous& costs, const problem& what, const requirements& needed = {}) {
    const dimensions at{.size = static_cast<rank_t>(costs.send.size())};
    const any_cost_model model = model::heterogeneous_view{&costs};
    return choose(standard_candidates<goal::allreduce>(at, what, needed, model), at, what, model, {.needed = needed});
}
rank_t gone_around(const decision& d) {
    const auto* around = d.winner().what.algorithm.get<slow_rank_allreduce>();
    return around == nullptr ? no_rank : around->slow;
}
std::size_t around_in(const candidate_list& from) {
    return static_cast<std::size_t>(std::count_if(from.list.begin(), from.list.end(), [](const candidate& c) {
        return c.algorithm.get<slow_rank_allreduce>() != nullptr;
    }));
}

// Messages go at the speed of the slower of two cables, and ranks are alike.
struct cables {
    const double* ns_per_byte = nullptr; // by rank
    double start_ns() const { return 0; }
    double send_ns(rank_t, rank_t, std::uint64_t) const { return 500; }
    double latency_ns(rank_t, rank_t, std::uint64_t) const { return 1000; }
    double port_ns(rank_t from, rank_t to, std::uint64_t bytes, bool) const {
        return std::max(ns_per_byte[from], ns_per_byte[to]) * static_cast<double>(bytes);
    }
    bool lands_early() const { return true; }
    double receive_ns(rank_t, rank_t, std::uint64_t) const { return 500; }
    double combine_ns(rank_t, std::uint64_t) const { return 0; }
    double copy_ns(rank_t, std::uint64_t) const { return 0; }
};
static_assert(PortedCostModel<cables>);

} // namespace

TEST_CASE("slow_ranks: one rank of 8 is four times slower, and is gone around") {
    const problem what{.bytes = 16 << 20};
    for (const rank_t slow : {0u, 5u, 7u}) {
        const model::heterogeneous costs = costs_of(8, 4, {slow});
        const decision d = decide(costs, what);
        CHECK(gone_around(d) == slow);
        const any_cost_model model = model::heterogeneous_view{&costs};
        const double usual = choose(standard_candidates<goal::allreduce>({.size = 8}, what), {.size = 8}, what, model)
                                 .winner()
                                 .predicted_ns;
        // A slow rank at either end can be a leaf of two trees, which is nearly as good.
        CHECK(usual > (slow == 5 ? 1.5 : 1) * d.winner().predicted_ns);
    }
}

TEST_CASE("slow_ranks: a slow cable is found by the costs of pairs of ranks") {
    for (const rank_t slow : {0u, 3u, 6u}) {
        std::array<double, 7> ns{};
        ns.fill(0.04);
        ns[slow] = 0.16;
        const any_cost_model model = cables{ns.data()};
        const problem what{.bytes = 16 << 20};
        const auto from = standard_candidates<goal::allreduce>({.size = 7}, what, {}, model);
        CHECK(around_in(from) == 3);
        CHECK(gone_around(choose(from, {.size = 7}, what, model)) == slow);
        candidate_list twice = from; // who asks again has them once
        add_slow_rank(twice, {.size = 7}, what, model);
        CHECK(twice.list == from.list);
    }
}

TEST_CASE("slow_ranks: not where nobody is slow, two are, or the rank is hardly slower") {
    const problem what{.bytes = 16 << 20};
    const auto around = [&](const model::heterogeneous& costs) {
        const auto size = static_cast<rank_t>(costs.send.size());
        return around_in(
            standard_candidates<goal::allreduce>({.size = size}, what, {}, model::heterogeneous_view{&costs}));
    };
    CHECK(around(costs_of(8, 1, {})) == 0);
    CHECK(around(costs_of(8, 4, {2, 5})) == 0);
    CHECK(around(costs_of(8, 4, {0, 1})) == 0);
    CHECK(around(costs_of(8, 1.02, {5})) == 0);
    CHECK(around(costs_of(2, 4, {1})) == 0); // there are no others to share the work
    CHECK(around(costs_of(3, 4, {1})) == 3);
    // A candidate, and not the best.
    const std::array<double, 8> hardly{0.04, 0.04, 0.045, 0.04, 0.04, 0.04, 0.04, 0.04};
    const any_cost_model model = cables{hardly.data()};
    const auto from = standard_candidates<goal::allreduce>({.size = 8}, what, {}, model);
    CHECK(around_in(from) == 3);
    CHECK(gone_around(choose(from, {.size = 8}, what, model)) == no_rank);
    // Costs that take all ranks for equal change nothing.
    const any_cost_model alike = model::lrc{.message_latency_ns = 100, .receive = {60, 0.1}, .combine = {10, 0.1}};
    CHECK(standard_candidates<goal::allreduce>({.size = 8}, what, {}, alike).list ==
          standard_candidates<goal::allreduce>({.size = 8}, what).list);
}

TEST_CASE("slow_ranks: not for short vectors, nor where rank order or a bracket is required") {
    const model::heterogeneous costs = costs_of(8, 4, {5});
    CHECK(gone_around(decide(costs, {.bytes = 8})) == no_rank);
    CHECK(gone_around(decide(costs, {.bytes = 1 << 12})) == no_rank);
    CHECK(gone_around(decide(costs, {.bytes = 16 << 20}, order_preserving)) == no_rank);
    CHECK(gone_around(decide(costs, {.bytes = 16 << 20}, same_bits_for_any_partition)) == no_rank);
    candidate_list none{goal::allreduce::kind, {}};
    add_slow_rank(none, {.size = 8}, {.bytes = 4 * 7 * 512 - 1}, model::heterogeneous_view{&costs});
    CHECK(none.list.empty());
    add_slow_rank(none, {.size = 8}, {.bytes = 4 * 7 * 512}, model::heterogeneous_view{&costs});
    CHECK(none.list.size() == 1);
}

TEST_CASE("slow_ranks: of one rank or two none is gone around, however slow") {
    for (const rank_t size : {1u, 2u, 3u}) {
        CAPTURE(size);
        model::heterogeneous costs = costs_of(size, 4, {0});
        costs.combine[0] = {0, 2}; // two ranks exchange alike, and combine at their own pace
        candidate_list made{goal::allreduce::kind, {}};
        add_slow_rank(made, {.size = size}, {.bytes = 16 << 20}, model::heterogeneous_view{&costs});
        CHECK(made.list.empty() == (size < 3));
    }
}
