// SPDX-License-Identifier: BSL-1.0
// What is said of steady growth is true, as far as a choice needs it: the price from small plans is that of the walk.
#include "support/catch.hpp"
#include <bough/model/rendezvous.hpp>
#include <bough/model/two_level.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/select/standard/broadcast.hpp>
#include <bough/select/standard/reduce.hpp>
#include <bough/select/steady_price.hpp>
#include <bough/select/transport_costs.hpp>
#include <bough/transport/measured_costs.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

using namespace bough;

namespace {

struct errors {
    std::size_t prices = 0, far = 0;
    double worst = 0;
};

template <class Goal>
void compare(errors& found, rank_t p, rank_t root, std::uint64_t bytes, rank_t cores, const any_cost_model& costs) {
    const dimensions at{p, root};
    const problem what{.bytes = bytes, .cores = cores, .switch_ns = 1500};
    for (const candidate& c :
         standard_candidates<Goal>(at, what, order_preserving | same_bits_for_any_partition).list) {
        const dimensions d{p, root, c.blocks == natural_blocks ? c.algorithm.natural_blocks(p) : c.blocks};
        if (c.algorithm.check(d)) continue;
        detail::plan_tapes memory;
        const detail::steady_pricer<0> steady(costs, c, d, what, memory);
        if (!steady || (p > 128 && d.blocks > 128)) continue;
        const double exact = costs.price_ns(plan_ref(c.algorithm, d), what), drawn = steady.ns();
        CHECK((drawn >= 0 || !costs.homogeneous()));
        if (drawn < 0) continue;
        const double error = std::abs(drawn / exact - 1);
        INFO(c.text().c_str() << " over " << p << " ranks from " << root << ", " << bytes << " bytes, cores " << cores);
        CHECK(error <= 0.12);
        ++found.prices, found.far += error > 0.03;
        found.worst = std::max(found.worst, error);
    }
}

} // namespace

TEST_CASE("steady_price: like the walk of all steps", "[select][steady_price]") {
    errors found;
    for (const any_cost_model& costs :
         {any_cost_model(thread_costs), any_cost_model(detail::shared_memory_costs.model),
          any_cost_model(detail::tcp_costs.model), any_cost_model(model::rendezvous{detail::tcp_costs.model, 1024})})
        for (const rank_t p : {5u, 8u, 13u, 16u, 30u, 256u, 512u})
            for (const std::uint64_t bytes : {std::uint64_t{4096}, std::uint64_t{1} << 16, std::uint64_t{1} << 20})
                for (const rank_t cores : {no_rank, rank_t{2}}) {
                    compare<goal::broadcast>(found, p, 0, bytes, cores, costs);
                    compare<goal::reduce>(found, p, 0, bytes, cores, costs);
                    if (p > 128) continue;
                    compare<goal::reduce>(found, p, p - 1, bytes, cores, costs);
                    compare<goal::allreduce>(found, p, 0, bytes, cores, costs);
                }
    CAPTURE(found.prices, found.far, found.worst);
    CHECK(found.prices > 500);
    CHECK(found.far * 20 <= found.prices);
}

TEST_CASE("steady_price: in blocks also where some ranks are near each other", "[select][steady_price]") {
    errors found;
    for (const auto& [p, each] : {std::pair<rank_t, rank_t>{13, 4}, {16, 8}, {30, 8}, {64, 16}, {100, 32}}) {
        std::vector<rank_t> node;
        for (rank_t r = 0; r != p; ++r) node.push_back(r / each);
        const any_cost_model costs =
            model::two_level{detail::shared_memory_costs.model, detail::tcp_costs.model, node.data()};
        for (const std::uint64_t bytes : {std::uint64_t{1} << 16, std::uint64_t{1} << 20, std::uint64_t{1} << 24}) {
            compare<goal::broadcast>(found, p, 0, bytes, no_rank, costs);
            compare<goal::reduce>(found, p, 0, bytes, no_rank, costs);
            compare<goal::reduce>(found, p, p - 1, bytes, no_rank, costs);
            compare<goal::allreduce>(found, p, 0, bytes, no_rank, costs);
        }
    }
    CAPTURE(found.prices, found.far, found.worst);
    CHECK(found.prices > 100);
    CHECK(found.far * 20 <= found.prices);
}

TEST_CASE("steady_price: of algorithms in which each rank has its share", "[select][steady_price]") {
    std::size_t compared = 0;
    for (const any_cost_model& costs : {any_cost_model(thread_costs), any_cost_model(detail::tcp_costs.model)})
        for (const dimensions at : {dimensions{256, 0}, dimensions{256, 255}, dimensions{512, 0}})
            for (const std::uint64_t bytes : {std::uint64_t{1} << 16, std::uint64_t{1} << 20}) {
                const problem what{.bytes = bytes};
                for (const candidate& c : standard_candidates<goal::reduce>(at, what).list) {
                    if (c.blocks != natural_blocks) continue;
                    const dimensions d{at.size, at.root, c.algorithm.natural_blocks(at.size)};
                    if (d.blocks == 1 || c.algorithm.check(d)) continue;
                    detail::plan_tapes memory;
                    const detail::steady_pricer<0> steady(costs, c, d, what, memory);
                    if (!steady) continue;
                    const double exact = costs.price_ns(plan_ref(c.algorithm, d), what);
                    CAPTURE(c.text().c_str(), at.size, at.root, bytes, exact, steady.ns());
                    CHECK(std::abs(steady.ns() / exact - 1) <= 0.03);
                    ++compared;
                }
            }
    CHECK(compared >= 12);
}

TEST_CASE("steady_price: there is none where pairs of ranks differ, or blocks would", "[select][steady_price]") {
    const any_cost_model alike = thread_costs;
    const candidate chain_in_64{tree_broadcast{chain{}}, 64}, whole{tree_broadcast{chain{}}, 1};
    const auto is_steady = [&](const candidate& c, std::uint64_t bytes, std::uint64_t element) {
        detail::plan_tapes memory;
        return bool(
            detail::steady_pricer<0>(alike, c, {7, 0, c.blocks}, {.bytes = bytes, .element_bytes = element}, memory));
    };
    CHECK(is_steady(chain_in_64, 1 << 16, 1));
    CHECK_FALSE(is_steady(chain_in_64, (1 << 16) + 1, 1));
    CHECK_FALSE(is_steady(chain_in_64, 1 << 16, 1 << 16));
    CHECK_FALSE(is_steady(whole, 1 << 16, 1));
}
