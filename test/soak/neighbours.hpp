// SPDX-License-Identifier: BSL-1.0
// A neighbourhood of the soak, drawn from a seed: a grid or a graph, and what must arrive where, by another
// way than the library's.
#ifndef BOUGH_TEST_SOAK_NEIGHBOURS_HPP
#define BOUGH_TEST_SOAK_NEIGHBOURS_HPP

#include "soak/draw.hpp"
#include <bough/core/rank.hpp>
#include <bough/schedule/neighbourhood.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace soak {

class neighbours {
public:
    // A place of a rank. no_rank: nobody's.
    struct place {
        bough::rank_t rank = bough::no_rank;
        std::size_t number = 0;
    };

    neighbours(std::uint64_t seed, bough::rank_t size) : sources_(size), sends_(size, 0) {
        dice d(seed);
        is_grid_ = d.once_in(2);
        is_grid_ ? draw_grid(d, size) : draw_graph(d, size);
    }

    const bough::neighbourhood& around() const { return around_; }
    bool is_grid() const { return is_grid_; }
    // How many places a rank sends from, and from which place of which rank comes what arrives in each of
    // its own.
    std::size_t sends(bough::rank_t r) const { return sends_[r]; }
    const std::vector<place>& sources(bough::rank_t r) const { return sources_[r]; }

private:
    // One or two dimensions, each a ring or with ends, and any offsets: also far ones, none, and one twice.
    void draw_grid(dice& d, bough::rank_t size) {
        const bough::rank_t rows = size % 3 == 0 ? 3 : size % 2 == 0 ? 2 : 1;
        const bough::rank_t extents[] = {size / rows, rows};
        bough::grid_neighbours grid{.extents = {extents[0], extents[1]}};
        for (std::size_t i = 0; i != 2; ++i) grid.ends[i] = d.once_in(2);
        for (std::uint64_t left = d.roll(7); left != 0; --left) {
            const auto by = [&d] { return static_cast<std::int32_t>(d.roll(5)) - 2; };
            const std::int32_t x = by(), y = by();
            grid.offsets.push_back({x, y});
        }
        for (bough::rank_t r = 0; r != size; ++r)
            for (std::size_t k = 0; k != grid.offsets.size(); ++k) {
                const std::int64_t at[] = {r % extents[0], r / extents[0]};
                std::int64_t from[2];
                bool is_there = true;
                for (std::size_t i = 0; i != 2; ++i) {
                    const auto extent = static_cast<std::int64_t>(extents[i]);
                    from[i] = at[i] - grid.offsets[k].by[i];
                    is_there = is_there && (!grid.ends[i] || (from[i] >= 0 && from[i] < extent));
                    from[i] = (from[i] + 2 * extent) % extent;
                }
                const auto source = static_cast<bough::rank_t>(from[1] * extents[0] + from[0]);
                sources_[r].push_back({is_there ? source : bough::no_rank, k});
            }
        std::fill(sends_.begin(), sends_.end(), grid.offsets.size());
        around_ = grid;
    }
    // Any ranks, also the rank itself, one twice, and none. Sources are listed from the highest rank on, or
    // not at all: then they come from the lowest on.
    void draw_graph(dice& d, bough::rank_t size) {
        bough::graph_neighbours graph;
        for (bough::rank_t r = 0; r != size; ++r) {
            graph.destinations.emplace_back();
            for (std::uint64_t left = d.roll(5); left != 0; --left)
                graph.destinations[r].push_back(static_cast<bough::rank_t>(d.roll(size)));
            sends_[r] = graph.destinations[r].size();
        }
        const bool are_listed = d.once_in(2);
        for (bough::rank_t i = 0; i != size; ++i) {
            const bough::rank_t r = are_listed ? size - 1 - i : i;
            for (std::size_t k = 0; k != sends_[r]; ++k) sources_[graph.destinations[r][k]].push_back({r, k});
        }
        for (bough::rank_t r = 0; are_listed && r != size; ++r) {
            graph.sources.emplace_back();
            for (const place& from : sources_[r]) graph.sources[r].push_back(from.rank);
        }
        around_ = graph;
    }

    bool is_grid_ = false;
    bough::neighbourhood around_{};
    std::vector<std::vector<place>> sources_;
    std::vector<std::size_t> sends_;
};

} // namespace soak

#endif
