// SPDX-License-Identifier: BSL-1.0
// bough tree: draws a tree.
#include "catalogue.hpp"
#include "commands.hpp"
#include "costs.hpp"
#include "parse.hpp"
#include "timed_tree.hpp"
#include "tree_json.hpp"
#include <bough/tree/export_dot.hpp>
#include <bough/tree/export_svg.hpp>
#include <bough/tree/in_order.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/tree.hpp>

#include <iostream>
#include <utility>

namespace cli {

namespace {

constexpr bough::rank_t most_ranks = 1u << 20; // as text, about ten megabytes

// A shape is what it is, whatever messages cost.
void refuse_costs(const cost_arguments& costs, const std::string& shape) {
    for (const auto& [argument, text] : {std::pair{"--costs", &costs.costs}, std::pair{"--receive", &costs.receive},
                                         std::pair{"--latency", &costs.latency}, std::pair{"--cluster", &costs.file},
                                         std::pair{"--members", &costs.members}})
        if (!text->empty())
            throw usage_error(argument, "does not change " + shape +
                                            ", a shape; it is for trees made of costs. 'bough compare' prices the "
                                            "binomial tree beside these");
}

void print_tree(const bough::Tree auto& tree, const std::string& format, const std::string& name) {
    if (format == "json")
        print(std::cout, tree_json(name, tree, [](bough::rank_t r) { return r; }));
    else if (format == "dot")
        bough::export_tree_dot(std::cout, tree);
    else if (format == "svg")
        bough::export_tree_svg(std::cout, tree,
                               name + " of " + std::to_string(tree.size()) + ", root " + std::to_string(tree.root()));
    else
        std::cout << bough::outline(tree) << '\n';
}

} // namespace

int tree(const tree_arguments& typed) {
    if (is_cost_tree(typed.shape)) return cost_tree_command(typed);
    if (is_timed_tree(typed.shape)) {
        const timed_tree made = build_timed_tree(typed);
        if (typed.format == "outline")
            std::cout << typed.shape << " over " << made.tree.size() << " ranks, root " << made.tree.root()
                      << ": ends at " << us_text(made.ends_ns) << " us\n";
        print_tree(made.tree, typed.format, typed.shape);
        return 0;
    }
    const auto shape = find_shape(typed.shape, parse_degree(typed.degree));
    if (!shape)
        throw usage_error("SHAPE", "there is no '" + typed.shape + "'; known are " + known_shapes() + ", " +
                                       known_cost_trees + ", " + known_timed_trees);
    if (!typed.gap.empty() || !typed.arrivals.empty())
        throw usage_error(typed.gap.empty() ? "--arrivals" : "--gap", "goes with the trees postal and arrival");
    refuse_costs(typed.costs, typed.shape);
    if (typed.ranks.empty()) throw usage_error("--ranks is required");
    const auto ranks = static_cast<bough::rank_t>(parse_number("--ranks", typed.ranks, 1, most_ranks));
    const auto root =
        static_cast<bough::rank_t>(parse_number("--root", typed.root.empty() ? "0" : typed.root, 0, ranks - 1));
    if (typed.ordered && !shape->rank_ordered())
        throw usage_error("--ordered",
                          shape->name() + " cannot keep rank order: its subtrees are not intervals of ranks");
    if (typed.ordered)
        print_tree(bough::in_order(*shape, ranks, root), typed.format, "in_order{" + shape->name() + "}");
    else
        print_tree(bough::tree(*shape, ranks, root), typed.format, shape->name());
    return 0;
}

} // namespace cli
