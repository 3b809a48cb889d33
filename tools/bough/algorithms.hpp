// SPDX-License-Identifier: BSL-1.0
// Which algorithms have a name on the command line. The only file that includes them all.
#ifndef BOUGH_TOOLS_ALGORITHMS_HPP
#define BOUGH_TOOLS_ALGORITHMS_HPP

#include "catalogue.hpp"
#include <bough/schedule/grid_extents.hpp>

namespace cli {

struct named_algorithm {
    std::string_view name;
    std::string_view cpp; // as one writes it in C++ after bough::, without a degree
    bough::any_algorithm algorithm;
    // With --degree (its ports, arity, or blocks per message); null if it takes none. Throws usage_error.
    bough::any_algorithm (*of_degree)(bough::rank_t) = nullptr;
    // With --extents; --degree is 0 if it is not given. Null if it takes none.
    bough::any_algorithm (*of_grid)(const bough::grid_extents&, bough::rank_t degree) = nullptr;
    std::string_view degree_in_cpp = "ports"; // the member that --degree sets
};

// Of a collective, those that are no trees.
std::span<const named_algorithm> named_algorithms(collective);

// Does the collective have an algorithm over any tree?
bool has_trees(collective);
// That algorithm. Pre: has_trees(c); if ordered, the shape is rank_ordered().
bough::any_algorithm tree_algorithm(collective c, const any_shape&, bool ordered);

} // namespace cli

#endif
