// SPDX-License-Identifier: BSL-1.0
// A tree as a picture: SVG. The root on top, children from left to right in send order, the first
// sent first.
//
//   export_tree_svg(out, tree{binomial{}, 16}, "binomial, 16 ranks");
// Up to 128 ranks every circle has its number, and every edge its place in the send order of the
// parent, if there are several; beyond, circles are dots.
#ifndef BOUGH_TREE_EXPORT_SVG_HPP
#define BOUGH_TREE_EXPORT_SVG_HPP

#include <bough/concepts/tree.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/tree/export_text.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

struct placed_rank {
    rank_t rank = 0;
    std::size_t parent = 0; // its place in the list
    rank_t turn = 0;        // in the send order of its parent
    std::size_t depth = 0;
    std::size_t leaf = 0; // number of leaves to the left
    double x = 0;         // in leaves
};

// All ranks, parents before children, children in send order; and where they stand.
template <Tree T>
std::vector<placed_rank> place_tree(const T& tree) {
    std::vector<placed_rank> all;
    std::vector<placed_rank> open{{tree.root(), 0, 0, 0, 0, 0}};
    std::size_t leaves = 0;
    while (!open.empty()) {
        BOUGH_EXPECTS(all.size() != tree.size(), "tree: not a tree, a rank is reached twice");
        placed_rank next = open.back();
        open.pop_back();
        const rank_t children = tree.child_count(next.rank);
        next.leaf = leaves;
        if (children == 0) next.x = static_cast<double>(leaves++);
        const std::size_t here = all.size();
        all.push_back(next);
        for (rank_t i = children; i != 0; --i)
            open.push_back({tree.child(next.rank, i - 1), here, i - 1, next.depth + 1, 0, 0});
    }
    // A parent stands in the middle between its first and its last child.
    std::vector<double> low(all.size(), -1), high(all.size(), -1);
    for (std::size_t i = all.size(); i-- != 0;) {
        if (low[i] >= 0) all[i].x = (low[i] + high[i]) / 2;
        if (i == 0) break;
        const std::size_t p = all[i].parent;
        low[p] = low[p] < 0 ? all[i].x : std::min(low[p], all[i].x);
        high[p] = std::max(high[p], all[i].x);
    }
    return all;
}

} // namespace detail

// `out` takes text by <<.
template <class Out, Tree T>
void export_tree_svg(Out& out, const T& tree, std::string_view title) {
    const std::vector<detail::placed_rank> all = detail::place_tree(tree);
    double leaves = 0;
    std::size_t depth = 0;
    for (const detail::placed_rank& r : all) {
        leaves = std::max(leaves, r.x);
        depth = std::max(depth, r.depth);
    }
    const bool labels = all.size() <= 128;
    const double pitch = labels ? 36 : std::max(1.5, std::min(14.0, 1400 / (leaves + 1)));
    // Wide trees are higher, so that edges are not flat.
    const double wanted = std::max(66.0, std::min(130.0, leaves * pitch / 13));
    const double drop = std::max(labels ? 40.0 : 2.0, std::min(wanted, 900 / (static_cast<double>(depth) + 1)));
    const double radius = labels ? 13 : std::max(0.6, std::min(4.0, std::min(pitch, drop) * 0.36));
    const double left = 34, top = 72;
    const double width = std::max(left * 2 + leaves * pitch, 420.0);
    const double shift = (width - leaves * pitch) / 2; // in the middle
    const double height = top + static_cast<double>(depth) * drop + 52;
    const auto x_of = [&](const detail::placed_rank& r) { return shift + r.x * pitch; };
    const auto y_of = [&](const detail::placed_rank& r) { return top + static_cast<double>(r.depth) * drop; };

    std::string text = detail::svg_head(width, height);
    text += detail::svg_text(20, 28, title, "font-size=\"16\" font-weight=\"600\" fill=\"#1d2939\"");
    text += detail::svg_text(
        20, height - 14,
        std::to_string(all.size()) + (all.size() == 1 ? " rank" : " ranks") + ", depth " + std::to_string(depth) +
            (labels ? "; numbers on edges: order of sends" : "; children from left to right: order of sends"),
        "font-size=\"11\" fill=\"#667085\"");
    text += "<g stroke=\"#98a2b3\" stroke-width=\"" + detail::short_number(labels ? 1.4 : std::min(1.0, radius / 2)) +
            "\">\n";
    for (std::size_t i = 1; i < all.size(); ++i) {
        const detail::placed_rank& p = all[all[i].parent];
        text += "<line x1=\"" + detail::short_number(x_of(p)) + "\" y1=\"" + detail::short_number(y_of(p)) +
                "\" x2=\"" + detail::short_number(x_of(all[i])) + "\" y2=\"" + detail::short_number(y_of(all[i])) +
                "\"/>\n";
    }
    text += "</g>\n";
    if (labels)
        for (std::size_t i = 1; i < all.size(); ++i) {
            const detail::placed_rank& p = all[all[i].parent];
            if (tree.child_count(p.rank) < 2) continue;
            // Near the child, where edges are apart.
            const double at = drop > 60 ? 1 - 28 / drop : 0.6, x = x_of(p) + (x_of(all[i]) - x_of(p)) * at,
                         y = y_of(p) + drop * at;
            text += "<circle cx=\"" + detail::short_number(x) + "\" cy=\"" + detail::short_number(y) +
                    "\" r=\"6.5\" fill=\"white\"/>\n" +
                    detail::svg_text(x, y + 3.3, std::to_string(all[i].turn + 1),
                                     "font-size=\"9.5\" fill=\"#667085\" text-anchor=\"middle\"");
        }
    for (std::size_t i = 0; i != all.size(); ++i) {
        const bool root = i == 0;
        text += "<circle cx=\"" + detail::short_number(x_of(all[i])) + "\" cy=\"" + detail::short_number(y_of(all[i])) +
                "\" r=\"" + detail::short_number(root && !labels ? radius + 2 : radius) + "\" " +
                (root     ? "fill=\"#1f4e8c\"/>\n"
                 : labels ? "fill=\"#e8f0fa\" stroke=\"#3b6fb6\" stroke-width=\"1.3\"/>\n"
                          : "fill=\"#3b6fb6\"/>\n");
        if (labels)
            text += detail::svg_text(x_of(all[i]), y_of(all[i]) + 4, std::to_string(all[i].rank),
                                     std::string("font-size=\"11.5\" text-anchor=\"middle\" fill=\"") +
                                         (root ? "white\"" : "#1d2939\""));
        if (text.size() > 65536) out << text, text.clear();
    }
    out << text + "</svg>\n";
}

} // namespace bough

#endif
