// SPDX-License-Identifier: BSL-1.0
// What an algorithm is called in a map of who wins where.
#ifndef BOUGH_TOOLS_SHORT_NAME_HPP
#define BOUGH_TOOLS_SHORT_NAME_HPP

#include "catalogue.hpp"

#include <string>

namespace cli {

// tree_allreduce{fnomial{.degree = 4}} is shown as fnomial{.degree = 4}, and as flat where that is what it
// is; what a segmented one is cut into is not shown.
std::string short_name(const bough::any_algorithm&, bough::rank_t ranks);

} // namespace cli

#endif
