// SPDX-License-Identifier: BSL-1.0
// export_dot: writes the graph of a plan for Graphviz: a box per rank with its steps, an arrow per
// message, and a thin arrow per dependence within a rank. It is for plans that are small enough to
// look at: all schedules are in memory.
//
//   export_dot(out, plan_allreduce(ring{}, {.size = 4}));          dot -Tsvg
#ifndef BOUGH_INTERCHANGE_EXPORT_DOT_HPP
#define BOUGH_INTERCHANGE_EXPORT_DOT_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/stable_sort.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/print_step.hpp>
#include <bough/schedule/schedule.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {
inline std::string dot_node(rank_t rank, std::uint32_t step) {
    return 'r' + std::to_string(rank) + '_' + std::to_string(step);
}
// One end of a message: step `node` of its rank.
struct dot_end {
    rank_t from, to;
    std::uint32_t node;
};
} // namespace detail

// Writes the graph. `out` takes text by <<.
template <class Out, Plan P>
void export_dot(Out& out, const P& plan) {
    out << std::string("digraph plan {\n"
                       "  rankdir=LR;\n"
                       "  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", fontsize=10, "
                       "color=\"#667085\", fillcolor=white];\n"
                       "  edge [color=\"#98a2b3\", arrowsize=0.6];\n");
    std::vector<detail::dot_end> sends, receives;
    for (rank_t r = 0; r != plan.size(); ++r) {
        schedule steps;
        plan.emit(r, steps);
        const dependences waits = infer_dependences(steps.steps);
        const std::string rank = std::to_string(r);
        std::string text = "  subgraph cluster_" + rank + " {\n    label=\"rank " + rank +
                           "\"; fontname=\"sans-serif\"; color=\"#d0d5dd\";\n";
        for (std::uint32_t i = 0; i != steps.size(); ++i) {
            const step& s = steps[i];
            const char* colour = s.verb == verb::send      ? "#dbeafe"
                                 : s.verb == verb::receive ? "#e0f2e9"
                                 : s.verb == verb::combine ? "#fdebc8"
                                                           : "#ececec";
            text += "    " + detail::dot_node(r, i) + " [label=\"" + std::to_string(i) + "  " + to_string(s) +
                    "\", fillcolor=\"" + colour + "\"];\n";
            if (s.verb == verb::send && !s.more) sends.push_back({r, s.peer, i});
            if (s.verb == verb::receive && !s.more) receives.push_back({s.peer, r, i});
        }
        for (std::uint32_t i = 0; i != steps.size(); ++i)
            for (const std::uint32_t b : waits.of(i))
                text += "    " + detail::dot_node(r, b) + " -> " + detail::dot_node(r, i) + ";\n";
        out << text + "  }\n";
    }
    const auto by_channel = [](const detail::dot_end& x, const detail::dot_end& y) {
        return x.from != y.from ? x.from < y.from : x.to < y.to;
    };
    bough::detail::stable_sort(sends.begin(), sends.end(), by_channel);
    bough::detail::stable_sort(receives.begin(), receives.end(), by_channel);
    for (auto s = sends.begin(), r = receives.begin(); s != sends.end() && r != receives.end();) {
        if (by_channel(*s, *r)) {
            ++s;
        } else if (by_channel(*r, *s)) {
            ++r;
        } else {
            out << "  " + detail::dot_node(s->from, s->node) + " -> " + detail::dot_node(r->to, r->node) +
                       " [color=\"#1d4ed8\", penwidth=1.4];\n";
            ++s, ++r;
        }
    }
    out << std::string("}\n");
}

} // namespace bough

#endif
