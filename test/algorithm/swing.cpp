// SPDX-License-Identifier: BSL-1.0
// Optimised: it proves plans of every pair of extents up to 64.
#include "proof.hpp"
#include "support/catch.hpp"
#include "support/mutants.hpp"
#include <bough/algorithm/swing.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/walk.hpp>
#include <bough/simulate/network.hpp>
#include <bough/verify/verify_claims.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace bough;

namespace {

constexpr auto ring_swung = [](rank_t size) { return plan_allreduce(swing{}, {.size = size}); };
constexpr auto ring_halves = [](rank_t size) { return plan_reduce_scatter(swing{}, {.size = size}); };
constexpr auto ring_doubles = [](rank_t size) { return plan_allgather(swing{}, {.size = size}); };
constexpr auto torus_swung = [](rank_t size) {
    return plan_allreduce(swing{.extents = {2, size / 2}}, {.size = size});
};
static_assert(test::proven_for<ring_swung, 1, 2, 3, 5, 8>());
static_assert(test::proven_everywhere<ring_halves>());
static_assert(test::proven_everywhere<ring_doubles>());
static_assert(test::proven_for<torus_swung, 2, 4, 6>());
static_assert(verify(plan_allreduce(swing{.ports = 1}, {.size = 8})).traits.rounds == 6);
static_assert(swing{.extents = {8, 8}}.algorithm_for(goal::allreduce{}).natural_blocks(64) == 4 * 64);
static_assert(swing{.extents = {2, 8}}.algorithm_for(goal::allreduce{}).natural_blocks(16) == 3 * 16);

std::uint32_t log2_up(std::uint64_t x) {
    std::uint32_t t = 0;
    for (std::uint64_t power = 1; power < x; power *= 2) ++t;
    return t;
}
rank_t product_of(const grid_extents& grid) {
    rank_t p = 1;
    for (std::uint32_t d = 0; d != grid.dimensions; ++d) p *= grid.extent[d];
    return p;
}
std::uint32_t rounds_of(const grid_extents& grid) {
    std::uint32_t q = 0;
    for (std::uint32_t d = 0; d != grid.dimensions; ++d) q += log2_up(grid.extent[d]);
    return q;
}

template <class P>
void check_swung(const P& plan, const grid_extents& grid, rank_t ports, std::uint32_t halves) {
    CAPTURE(grid.text().c_str(), ports, halves);
    const verdict v = verify(plan);
    REQUIRE(v);
    CHECK(verify_claims(plan));
    if (plan.size() == 1) return;
    CHECK(v.traits.volume_max == std::uint64_t{halves} * ports * (plan.size() - 1));
    CHECK(v.traits.messages == std::uint64_t{halves} * ports * rounds_of(grid) * plan.size());
    if (ports == 1) CHECK(v.traits.rounds == halves * rounds_of(grid));
}

void check_grid(const grid_extents& grid) {
    const dimensions at{.size = product_of(grid)};
    check_swung(plan_reduce_scatter(swing{grid}, at), grid, 1, 1);
    check_swung(plan_allgather(swing{grid}, at), grid, 1, 1);
    const rank_t all = detail::ports_of_torus(grid);
    for (rank_t ports = 1; ports <= all; ports += all == 1 ? 1 : all - 1)
        check_swung(plan_allreduce(swing{grid, ports}, at), grid, ports, 2);
}

std::string refusal_of_swing(const swing& s, const dimensions& at) {
    const status bad = check_plan(s.algorithm_for(goal::allreduce{}), at);
    return bad ? bad.argument : "";
}

// How much of the vector the busiest link between switches carries, each message by its path.
double busiest_link(const grid_extents& grid, const swing& s) {
    std::vector<std::uint32_t> extents(grid.extent, grid.extent + grid.dimensions), path;
    const network net = network::torus(extents, 1);
    const auto plan = plan_allreduce(s, {.size = product_of(grid)});
    std::vector<std::uint64_t> blocks(net.links().size(), 0);
    for (rank_t r = 0; r != plan.size(); ++r)
        for (const step& sent : plan.schedule_of(r).steps) {
            if (sent.verb != verb::send) continue;
            path.clear();
            net.path(r, sent.peer, path);
            for (const std::uint32_t l : path)
                if (net.links()[l].from >= net.hosts() && net.links()[l].to >= net.hosts()) blocks[l] += sent.a.count;
        }
    return static_cast<double>(*std::max_element(blocks.begin(), blocks.end())) / plan.blocks();
}

} // namespace

TEST_CASE("swing: rings of up to 64 ranks, and tori of every pair of extents up to 64") {
    for (rank_t p = 1; p <= 64; ++p) {
        check_grid({p});
        for (rank_t e = 2; e <= p / 2; ++e)
            if (p % e == 0) check_grid({e, p / e});
    }
    for (const grid_extents& grid : {grid_extents{4, 4, 4}, {2, 3, 5}, {3, 3, 3}, {2, 2, 2, 2}, {1, 6, 1}, {5, 1, 2}})
        check_grid(grid);
}

TEST_CASE("swing: in rings of powers of two, partners and blocks are those of the paper") {
    for (const rank_t p : {2u, 4u, 8u, 16u, 32u, 64u}) {
        const std::uint32_t q = log2_up(p);
        const auto partner = [&](rank_t x, std::uint32_t s) {
            const std::int64_t rho = (1 - static_cast<std::int64_t>(std::pow(-2.0, s + 1))) / 3;
            const std::int64_t there = x + (x % 2 == 0 ? rho : -rho) + std::int64_t{4} * p;
            return static_cast<rank_t>(there % p);
        };
        // What rank x answers for from step s on: its own block, and what its partners do.
        const auto answers = [&](auto&& self, rank_t x, std::uint32_t s) -> std::set<block_t> {
            std::set<block_t> all{x};
            for (; s != q; ++s) all.merge(self(self, partner(x, s), s + 1));
            return all;
        };
        for (rank_t r = 0; r != p; ++r) {
            std::vector<std::pair<rank_t, std::set<block_t>>> sent;
            bool goes_on = false;
            for (const step& s : plan_reduce_scatter(swing{}, {.size = p}).schedule_of(r).steps) {
                if (s.verb != verb::send) continue;
                if (!goes_on) sent.push_back({s.peer, {}});
                for (block_t b = s.a.first; b != s.a.last(); ++b) sent.back().second.insert(b);
                goes_on = s.more;
            }
            REQUIRE(sent.size() == q);
            for (std::uint32_t s = 0; s != q; ++s) {
                CAPTURE(p, r, s);
                CHECK(sent[s].first == partner(r, s));
                CHECK(sent[s].second == answers(answers, partner(r, s), s + 1));
            }
        }
    }
}

TEST_CASE("swing: the formula is the walk") {
    const model::alpha_beta_gamma costs{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25};
    for (const grid_extents& grid : {grid_extents{2}, {16}, {64}, {4, 4}, {8, 2}, {4, 4, 4}}) {
        const rank_t p = product_of(grid);
        for (const std::uint64_t per_rank : {1u, 1000u}) {
            const std::uint64_t bytes = per_rank * p;
            const double share = static_cast<double>(per_rank * (p - 1));
            const double halves = rounds_of(grid) * costs.alpha_ns + share * (1 + 0.25);
            const double doubles = rounds_of(grid) * costs.alpha_ns + share;
            const dimensions at{.size = p};
            CAPTURE(p, per_rank);
            CHECK(model::walk(plan_reduce_scatter(swing{grid}, at), costs, bytes).makespan_ns == Approx(halves));
            CHECK(model::walk(plan_allgather(swing{grid}, at), costs, bytes).makespan_ns == Approx(doubles));
            CHECK(model::walk(plan_allreduce(swing{grid, 1}, at), costs, bytes).makespan_ns ==
                  Approx(halves + doubles));
        }
    }
}

TEST_CASE("swing: the busiest link carries little more than it must") {
    CHECK(busiest_link({8, 8}, {{8, 8}}) <= 0.55);
    CHECK(busiest_link({8, 8}, {{8, 8}}) >= 0.5 * 63 / 64);
    CHECK(busiest_link({16, 16}, {{16, 16}}) <= 0.57);
    CHECK(busiest_link({4, 4, 4}, {{4, 4, 4}}) <= 0.345);
    CHECK(busiest_link({8, 8}, {{8, 8}, 1}) > 1.0); // one port leaves most links idle
}

TEST_CASE("swing: no mutant passes") {
    CHECK(test::spoil(plan_allreduce(swing{}, {.size = 4})) > 100);
    CHECK(test::spoil(plan_allreduce(swing{.extents = {2, 3}, .ports = 1}, {.size = 6})) > 100);
    CHECK(test::spoil(plan_allgather(swing{}, {.size = 6})) > 100);
    CHECK(test::spoil(plan_reduce_scatter(swing{}, {.size = 8})) > 100);
}

TEST_CASE("swing: what it refuses, and what it is called") {
    CHECK(refusal_of_swing({{4, 4}}, {.size = 15}) == "extents: their product is not the number of ranks");
    CHECK(refusal_of_swing({{65536, 65536}}, {.size = 2}) == "extents: their product is not the number of ranks");
    for (const grid_extents& grid : {grid_extents{0, 4}, {4, 0}, {0}})
        CHECK(refusal_of_swing({grid}, {.size = 4}) == "extents: each is at least 1");
    CHECK(refusal_of_swing({{4, 4}, 5}, {.size = 16}) == "ports: more than the torus has");
    CHECK(refusal_of_swing({{2, 4}, 4}, {.size = 8}) == "ports: more than the torus has");
    CHECK(refusal_of_swing({{4, 4}}, {.size = 16, .blocks = 16}) == "blocks: must be one for each rank and port");
    CHECK(refusal_of_swing({{4, 4}, 1}, {.size = 16, .blocks = 16}).empty());
    CHECK(refusal_of_swing({{65536, 32768}}, {.size = 1u << 31}) ==
          "size: so many ranks have more blocks than a block_t counts");
    CHECK(label_of(swing{}) == label("swing"));
    CHECK(label_of(swing{{4, 2}, 2}) == label("swing{.extents = {4, 2}, .ports = 2}"));
    CHECK(label_of(swing_reduce_scatter{{4, 2}}) == label("swing_reduce_scatter{.extents = {4, 2}}"));
}
