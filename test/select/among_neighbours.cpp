// SPDX-License-Identifier: BSL-1.0
// What is chosen for neighbours: by price, the same on a grid that is just as large as the offsets need.
#include "support/catch.hpp"
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/logp.hpp>
#include <bough/select/standard/neighbours.hpp>

#include <cstdint>
#include <vector>

using namespace bough;

namespace {

template <class Goal>
decision in_full(const neighbourhood& around, rank_t size, std::uint64_t bytes, const any_cost_model& costs) {
    return choose(neighbour_candidates<Goal>(around), {.size = size}, {.bytes = bytes}, costs);
}
bool combines(const decision& d) {
    REQUIRE(d);
    const any_algorithm& a = d.winner().what.algorithm;
    return a.get<neighbour_alltoall_by_dimension>() != nullptr || a.get<neighbour_allgather_by_dimension>() != nullptr;
}

template <class Goal>
void check_same(const grid_neighbours& grid, rank_t size, const any_cost_model& costs, bool exact_price) {
    const neighbourhood around = grid;
    const std::uint64_t blocks = Goal::kind == goal::neighbour_alltoall::kind ? around.blocks(size) : size;
    for (const std::uint64_t each : {1u, 64u, 512u, 4096u, 65536u}) {
        const decision quick = choose_for_neighbours<Goal>(around, {.size = size}, {.bytes = each * blocks}, costs);
        const decision whole = in_full<Goal>(around, size, each * blocks, costs);
        CAPTURE(size, each, int{Goal::kind});
        CHECK(combines(quick) == combines(whole));
        if (exact_price) CHECK(quick.winner().predicted_ns == Approx(whole.winner().predicted_ns));
    }
}

} // namespace

TEST_CASE("neighbours: a small grid tells what is the best on a large one") {
    const any_cost_model ports = model::alpha_beta_gamma{.alpha_ns = 1000, .beta_ns_per_byte = 1};
    const any_cost_model loggp = model::loggops{.message_latency_ns = 2500, .overhead = {1500, 0}, .gap = {1000, 0.1}};
    for (const any_cost_model& costs : {ports, loggp}) {
        check_same<goal::neighbour_alltoall>({.extents = {6, 7}, .offsets = box_offsets(2)}, 42, costs, true);
        check_same<goal::neighbour_allgather>({.extents = {6, 7}, .offsets = box_offsets(2)}, 42, costs, true);
        check_same<goal::neighbour_alltoall>({.extents = {4, 4, 4}, .offsets = star_offsets(3)}, 64, costs, true);
        check_same<goal::neighbour_alltoall>({.extents = {9, 5}, .offsets = {{1, 1}, {2}, {0, -2}, {-1, 2}}}, 45, costs,
                                             true);
        check_same<goal::neighbour_allgather>({.extents = {7, 6}, .offsets = box_offsets(2), .ends = {true, true}}, 42,
                                              costs, false);
    }
}

TEST_CASE("neighbours: short blocks by dimension, long ones straight; an allgather of a box by dimension") {
    const any_cost_model costs = model::alpha_beta_gamma{.alpha_ns = 1000, .beta_ns_per_byte = 1};
    const neighbourhood cube = grid_neighbours{.extents = {50, 40, 50}, .offsets = box_offsets(3)};
    const auto taken = [&]<class Goal>(Goal, std::uint64_t each, std::uint64_t blocks) {
        return combines(choose_for_neighbours<Goal>(cube, {.size = 100'000}, {.bytes = each * blocks}, costs));
    };
    CHECK(taken(goal::neighbour_alltoall{}, 8, 2'600'000));
    CHECK(taken(goal::neighbour_alltoall{}, 700, 2'600'000)); // 6 alpha + 54 beta b < 26 (alpha + beta b): b < 714
    CHECK_FALSE(taken(goal::neighbour_alltoall{}, 730, 2'600'000));
    CHECK(taken(goal::neighbour_allgather{}, 8, 100'000));
    CHECK(taken(goal::neighbour_allgather{}, 4096, 100'000)); // of very long ones the times are equal
    // Two hops to one neighbour are no gain.
    const neighbourhood diagonal = grid_neighbours{.extents = {8, 8}, .offsets = {{1, 1}}};
    CHECK_FALSE(
        combines(choose_for_neighbours<goal::neighbour_alltoall>(diagonal, {.size = 64}, {.bytes = 64}, costs)));
    // Of a graph there is one candidate.
    const neighbourhood graph = graph_neighbours{.destinations = {{1}, {0}}};
    CHECK_FALSE(combines(choose_for_neighbours<goal::neighbour_alltoall>(graph, {.size = 2}, {.bytes = 64}, costs)));
}
