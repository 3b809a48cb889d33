// SPDX-License-Identifier: BSL-1.0
// The trees postal and arrival of the command line.
#ifndef BOUGH_TOOLS_TIMED_TREE_HPP
#define BOUGH_TOOLS_TIMED_TREE_HPP

#include "commands.hpp"
#include <bough/tree/table.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

inline constexpr const char* known_timed_trees = "postal, arrival";
bool is_timed_tree(std::string_view name);

struct timed_tree {
    bough::table tree;
    double ends_ns = 0; // when its reduction or broadcast does
};
// Throws usage_error.
timed_tree build_timed_tree(const tree_arguments&);

// `0,20us,0`, in whole ns. Throws usage_error.
std::vector<std::uint64_t> parse_arrivals(const std::string& text);

} // namespace cli

#endif
