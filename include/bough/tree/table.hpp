// SPDX-License-Identifier: BSL-1.0
// table: an explicit tree, for builders that compute one and for files that bring one.
//
// Children are stored in send order. Whatever it is built from, reading a table is safe; check()
// says whether it is a tree, and if not, what is wrong (status::argument) and with which rank
// (status::peer). Check what came from outside.
//
//   table{tree{fnomial{.degree = 3}, 9}}                       a copy of any Tree
//   table{size, root, edges}                                   child by child: each parent serves in the order of edges
//   table::from_parents(parents)                               the parent of each rank, no_rank for the root;
//   table::from_parents(parents, order)                        each parent serves its children in the order of `order`
#ifndef BOUGH_TREE_TABLE_HPP
#define BOUGH_TREE_TABLE_HPP

#include <bough/concepts/tree.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace bough::inline BOUGH_ABI {

// One edge of a tree.
struct tree_edge {
    rank_t parent = no_rank;
    rank_t child = no_rank;
    friend constexpr bool operator==(const tree_edge&, const tree_edge&) = default;
};

class table {
public:
    template <int = 0>
    constexpr table(rank_t size, rank_t root, std::span<const tree_edge> edges) {
        build(size, root, edges.data(), edges.size());
    }

    template <class T>
    requires(!std::same_as<T, table> && Tree<T>) constexpr explicit table(const T& tree) {
        std::vector<tree_edge> edges;
        edges.reserve(tree.size());
        for (rank_t r = 0; r != tree.size(); ++r) {
            const rank_t children = tree.child_count(r);
            for (rank_t i = 0; i != children; ++i) edges.push_back({r, tree.child(r, i)});
        }
        build(tree.size(), tree.root(), edges.data(), edges.size());
    }

    // Without an order, ascending. The root is the first rank without a parent.
    template <int = 0>
    static constexpr table from_parents(std::span<const rank_t> parents, std::span<const rank_t> order = {}) {
        const rank_t size = static_cast<rank_t>(parents.size());
        rank_t root = 0;
        while (root != size && parents[root] != no_rank) ++root;
        std::vector<tree_edge> edges;
        edges.reserve(size);
        for (rank_t i = 0; i != (order.empty() ? size : static_cast<rank_t>(order.size())); ++i) {
            const rank_t child = order.empty() ? i : order[i];
            const rank_t parent = child < size ? parents[child] : no_rank;
            if (child >= size || parent != no_rank) edges.push_back({parent, child});
        }
        table made;
        made.build(size, root, edges.data(), edges.size());
        return made;
    }

    constexpr rank_t size() const noexcept { return static_cast<rank_t>(parent_.size()); }
    constexpr rank_t root() const noexcept { return root_; }

    // Pre, here and below: r < size(), i < child_count(r).
    constexpr rank_t parent(rank_t r) const noexcept { return parent_[r]; }
    constexpr rank_t child_count(rank_t r) const noexcept { return first_[r + 1] - first_[r]; }
    // The i-th child in send order.
    constexpr rank_t child(rank_t r, rank_t i) const noexcept { return child_[first_[r] + i]; }
    // All children of r, in send order.
    constexpr std::span<const rank_t> children(rank_t r) const noexcept {
        return std::span<const rank_t>(child_).subspan(first_[r], child_count(r));
    }

    // ok, or invalid_argument: is it a tree that spans ranks 0 .. size-1?
    constexpr status check() const noexcept {
        const char* sentence = nullptr;
        switch (fault_) {
        case fault::none: return {};
        case fault::no_ranks: sentence = "size: a tree needs at least one rank"; break;
        case fault::root_out_of_range: sentence = "root: not one of the ranks, or every rank has a parent"; break;
        case fault::rank_out_of_range: sentence = "edges: a parent or child is not one of the ranks"; break;
        case fault::second_parent: sentence = "edges: a rank is the child of two parents, or listed twice"; break;
        case fault::root_has_parent: sentence = "edges: the root is somebody's child"; break;
        case fault::cycle: sentence = "edges: a rank is its own ancestor"; break;
        case fault::unreachable: sentence = "edges: a rank other than the root has no parent"; break;
        }
        status result = invalid_argument(sentence);
        result.peer = culprit_;
        return result;
    }

    friend constexpr bool operator==(const table&, const table&) = default;

private:
    enum class fault : std::uint8_t {
        none,
        no_ranks,
        root_out_of_range,
        rank_out_of_range,
        second_parent,
        root_has_parent,
        cycle,
        unreachable
    };

    constexpr table() = default; // to be built

    // The first fault counts: the later ones are often its consequences.
    constexpr void blame(fault what, rank_t who) noexcept {
        if (fault_ == fault::none) fault_ = what, culprit_ = who;
    }

    template <int = 0>
    constexpr void build(rank_t size, rank_t root, const tree_edge* edges, std::size_t count) {
        root_ = root;
        parent_.resize(size, no_rank);
        first_.resize(std::size_t{size} + 1, 0);
        if (size == 0) return blame(fault::no_ranks, no_rank);
        if (root >= size) blame(fault::root_out_of_range, root);

        std::vector<tree_edge> kept; // the edges that are in range and give a rank its first parent
        kept.reserve(count);
        for (std::size_t i = 0; i != count; ++i) {
            const tree_edge& e = edges[i];
            if (e.parent >= size || e.child >= size)
                blame(fault::rank_out_of_range, e.child);
            else if (e.child == root)
                blame(fault::root_has_parent, e.parent);
            else if (parent_[e.child] != no_rank)
                blame(fault::second_parent, e.child);
            else {
                parent_[e.child] = e.parent;
                ++first_[e.parent + 1];
                kept.push_back(e);
            }
        }
        for (rank_t r = 0; r != size; ++r) first_[r + 1] += first_[r];
        child_.resize(kept.size(), no_rank);
        std::vector<rank_t> next(first_.begin(), first_.end() - 1);
        for (const tree_edge& e : kept) child_[next[e.parent]++] = e.child;
        if (fault_ == fault::none) blame_unreached();
    }

    // Every rank has one parent at most, so what the root does not reach hangs on another top or on
    // a cycle.
    template <int = 0>
    constexpr void blame_unreached() {
        std::vector<char> reached(size(), 0);
        std::vector<rank_t> open{root_};
        for (std::size_t i = 0; i != open.size(); ++i) {
            reached[open[i]] = 1;
            for (rank_t c : children(open[i])) open.push_back(c);
        }
        if (open.size() == size()) return;
        rank_t top = 0;
        while (reached[top] != 0) ++top;
        // After as many steps up as there are ranks one is at the top, or on the cycle.
        for (rank_t steps = 0; steps != size() && parent_[top] != no_rank; ++steps) top = parent_[top];
        blame(parent_[top] == no_rank ? fault::unreachable : fault::cycle, top);
    }

    rank_t root_ = no_rank;
    rank_t culprit_ = no_rank;
    fault fault_ = fault::none;
    std::vector<rank_t> parent_;
    std::vector<rank_t> first_; // the children of r are child_[first_[r]] .. child_[first_[r + 1] - 1]
    std::vector<rank_t> child_;
};

} // namespace bough

#endif
