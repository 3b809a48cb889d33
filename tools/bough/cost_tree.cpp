// SPDX-License-Identifier: BSL-1.0
// bough tree spoc|fnf|search|optimal|interval: trees made of what sending costs each rank, with their times.
#include "cluster.hpp"
#include "commands.hpp"
#include "parse.hpp"
#include "tree_json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>

namespace cli {

namespace {

using bough::rank_t;

std::string percent_text(double fraction) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g %%", 100 * fraction);
    return text;
}

// When each place has the message, and which send of its parent that was.
struct delivery_times {
    std::vector<double> ready;
    std::vector<rank_t> turn;
    std::vector<rank_t> order; // parents before children
    double last = 0;

    delivery_times(const bough::table& tree, const bough::tree_costs<double>& costs)
        : ready(tree.size(), 0), turn(tree.size(), 0), order{tree.root()} {
        for (std::size_t i = 0; i != order.size(); ++i) {
            const rank_t parent = order[i];
            for (rank_t c = 0; c != tree.child_count(parent); ++c) {
                const rank_t child = tree.child(parent, c);
                ready[child] = ready[parent] + (c + 1) * costs.send[parent] + costs.latency + costs.receive[child];
                turn[child] = c + 1;
                last = std::max(last, ready[child]);
                order.push_back(child);
            }
        }
    }
};

// From blue, the fastest, to orange, the slowest: by the logarithm of the cost.
class speed_colour {
public:
    explicit speed_colour(const std::vector<double>& costs) {
        least_ = *std::min_element(costs.begin(), costs.end());
        most_ = *std::max_element(costs.begin(), costs.end());
    }
    double least() const { return least_; }
    double most() const { return most_; }
    std::string operator()(double cost) const {
        constexpr std::array<int, 3> fast{0x6b, 0xae, 0xd6}, slow{0xfd, 0xae, 0x61};
        const double floor = std::max(least_, most_ * 1e-3);
        const double share = most_ > floor ? std::log(std::max(cost, floor) / floor) / std::log(most_ / floor) : 0;
        char text[8];
        const auto mixed = [&](std::size_t i) {
            return static_cast<unsigned>(std::lround(fast[i] + share * (slow[i] - fast[i])));
        };
        std::snprintf(text, sizeof text, "#%02x%02x%02x", mixed(0), mixed(1), mixed(2));
        return text;
    }

private:
    double least_ = 0, most_ = 0;
};

json document_of(const priced_ranks& ranks, const cost_tree& made, const delivery_times& times) {
    json value = tree_json(made.name, made.tree, [&](rank_t place) { return ranks.names[place]; });
    value["members"] = ranks.names;
    value["send"] = ranks.send;
    value["ready"] = times.ready;
    value["time"] = made.known.found;
    value["lower_bound"] = made.known.lower_bound;
    value["proven_optimal"] = made.known.proven();
    value["gap"] = made.known.gap();
    value["outline"] = outline_of(made.tree, ranks.names);
    return value;
}

// Graphviz. The label of an edge: which send of the parent it is, and when the child has the message.
void print_dot(std::ostream& out, const priced_ranks& ranks, const cost_tree& made, const delivery_times& times) {
    const speed_colour colour(ranks.send);
    out << "digraph tree {\n  label=\"" << made.name << ": " << ranks.time_text(made.known.found)
        << "\";\n  node [shape=circle style=filled];\n";
    for (const rank_t p : times.order)
        out << "  " << ranks.names[p] << " [fillcolor=\"" << colour(ranks.send[p]) << '"'
            << (p == made.tree.root() ? " shape=doublecircle" : "") << "];\n";
    for (const rank_t p : times.order)
        if (p != made.tree.root())
            out << "  " << ranks.names[made.tree.parent(p)] << " -> " << ranks.names[p] << " [label=\"" << times.turn[p]
                << ": " << ranks.time_text(times.ready[p]) << "\"];\n";
    out << "}\n";
}

// Time runs down. A rank has a column; it begins where it has the message, and ends with its last send. Who is served
// later stands nearer, so that no line crosses another.
void print_svg(std::ostream& out, const priced_ranks& ranks, const cost_tree& made, const delivery_times& times) {
    const bough::table& tree = made.tree;
    const speed_colour colour(ranks.send);
    constexpr double column = 58, left = 110, top = 84;

    std::vector<double> x(tree.size(), 0);
    double next = 0;
    std::vector<rank_t> open{tree.root()};
    while (!open.empty()) {
        const rank_t at = open.back();
        open.pop_back();
        x[at] = next++;
        for (const rank_t child : tree.children(at)) open.push_back(child);
    }
    std::vector<double> moments(times.ready);
    std::sort(moments.begin(), moments.end());
    moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
    const double height = 64 * std::clamp(static_cast<double>(moments.size()), 3.0, 14.0);
    const auto y_of = [&](double time) { return top + (times.last > 0 ? time / times.last * height : 0); };
    const auto x_of = [&](rank_t p) { return left + column * (x[p] + 0.5); };
    const double width = left + column * std::max(next, 6.0) + 30;
    const double bottom = top + height + 40;

    char line[512];
    const auto put = [&](const char* format, auto... values) {
        std::snprintf(line, sizeof line, format, values...);
        out << line;
    };
    put("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
        "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
        width, bottom, width, bottom);
    put("<text x=\"16\" y=\"26\" font-size=\"17\">%s, %u ranks: %s</text>\n", made.name.c_str(), tree.size(),
        ranks.time_text(made.known.found).c_str());
    put("<text x=\"16\" y=\"47\" fill=\"#555\">%s %s%s</text>\n", "no tree takes less than",
        ranks.time_text(made.known.lower_bound).c_str(),
        made.known.proven() ? "" : (" (gap " + percent_text(made.known.gap()) + ")").c_str());
    double key = width - 190;
    for (const double cost : {colour.least(), colour.most()}) {
        put("<circle cx=\"%.0f\" cy=\"22\" r=\"7\" fill=\"%s\" stroke=\"#333\"/><text x=\"%.0f\" y=\"27\">%s</text>\n",
            key, colour(cost).c_str(), key + 12, ranks.time_text(cost).c_str());
        key += 95;
    }
    // Marks of time, as many as there is room for.
    double above = -100;
    for (const double moment : moments) {
        if (y_of(moment) - above < 18) continue;
        above = y_of(moment);
        put("<line x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\" stroke=\"#ddd\"/>"
            "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\" fill=\"#555\">%s</text>\n",
            left - 14, above, width - 14, above, left - 20, above + 4, ranks.time_text(moment).c_str());
    }
    for (const rank_t p : times.order) {
        const rank_t children = tree.child_count(p);
        if (children != 0)
            put("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"5\"/>\n", x_of(p),
                y_of(times.ready[p]), x_of(p), y_of(times.ready[p] + children * ranks.send[p]),
                colour(ranks.send[p]).c_str());
        if (p == tree.root()) continue;
        const rank_t parent = tree.parent(p);
        put("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#666\" stroke-width=\"1.5\"/>\n",
            x_of(parent), y_of(times.ready[parent] + times.turn[p] * ranks.send[parent]), x_of(p),
            y_of(times.ready[p]));
    }
    for (const rank_t p : times.order)
        if (p != tree.root())
            put("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"11\" stroke=\"white\" "
                "stroke-width=\"3\" "
                "paint-order=\"stroke\">%u: %s</text>\n",
                x_of(p), y_of(times.ready[p]) - 20, times.turn[p], ranks.time_text(times.ready[p]).c_str());
    for (const rank_t p : times.order)
        put("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"15\" fill=\"%s\" stroke=\"#333\" stroke-width=\"%s\"/>"
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%u</text>\n",
            x_of(p), y_of(times.ready[p]), colour(ranks.send[p]).c_str(), p == tree.root() ? "3" : "1.2", x_of(p),
            y_of(times.ready[p]) + 4.5, ranks.names[p]);
    out << "</svg>\n";
}

} // namespace

int cost_tree_command(const tree_arguments& typed) {
    if (typed.ordered) throw usage_error("--ordered", "is for shapes; the tree 'interval' keeps rank order");
    if (!typed.degree.empty()) throw usage_error("--degree", typed.shape + " has no degree to choose");
    const cluster given = find_cluster(typed.costs);
    if (!typed.ranks.empty() && parse_ranks(typed.ranks) != given.ranks)
        throw usage_error("--ranks", "there are costs of " + std::to_string(given.ranks) + " ranks");
    const auto root =
        static_cast<rank_t>(parse_number("--root", typed.root.empty() ? "0" : typed.root, 0, given.ranks - 1));
    const std::uint64_t bytes = parse_size("--bytes", typed.costs.bytes);
    std::vector<rank_t> members;
    if (!typed.costs.members.empty()) members = parse_rank_list("--members", typed.costs.members, given.ranks);
    const priced_ranks ranks = price(given, bytes, root, members);
    const cost_tree made = build_cost_tree(typed.shape, ranks.broadcast(), ranks.root);
    const delivery_times times(made.tree, ranks.broadcast());
    if (typed.format == "json")
        print(std::cout, document_of(ranks, made, times));
    else if (typed.format == "dot")
        print_dot(std::cout, ranks, made, times);
    else if (typed.format == "svg")
        print_svg(std::cout, ranks, made, times);
    else
        std::cout << made.name << " over " << made.tree.size() << " ranks, root " << root << ": "
                  << ranks.time_text(made.known.found) << ", "
                  << (made.known.proven()
                          ? "optimal"
                          : "at most " + percent_text(made.known.gap()) + " above the optimum, which is at least " +
                                ranks.time_text(made.known.lower_bound))
                  << '\n'
                  << outline_of(made.tree, ranks.names) << '\n';
    return 0;
}

} // namespace cli
