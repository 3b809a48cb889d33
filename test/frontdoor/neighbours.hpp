// SPDX-License-Identifier: BSL-1.0
// What the tests of neighbourhood collectives share: neighbourhoods of many kinds, and groups to run in.
#ifndef BOUGH_TEST_FRONTDOOR_NEIGHBOURS_HPP
#define BOUGH_TEST_FRONTDOOR_NEIGHBOURS_HPP

#include "support/catch.hpp"
#include "support/guarded.hpp"
#include "support/sample.hpp"
#include <bough/communicator.hpp>
#include <bough/schedule/neighbourhood.hpp>
#include <bough/transport/in_process.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace test {

struct sized_neighbourhood {
    bough::neighbourhood around;
    bough::rank_t size;
};

inline std::vector<sized_neighbourhood> grids() {
    using namespace bough;
    return {{grid_neighbours{.extents = {1}, .offsets = {{0}, {1}}}, 1},
            {grid_neighbours{.extents = {1}, .offsets = box_offsets(1), .ends = {true}}, 1},
            {grid_neighbours{.extents = {2}, .offsets = star_offsets(1, 2)}, 2}, // twice the same, and itself
            {grid_neighbours{.extents = {5}, .offsets = {{1}, {3}, {-1}, {1}}}, 5},
            {grid_neighbours{.extents = {3, 3}, .offsets = box_offsets(2)}, 9},
            {grid_neighbours{.extents = {2, 4}, .offsets = box_offsets(2), .ends = {true, false}}, 8},
            {grid_neighbours{.extents = {3, 4}, .offsets = star_offsets(2, 2), .ends = {true, true}}, 12},
            {grid_neighbours{.extents = {2, 2, 3}, .offsets = box_offsets(3)}, 12},
            {grid_neighbours{.extents = {4}, .offsets = {}}, 4}};
}
inline std::vector<sized_neighbourhood> graphs() {
    std::vector<sized_neighbourhood> made;
    for (const bough::rank_t size : {1u, 2u, 3u, 6u, 11u}) {
        bough::graph_neighbours graph;
        for (bough::rank_t r = 0; r != size; ++r) {
            auto& to = graph.destinations.emplace_back();
            for (std::uint64_t k = 0; k != bough_test::mixed(size * 100 + r) % 5; ++k)
                to.push_back(static_cast<bough::rank_t>(bough_test::mixed(size * 1000 + r * 10 + k) % size));
        }
        made.push_back({bough::neighbourhood(graph), size});
    }
    made.push_back({bough::neighbourhood(bough::graph_neighbours{.destinations = {{1, 2, 1}, {0}, {1}},
                                                                 .sources = {{1}, {2, 0, 0}, {0}}}),
                    3});
    return made;
}

// Calls f(comm, around, faults) on every rank, for each neighbourhood.
template <class F>
void in_neighbourhoods(const std::vector<sized_neighbourhood>& all, F&& f) {
    for (std::size_t i = 0; i != all.size(); ++i) {
        faults wrong;
        bough::in_process{all[i].size}.run([&](auto transport) {
            bough::communicator comm{std::move(transport)};
            f(comm, all[i].around, wrong);
        });
        INFO("neighbourhood " << i << ", p " << all[i].size);
        CHECK(wrong.text() == "");
    }
}

} // namespace test

#endif
