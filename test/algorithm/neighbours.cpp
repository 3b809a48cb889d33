// SPDX-License-Identifier: BSL-1.0
// Collectives of a neighbourhood: proved on grids with rings and ends, and on graphs; the messages that combining leaves.
#include "support/catch.hpp"
#include "support/mutants.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/neighbours/by_dimension.hpp>
#include <bough/algorithm/neighbours/direct.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/walk.hpp>
#include <bough/verify/verify_claims.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

using namespace bough;

namespace {

constexpr neighbourhood square() { return grid_neighbours{.extents = {3, 3}, .offsets = box_offsets(2)}; }
constexpr neighbourhood strip() {
    return grid_neighbours{
        .extents = {2, 3}, .offsets = {{1, 1}, {-1, 2}, {1, -1}, {0, 3}, {1}, {2, 1}, {1, 4}}, .ends = {true, false}};
}
constexpr neighbourhood graph() { return graph_neighbours{.destinations = {{1, 2, 1, 0}, {0}, {1, 3}, {}}}; }
constexpr neighbourhood alone() { return grid_neighbours{.extents = {1}, .offsets = {{}, {3}}}; }
// Each by itself: clang 14 takes a million steps for one.
template <class Family>
constexpr bool to_all(const Family& family, const neighbourhood& around, rank_t size) {
    return static_cast<bool>(verify(plan_neighbour_alltoall(family, around, {.size = size})));
}
template <class Family>
constexpr bool from_all(const Family& family, const neighbourhood& around, rank_t size) {
    return static_cast<bool>(verify(plan_neighbour_allgather(family, around, {.size = size})));
}
static_assert(to_all(direct_neighbours{}, square(), 9));
static_assert(from_all(direct_neighbours{}, square(), 9));
static_assert(to_all(by_dimension{}, square(), 9));
static_assert(from_all(by_dimension{}, square(), 9));
static_assert(to_all(direct_neighbours{}, strip(), 6));
static_assert(to_all(by_dimension{}, strip(), 6));
static_assert(from_all(by_dimension{}, strip(), 6));
static_assert(to_all(direct_neighbours{}, graph(), 4));
static_assert(from_all(direct_neighbours{}, graph(), 4));
static_assert(to_all(by_dimension{}, alone(), 1));
static_assert(from_all(by_dimension{}, alone(), 1));
static_assert(verify(plan_neighbour_alltoall(by_dimension{}, square(), {.size = 9})).traits.rounds == 4);
static_assert(verify(plan_neighbour_alltoall(direct_neighbours{}, square(), {.size = 9})).traits.rounds == 8);

rank_t product_of(const grid_extents& grid) {
    rank_t p = 1;
    for (std::uint32_t d = 0; d != grid.dimensions; ++d) p *= grid.extent[d];
    return p;
}

template <class P>
plan_traits prove(const P& plan) {
    const claim_verdict found = verify_claims(plan);
    REQUIRE(found);
    REQUIRE(verify(plan, {.eager_slots = 2}));
    for (rank_t r = 0; r != plan.size(); ++r) CHECK(plan.scratch(r) <= found.proof.traits.scratch_max);
    return found.proof.traits;
}

// Proves all plans of a neighbourhood.
void prove_all(const neighbourhood& around, rank_t size) {
    const dimensions at{.size = size};
    std::uint64_t arrive = 0, pairs = 0; // blocks from other ranks; ranks that send to one
    for (rank_t r = 0; r != size; ++r) {
        std::set<rank_t> from;
        for (block_t k = 0; k != around.receives(r); ++k)
            if (const rank_t s = around.source(r, k); s != no_rank && s != r) ++arrive, from.insert(s);
        pairs += from.size();
    }
    const plan_traits direct = prove(plan_neighbour_alltoall(direct_neighbours{}, around, at));
    CHECK(direct.messages == arrive);
    CHECK(direct.volume == arrive);
    CHECK((direct.scratch_max == 0 && direct.hops <= 1));
    const plan_traits gathered = prove(plan_neighbour_allgather(direct_neighbours{}, around, at));
    CHECK(gathered.messages == pairs);
    CHECK(gathered.volume == pairs);
    if (!around.is_grid()) return;
    const plan_traits combined = prove(plan_neighbour_alltoall(by_dimension{}, around, at));
    CHECK(combined.hops <= around.grid().extents.dimensions);
    CHECK(combined.volume >= direct.volume);
    const plan_traits both = prove(plan_neighbour_allgather(by_dimension{}, around, at));
    CHECK(both.messages == combined.messages);
    CHECK(both.volume >= gathered.volume);
}

// What an alltoall on a torus sends: a message for each step that an offset has in a dimension, a block for each.
struct steps_of_torus {
    std::uint64_t messages = 0, blocks = 0;
};
steps_of_torus steps_of(const grid_neighbours& grid) {
    steps_of_torus made;
    for (std::uint32_t d = 0; d != grid.extents.dimensions; ++d) {
        const auto extent = static_cast<std::int32_t>(grid.extents.extent[d]);
        std::set<std::int32_t> steps;
        for (const grid_offset& o : grid.offsets)
            if (const std::int32_t step = (o.by[d] % extent + extent) % extent; step != 0)
                steps.insert(step), ++made.blocks;
        made.messages += steps.size();
    }
    return made;
}

std::vector<grid_offset> some_offsets(std::uint64_t seed, std::uint32_t dimensions) {
    std::vector<grid_offset> made;
    for (std::uint64_t k = 0; k != bough_test::mixed(seed) % 9; ++k) {
        grid_offset o;
        for (std::uint32_t d = 0; d != dimensions; ++d)
            o.by[d] = static_cast<std::int32_t>(bough_test::mixed(seed + 100 + k * 10 + d) % 7) - 3;
        made.push_back(o);
    }
    return made;
}

} // namespace

TEST_CASE("neighbours: 27 points in 6 messages, 9 points in 4; an allgather sends no more bytes than straight") {
    const neighbourhood cube = grid_neighbours{.extents = {4, 4, 4}, .offsets = box_offsets(3)};
    const plan_traits straight = prove(plan_neighbour_alltoall(direct_neighbours{}, cube, {.size = 64}));
    CHECK((straight.rounds == 26 && straight.messages == 64 * 26 && straight.volume_max == 26));
    const plan_traits all = prove(plan_neighbour_alltoall(by_dimension{}, cube, {.size = 64}));
    CHECK((all.rounds == 6 && all.messages == 64 * 6 && all.volume_max == 54 && all.scratch_max == 28));
    const plan_traits gathered = prove(plan_neighbour_allgather(by_dimension{}, cube, {.size = 64}));
    CHECK((gathered.rounds == 6 && gathered.messages == 64 * 6 && gathered.volume_max == 26));
    CHECK(gathered.scratch_max == 0);
    std::uint32_t hops = 0;
    for (block_t k = 0; k != 26; ++k) hops += neighbour_alltoall_by_dimension{cube}.hops(k);
    CHECK(hops == 54);
    CHECK(neighbour_alltoall_by_dimension{grid_neighbours{.extents = {3}, .offsets = {{3}}}}.hops(0) == 0);
    const neighbourhood square_of_20 = grid_neighbours{.extents = {5, 4}, .offsets = box_offsets(2)};
    CHECK(prove(plan_neighbour_allgather(by_dimension{}, square_of_20, {.size = 20})).rounds == 4);
}

TEST_CASE("neighbours: grids of up to 64 ranks, any offsets, rings and ends") {
    for (const grid_extents& grid :
         {grid_extents{1}, grid_extents{2}, grid_extents{7}, grid_extents{3, 4}, grid_extents{1, 5},
          grid_extents{2, 2, 2}, grid_extents{3, 2, 4}, grid_extents{13, 2}, grid_extents{4, 4, 4},
          grid_extents{2, 1, 3, 2}, grid_extents{61}})
        for (std::uint64_t seed = 0; seed != (bough_test::all() ? 40 : 8); ++seed) {
            grid_neighbours around{.extents = grid, .offsets = some_offsets(seed, grid.dimensions)};
            for (std::uint32_t d = 0; d != grid.dimensions; ++d)
                around.ends[d] = bough_test::mixed(seed * 9 + d) % 3 == 0;
            CAPTURE(grid.text().c_str(), seed);
            prove_all(around, product_of(grid));
        }
    prove_all(grid_neighbours{.extents = {4, 4, 4}, .offsets = box_offsets(3), .ends = {true, true, true}}, 64);
    prove_all(grid_neighbours{.extents = {5, 5}, .offsets = box_offsets(2, 2), .ends = {false, true}}, 25);
}

TEST_CASE("neighbours: graphs, with ranks that are listed twice, or that nobody knows") {
    for (std::uint64_t seed = 0; seed != 60; ++seed) {
        const auto size = static_cast<rank_t>(1 + bough_test::mixed(seed) % (bough_test::all() ? 64 : 20));
        graph_neighbours around;
        for (rank_t r = 0; r != size; ++r) {
            auto& to = around.destinations.emplace_back();
            for (std::uint64_t k = 0; k != bough_test::mixed(seed * 1000 + r) % 6; ++k)
                to.push_back(static_cast<rank_t>(bough_test::mixed(seed * 77 + r * 10 + k) % size));
        }
        CAPTURE(seed, size);
        prove_all(around, size);
    }
    prove_all(graph_neighbours{.destinations = {{}, {}, {}}}, 3);
}

TEST_CASE("neighbours: on a torus, the walk takes a latency for each step, and a block's time for each block's step") {
    const model::alpha_beta_gamma model{.alpha_ns = 1000, .beta_ns_per_byte = 2};
    for (const auto& [grid, offsets] :
         std::vector<std::pair<grid_extents, std::vector<grid_offset>>>{{{4, 4, 4}, box_offsets(3)},
                                                                        {{5, 5}, box_offsets(2, 2)},
                                                                        {{3, 3, 3}, star_offsets(3)},
                                                                        {{2, 6}, box_offsets(2)}}) {
        const grid_neighbours around{.extents = grid, .offsets = offsets};
        const dimensions at{.size = product_of(grid)};
        const auto plan = plan_neighbour_alltoall(by_dimension{}, around, at);
        const steps_of_torus steps = steps_of(around);
        CAPTURE(grid.text().c_str());
        const plan_traits traits = prove(plan);
        CHECK(traits.rounds == steps.messages);
        CHECK(traits.messages == at.size * steps.messages);
        CHECK(traits.volume == at.size * steps.blocks);
        const std::uint64_t each = 24;
        const double walked = model::walk(plan, model, each * plan.blocks()).makespan_ns;
        CHECK(walked == static_cast<double>(1000 * steps.messages + 2 * each * steps.blocks));
        const auto straight = plan_neighbour_alltoall(direct_neighbours{}, around, at);
        const auto count = static_cast<double>(prove(straight).rounds);
        CHECK(model::walk(straight, model, each * plan.blocks()).makespan_ns == count * (1000 + 2 * 24));
    }
}

TEST_CASE("neighbours: what a plan cannot have is refused") {
    const auto said = [](const auto& algorithm, const dimensions& at) {
        const status s = check_plan(algorithm, at);
        return std::string_view(s.argument == nullptr ? "" : s.argument);
    };
    const direct_neighbour_alltoall straight{square()};
    CHECK(said(straight, {.size = 9}) == "");
    CHECK(said(straight, {.size = 9, .blocks = 72}) == "");
    CHECK(said(straight, {.size = 9, .blocks = 9}) ==
          "blocks: must be as many as there are places that ranks send from");
    CHECK(said(straight, {.size = 8}) == "neighbours: the product of the extents is not the number of ranks");
    CHECK(straight.natural_blocks(8) == 0);
    CHECK(said(direct_neighbour_allgather{square()}, {.size = 9, .blocks = 72}) ==
          "blocks: must be as many as there are ranks");
    const char* const graphs = "neighbours: a graph has no dimensions to go by";
    CHECK(said(neighbour_alltoall_by_dimension{graph()}, {.size = 4}) == graphs);
    CHECK(said(neighbour_allgather_by_dimension{graph()}, {.size = 4}) == graphs);
    CHECK(identity_of(straight) != identity_of(direct_neighbour_alltoall{strip()}));
    CHECK(identity_of(straight) != identity_of(neighbour_alltoall_by_dimension{square()}));
    CHECK(identity_of(direct_neighbour_allgather{square()}) != identity_of(neighbour_allgather_by_dimension{square()}));
}

TEST_CASE("neighbours: no mutant passes for a plan") {
    const auto spoil_all = [](const neighbourhood& around, rank_t size) {
        const dimensions at{.size = size};
        CHECK(test::spoil(plan_neighbour_alltoall(direct_neighbours{}, around, at)) != 0);
        CHECK(test::spoil(plan_neighbour_allgather(direct_neighbours{}, around, at)) != 0);
        if (!around.is_grid()) return;
        CHECK(test::spoil(plan_neighbour_alltoall(by_dimension{}, around, at)) != 0);
        CHECK(test::spoil(plan_neighbour_allgather(by_dimension{}, around, at)) != 0);
    };
    spoil_all(square(), 9);
    spoil_all(strip(), 6);
    spoil_all(graph(), 4);
}
