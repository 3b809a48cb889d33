// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/schedule/neighbourhood.hpp>

#include <string_view>
#include <utility>
#include <vector>

using namespace bough;

namespace {

constexpr neighbourhood torus() { return grid_neighbours{.extents = {3, 2}, .offsets = {{1, 0}, {-1, 1}}}; }
static_assert(!torus().check(6) && torus().blocks(6) == 12 && torus().is_grid());
static_assert(torus().destination(2, 0) == 0 && torus().destination(0, 1) == 5 && torus().source(0, 0) == 2);
static_assert(torus().arriving(0, 0) == 4 && torus().arriving(5, 1) == 1 && torus().owner(5) == 2);

constexpr neighbourhood pair_of_ends() {
    return grid_neighbours{.extents = {3}, .offsets = {{1}, {-1}, {4}}, .ends = {true}};
}
static_assert(pair_of_ends().destination(2, 0) == no_rank && pair_of_ends().source(2, 0) == 1);
static_assert(pair_of_ends().arriving(0, 0) == neighbourhood::no_block && pair_of_ends().arriving(0, 1) == 4);
static_assert(pair_of_ends().destination(0, 2) == no_rank && pair_of_ends().sends(0) == 3);

constexpr neighbourhood graph() { return graph_neighbours{.destinations = {{1, 2, 1}, {0}, {1}}}; }
static_assert(!graph().check(3) && graph().blocks(3) == 5 && !graph().is_grid());
static_assert(graph().sends(0) == 3 && graph().receives(1) == 3 && graph().first_block(1) == 3);
static_assert(graph().arriving(1, 0) == 0 && graph().arriving(1, 1) == 2 && graph().arriving(1, 2) == 4);
static_assert(graph().source(1, 2) == 2 && graph().source(0, 0) == 1 && graph().owner(2) == 0);

std::string_view said(const neighbourhood& around, rank_t size, rank_t peer = no_rank) {
    const status s = around.check(size);
    CHECK(s.peer == peer);
    return s.argument == nullptr ? "" : s.argument;
}

} // namespace

TEST_CASE("neighbourhood: sources in the order in which a rank lists them; what leaves first arrives first") {
    const neighbourhood around =
        graph_neighbours{.destinations = {{1, 2, 1}, {0}, {1}}, .sources = {{1}, {2, 0, 0}, {0}}};
    REQUIRE_FALSE(around.check(3));
    CHECK(around.source(1, 0) == 2);
    CHECK(around.arriving(1, 0) == 4);
    CHECK(around.arriving(1, 1) == 0);
    CHECK(around.arriving(1, 2) == 2);
    CHECK_FALSE(around == graph());
    CHECK(around.hash() != graph().hash());
    const graph_neighbours sorted{.destinations = {{1, 2, 1}, {0}, {1}}, .sources = {{1}, {0, 0, 2}, {0}}};
    CHECK(neighbourhood(sorted) == graph());
}

TEST_CASE("neighbourhood: there and back again, on grids with rings and with ends") {
    for (int ends = 0; ends != 8; ++ends) {
        const neighbourhood around = grid_neighbours{.extents = {4, 1, 3},
                                                     .offsets = box_offsets(3, 2),
                                                     .ends = {(ends & 1) != 0, (ends & 2) != 0, (ends & 4) != 0}};
        REQUIRE_FALSE(around.check(12));
        std::size_t there = 0, back = 0;
        for (rank_t r = 0; r != 12; ++r)
            for (block_t k = 0; k != around.sends(r); ++k) {
                if (const rank_t to = around.destination(r, k); to != no_rank) {
                    ++there;
                    CHECK(around.source(to, k) == r);
                    CHECK(around.arriving(to, k) == around.first_block(r) + k);
                }
                back += around.source(r, k) != no_rank;
            }
        CHECK(there == back);
        CHECK((ends != 0 || there == 12 * around.grid().offsets.size()));
    }
}

TEST_CASE("neighbourhood: what is wrong is said, with the rank") {
    CHECK(said(torus(), 7) == "neighbours: the product of the extents is not the number of ranks");
    CHECK(said(torus(), 12) == "neighbours: the product of the extents is not the number of ranks");
    CHECK(said(grid_neighbours{.offsets = {{}}}, 1) ==
          "neighbours: the product of the extents is not the number of ranks");
    CHECK(said(grid_neighbours{.extents = {2, 2}, .offsets = {{1}, {0, 0, 1}}}, 4) ==
          "neighbours: an offset has more dimensions than the grid");
    CHECK(said(graph(), 4) == "neighbours: a graph of another number of ranks than the group has");
    CHECK(said(neighbourhood{}, 1) == "neighbours: a graph of another number of ranks than the group has");
    CHECK(said(graph_neighbours{.destinations = {{}, {0, 2}}}, 2, 1) ==
          "neighbours: a destination is not a rank of the group");
    CHECK(said(graph_neighbours{.destinations = {{1}, {}}, .sources = {{}}}, 2) ==
          "neighbours: there are not as many lists of sources as of destinations");
    for (const auto& sources : std::vector<std::vector<std::vector<rank_t>>>{
             {{}, {}}, {{}, {0, 0}}, {{}, {1}}, {{}, {7}}}) // too few, too many, another rank, no rank
        CHECK(said(graph_neighbours{.destinations = {{1}, {}}, .sources = sources}, 2, 1) ==
              "neighbours: what this rank says of its sources is not what they say of it");
    std::vector<grid_offset> many(70'000);
    CHECK(said(grid_neighbours{.extents = {65'536}, .offsets = std::move(many)}, 65'536) ==
          "neighbours: more blocks than a block_t counts");
}

TEST_CASE("neighbourhood: whatever differs has another hash") {
    const grid_neighbours one{.extents = {4, 4}, .offsets = star_offsets(2)};
    grid_neighbours turned = one, moved = one, open = one;
    turned.extents = {2, 8};
    std::swap(moved.offsets[0], moved.offsets[1]);
    open.ends[1] = true;
    for (const grid_neighbours& other : {turned, moved, open}) {
        CHECK_FALSE(neighbourhood(one) == neighbourhood(other));
        CHECK(neighbourhood(one).hash() != neighbourhood(other).hash());
    }
    const graph_neighbours first{.destinations = {{1}, {0}, {}}}, second{.destinations = {{1}, {}, {0}}};
    CHECK(neighbourhood(first).hash() != neighbourhood(second).hash());
}
