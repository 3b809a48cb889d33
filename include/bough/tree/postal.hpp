// SPDX-License-Identifier: BSL-1.0
// postal_tree: the best tree for one message per edge, where a message is under way for L and keeps
// one end busy for g.
//
//   broadcast   a rank that has the value sends it to one child after the other, g apart; it is there L
//               after a send
//   reduce      the reverse: a value is there L after it was sent; the parent takes in one at a time,
//               for g = r + c
// A rank reached at time t reaches its children at t + g + L, t + 2g + L ... The next rank always
// becomes the child that can be reached earliest. By time t, N(t) = N(t - g) + N(t - g - L) ranks
// are reached: they double for L = 0, and grow as the Fibonacci numbers for L = g. No tree is
// faster; in particular no f-nomial tree is, and most are slower.
//
//   postal_tree(8, 2.0, 1.0)       L = 2, g = 1; in receive order    0(1 2 3 4 5(6 7))
//   postal_ns(8, 2.0, 1.0)         the time of its last rank         7
// With root 0, ranks are numbered so that a rank's own value and then its children in receive order
// are in rank order; every subtree is an interval that begins at its root. Another root relabels
// the ranks cyclically.
//
// Time O(p log p), memory O(p). Pre: size >= 1, L and g not negative and not both 0.
// Sources: Bar-Noy and Kipnis, Designing Broadcasting Algorithms in the Postal Model for
// Message-Passing Systems, SPAA 1992; Karp, Sahay, Santos, Schauser, Optimal Broadcast and
// Summation in the LogP Model, SPAA 1993 (reductions in rank order too).
#ifndef BOUGH_TREE_POSTAL_HPP
#define BOUGH_TREE_POSTAL_HPP

#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/tree/table.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

// Attaches ranks one by one. Calls attach(parent, at_ns) for the nodes 1, 2 ... in the order of their time.
template <class Attach>
constexpr void grow_postal(rank_t size, double latency_ns, double gap_ns, Attach&& attach) {
    BOUGH_EXPECTS(size >= 1, "size: a tree needs at least one rank");
    BOUGH_EXPECTS(latency_ns >= 0 && gap_ns >= 0 && latency_ns + gap_ns > 0,
                  "latency, gap: not negative, and not both 0");
    struct free_slot {
        double at_ns; // when the child would be reached
        rank_t parent;
        double sent_ns; // when its parent is free again
    };
    const auto later = [](const free_slot& a, const free_slot& b) {
        return a.at_ns != b.at_ns ? a.at_ns > b.at_ns : a.parent > b.parent;
    };
    std::vector<free_slot> open;
    const auto open_slot = [&](rank_t parent, double from_ns) {
        open.push_back({from_ns + gap_ns + latency_ns, parent, from_ns + gap_ns});
        std::push_heap(open.begin(), open.end(), later);
    };
    open_slot(0, 0);
    for (rank_t next = 1; next < size; ++next) {
        std::pop_heap(open.begin(), open.end(), later);
        const free_slot s = open.back();
        open.pop_back();
        attach(s.parent, s.at_ns);
        open_slot(s.parent, s.sent_ns);
        open_slot(next, s.at_ns);
    }
}

} // namespace detail

template <int = 0>
constexpr double postal_ns(rank_t size, double latency_ns, double gap_ns) {
    double last_ns = 0;
    detail::grow_postal(size, latency_ns, gap_ns, [&](rank_t, double at_ns) { last_ns = at_ns; });
    return last_ns;
}

template <int = 0>
constexpr table postal_tree(rank_t size, double latency_ns, double gap_ns, rank_t root = 0) {
    BOUGH_EXPECTS(root < size, "root: the root of a tree must be one of its ranks, so below size");
    std::vector<rank_t> parent{no_rank};
    detail::grow_postal(size, latency_ns, gap_ns, [&](rank_t to, double) { parent.push_back(to); });

    // Children have higher numbers than their parents, and among siblings the later one is received
    // first.
    std::vector<rank_t> ranks_below, given, rank;
    ranks_below.resize(size, 1);
    for (rank_t v = size; --v != 0;) ranks_below[parent[v]] += ranks_below[v];
    given.resize(size, 0); // of the interval of v, to its last children
    rank.resize(size, 0);
    std::vector<tree_edge> edges;
    for (rank_t v = 1; v < size; ++v) {
        const rank_t p = parent[v];
        given[p] += ranks_below[v];
        rank[v] = rank[p] + ranks_below[p] - given[p];
        edges.push_back({from_virtual(rank[p], root, size), from_virtual(rank[v], root, size)});
    }
    return table(size, root, edges);
}

} // namespace bough

#endif
