// SPDX-License-Identifier: BSL-1.0
// --neighbours: which ranks send to which in neighbour_allgather and neighbour_alltoall.
//
//   star:8x8     on a torus of 8 x 8, the 4 neighbours along the axes; star:8x8,2 those up to 2 further
//   box:4x4x4    the 26 all around; box:4x4x4,ends: the grid is no torus, beyond its ends there is nobody
//   FILE         a line for each rank that sends, as "0: 1 2"; what stands behind # is for people
#ifndef BOUGH_TOOLS_NEIGHBOURS_HPP
#define BOUGH_TOOLS_NEIGHBOURS_HPP

#include "json.hpp"
#include <bough/schedule/neighbourhood.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace cli {

struct neighbours {
    bough::neighbourhood around{};
    bough::rank_t ranks = 0; // 0: none were typed
    json written{};          // as it was typed, or the destinations of each rank: neighbours_of() reads it
};

// Throws usage_error.
neighbours parse_neighbours(const std::string& typed);

// Of what stands in a file that was written before; it names no other file. Nothing: it is not of this
// kind. Throws usage_error, which begins with `argument`, if it is wrong.
std::optional<neighbours> neighbours_of(std::string_view argument, const json& written);

} // namespace cli

#endif
