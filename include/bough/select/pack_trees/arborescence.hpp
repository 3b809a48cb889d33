// SPDX-License-Identifier: BSL-1.0
// The cheapest tree that spans a directed graph from a root: the minimum arborescence.
#ifndef BOUGH_SELECT_PACK_TREES_ARBORESCENCE_HPP
#define BOUGH_SELECT_PACK_TREES_ARBORESCENCE_HPP

#include <bough/core/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// What each arc of a complete directed graph costs.
template <int = 0>
class arc_costs {
public:
    explicit arc_costs(std::uint32_t vertices) : vertices_(vertices), cost_(std::size_t{vertices} * vertices, 0.0) {}
    std::uint32_t vertices() const noexcept { return vertices_; }
    double& at(std::uint32_t from, std::uint32_t to) noexcept { return cost_[std::size_t{from} * vertices_ + to]; }
    double at(std::uint32_t from, std::uint32_t to) const noexcept { return cost_[std::size_t{from} * vertices_ + to]; }

private:
    std::uint32_t vertices_;
    std::vector<double> cost_;
};

// The parent of each vertex, no_rank for the root. Chu and Liu 1965, Edmonds 1967. Ties go to the lowest
// numbers. Time: O(n^3) for n vertices.
template <int = 0>
std::vector<std::uint32_t> cheapest_arborescence(const arc_costs<>& costs, std::uint32_t root) {
    const std::uint32_t n = costs.vertices();
    std::vector<std::uint32_t> parent(n, std::uint32_t{no_rank});
    for (std::uint32_t v = 0; v != n; ++v)
        for (std::uint32_t u = 0; v != root && u != n; ++u)
            if (u != v && (parent[v] == no_rank || costs.at(u, v) < costs.at(parent[v], v))) parent[v] = u;
    // A cycle: what is met twice on the way up from some vertex.
    std::vector<std::uint32_t> met(n, std::uint32_t{no_rank});
    std::uint32_t on_cycle = no_rank;
    for (std::uint32_t start = 0; start != n && on_cycle == no_rank; ++start) {
        std::uint32_t v = start;
        for (; v != no_rank && met[v] == no_rank; v = parent[v]) met[v] = start;
        if (v != no_rank && met[v] == start) on_cycle = v;
    }
    if (on_cycle == no_rank) return parent;
    // The cycle becomes vertex 0 of a smaller graph.
    std::vector<std::uint32_t> number(n, std::uint32_t{no_rank}), name(1, std::uint32_t{no_rank});
    std::uint32_t v = on_cycle;
    do number[v] = 0, v = parent[v];
    while (v != on_cycle);
    for (std::uint32_t u = 0; u != n; ++u)
        if (number[u] == no_rank) number[u] = static_cast<std::uint32_t>(name.size()), name.push_back(u);
    arc_costs<> smaller(static_cast<std::uint32_t>(name.size()));
    std::vector<std::uint32_t> into(name.size(), std::uint32_t{no_rank}); // where an arc from there enters the cycle
    std::vector<std::uint32_t> from(name.size(), std::uint32_t{no_rank}); // where the arc to there leaves it
    const auto entering = [&](std::uint32_t u, std::uint32_t w) { return costs.at(u, w) - costs.at(parent[w], w); };
    for (std::uint32_t a = 1; a != name.size(); ++a) {
        for (std::uint32_t b = 1; b != name.size(); ++b) smaller.at(a, b) = costs.at(name[a], name[b]);
        for (std::uint32_t w = 0; w != n; ++w) {
            if (number[w] != 0) continue;
            if (into[a] == no_rank || entering(name[a], w) < entering(name[a], into[a])) into[a] = w;
            if (from[a] == no_rank || costs.at(w, name[a]) < costs.at(from[a], name[a])) from[a] = w;
        }
        smaller.at(a, 0) = entering(name[a], into[a]);
        smaller.at(0, a) = costs.at(from[a], name[a]);
    }
    const std::vector<std::uint32_t> found = cheapest_arborescence(smaller, number[root]);
    for (std::uint32_t a = 1; a != name.size(); ++a)
        if (found[a] != no_rank) parent[name[a]] = found[a] == 0 ? from[a] : name[found[a]];
    parent[into[found[0]]] = name[found[0]]; // the root is never on a cycle
    return parent;
}

} // namespace bough::detail

#endif
