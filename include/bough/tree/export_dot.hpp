// SPDX-License-Identifier: BSL-1.0
// A tree for Graphviz. The label of an edge is its place in the send order of the parent.
#ifndef BOUGH_TREE_EXPORT_DOT_HPP
#define BOUGH_TREE_EXPORT_DOT_HPP

#include <bough/concepts/tree.hpp>
#include <bough/core/rank.hpp>

#include <string>

namespace bough::inline BOUGH_ABI {

// `out` takes text by <<.
template <class Out, Tree T>
void export_tree_dot(Out& out, const T& tree) {
    out << "digraph tree {\n  node [shape=circle];\n  " + std::to_string(tree.root()) + " [shape=doublecircle];\n";
    for (rank_t r = 0; r != tree.size(); ++r)
        for (rank_t i = 0; i != tree.child_count(r); ++i)
            out << "  " + std::to_string(r) + " -> " + std::to_string(tree.child(r, i)) +
                       " [label=" + std::to_string(i) + "];\n";
    out << std::string("}\n");
}

} // namespace bough

#endif
