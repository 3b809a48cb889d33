// SPDX-License-Identifier: BSL-1.0
// The JSON of a tree, whatever made it: doc/tools.md has its members.
#ifndef BOUGH_TOOLS_TREE_JSON_HPP
#define BOUGH_TOOLS_TREE_JSON_HPP

#include "json.hpp"
#include <bough/concepts/tree.hpp>

#include <string>
#include <utility>

namespace cli {

// rank_of(place): the rank that stands at a place of the tree.
json tree_json(const std::string& name, const bough::Tree auto& tree, const auto& rank_of) {
    json value{{"tree", name}, {"size", tree.size()}, {"root", rank_of(tree.root())}};
    json parents = json::array();
    json children = json::array();
    for (bough::rank_t p = 0; p != tree.size(); ++p) {
        parents.push_back(rank_of(p == tree.root() ? p : tree.parent(p)));
        children.push_back(json::array());
        for (bough::rank_t i = 0; i != tree.child_count(p); ++i) children.back().push_back(rank_of(tree.child(p, i)));
    }
    value["parent"] = std::move(parents);
    value["children"] = std::move(children);
    return value;
}

} // namespace cli

#endif
