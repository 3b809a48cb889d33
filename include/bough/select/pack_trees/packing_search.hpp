// SPDX-License-Identifier: BSL-1.0
// The search behind pack_trees: which trees, and how many of each.
#ifndef BOUGH_SELECT_PACK_TREES_PACKING_SEARCH_HPP
#define BOUGH_SELECT_PACK_TREES_PACKING_SEARCH_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/rank.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/select/pack_trees/arborescence.hpp>
#include <bough/select/pack_trees/packing_program.hpp>
#include <bough/select/pack_trees/whole_trees.hpp>
#include <bough/simulate/network.hpp>
#include <bough/tree/table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <int = 0>
class packing_search {
public:
    struct result {
        std::vector<table> up, down;
        double ns_per_byte = 0;
        std::vector<double> prices{}; // that prove the bound for such trees
    };

    // `weights`: what the rank of each root has of the vector, in proportion, where all ranks are roots;
    // empty: the same. Pre: over.check(at.size) is ok; weights are right (are_weights).
    packing_search(const network& over, const dimensions& at, const std::vector<double>& weights = {})
        : over_(over), at_(at), share_of_(at.size, 1.0 / at.size), paths_(std::size_t{at.size} * at.size),
          row_(over.links().size(), none) {
        for (rank_t a = 0; a != at.size; ++a)
            for (rank_t b = 0; b != at.size; ++b) {
                if (over.host_of(a) == over.host_of(b)) continue;
                std::vector<std::uint32_t>& path = paths_[std::size_t{a} * at.size + b];
                over.path(over.host_of(a), over.host_of(b), path);
                for (std::uint32_t& l : path) {
                    if (row_[l] == none) {
                        row_[l] = static_cast<std::uint32_t>(speeds_.size());
                        speeds_.push_back(over.links()[l].bytes_per_ns);
                    }
                    l = row_[l];
                }
            }
        double sum = 0;
        for (const double w : weights) sum += w;
        for (std::size_t r = 0; r != weights.size(); ++r) share_of_[r] = weights[r] / sum;
    }
    static bool are_weights(const std::vector<double>& weights, rank_t size) {
        double sum = 0;
        for (const double w : weights) {
            if (!(w >= 0)) return false;
            sum += w;
        }
        return weights.empty() || (weights.size() == size && sum > 0 && sum <= std::numeric_limits<double>::max());
    }

    // The best trees up, down or both: those to and from one root if both.
    result find(bool up, bool down, std::uint32_t most_trees, std::uint32_t most_steps) const {
        const auto cheapest = [&](const std::vector<double>& prices) { return cheapest_trees(prices, up, down); };
        std::vector<column> columns;
        const solution best = solve(columns, most_steps, cheapest);
        double sum = 0;
        for (const double x : best.share) sum += x;
        result made;
        made.prices = of_all_links(best.prices);
        const auto add = [&](const column& c) {
            if (up) made.up.push_back(tree_of(c.up));
            if (down) made.down.push_back(tree_of(c.down));
        };
        if (sum == 0) { // one rank, or no links
            add(columns.back());
            return made;
        }
        const whole_trees<column> whole(speeds_, columns, best.share, 1, most_trees, most_steps,
                                        [&](const std::vector<double>& at, std::uint32_t) { return cheapest(at); });
        made.ns_per_byte = whole.ns_per_byte();
        for (const column& c : whole.trees()) add(c);
        return made;
    }

    // The best trees to each rank, or from each: as many for each, by turns.
    result find_of_all(bool up, std::uint32_t most_trees, std::uint32_t most_steps) const {
        std::vector<column> sets; // each has a tree of each rank
        const solution best = solve(sets, most_steps, [&](const std::vector<double>& prices) {
            column made{.load = std::vector<double>(speeds_.size(), 0.0)};
            const arc_costs<> arcs = costs_at(prices);
            for (rank_t root = 0; root != at_.size; ++root) {
                column one = cheapest_of(arcs, root, up);
                made.cost += share_of_[root] * one.cost;
                for (std::size_t l = 0; l != speeds_.size(); ++l) made.load[l] += one.load[l];
                made.of_all.push_back(std::move(up ? one.up : one.down));
            }
            return made;
        });
        result made;
        made.prices = of_all_links(best.prices);
        const auto add = [&](const parents& tree) { (up ? made.up : made.down).push_back(tree_of(tree)); };
        std::vector<column> trees;
        std::vector<double> share;
        for (std::size_t s = 0; s != sets.size(); ++s)
            for (rank_t root = 0; root != at_.size && best.share[s] > 0; ++root) {
                const parents& tree = sets[s].of_all[root];
                std::size_t t = 0;
                while (t != trees.size() && (up ? trees[t].up : trees[t].down) != tree) ++t;
                if (t == trees.size()) {
                    trees.push_back({.root = root, .group = root});
                    (up ? trees[t].up : trees[t].down) = tree;
                    load(trees[t], share_of_[root]);
                    share.push_back(0);
                }
                share[t] += best.share[s];
            }
        if (trees.empty()) { // one rank, or no links
            for (const parents& tree : sets.back().of_all) add(tree);
            return made;
        }
        const whole_trees<column> whole(
            speeds_, trees, share, at_.size, most_trees, most_steps,
            [&](const std::vector<double>& at, std::uint32_t root) { return cheapest_of(costs_at(at), root, up); });
        made.ns_per_byte = whole.ns_per_byte();
        for (const column& c : whole.trees()) add(up ? c.up : c.down);
        return made;
    }

    // The prices that prove most of any allreduce.
    std::vector<double> prices_of_any_allreduce(std::uint32_t most_steps) const {
        solution best;
        for (const bool backwards : {false, true}) {
            std::vector<column> columns;
            solution now = solve(columns, most_steps, [&](const std::vector<double>& prices) {
                return least_of_allreduce(costs_at(prices), backwards);
            });
            if (now.least > best.least) best = std::move(now);
        }
        return of_all_links(best.prices);
    }

    // What a plan takes for each byte of the vector at least, by prices of all links.
    double least_by(std::uint8_t kind, const std::vector<double>& all_prices) const {
        std::vector<double> prices(speeds_.size(), 0.0);
        double worth = 0;
        for (std::size_t l = 0; l != all_prices.size(); ++l)
            if (row_[l] != none) {
                prices[row_[l]] = all_prices[l];
                worth += all_prices[l] * over_.links()[l].bytes_per_ns;
            }
        if (worth == 0) return 0;
        const arc_costs<> arcs = costs_at(prices);
        double cost = 0;
        if (kind == goal::allreduce::kind)
            cost = std::max(least_of_allreduce(arcs, false).cost, least_of_allreduce(arcs, true).cost);
        else if (kind == goal::allgather::kind || kind == goal::reduce_scatter::kind)
            for (rank_t root = 0; root != at_.size; ++root)
                cost += share_of_[root] *
                        rooted(arcs, root, kind == goal::reduce_scatter::kind, kind == goal::allgather::kind).cost;
        else if (kind == goal::reduce::kind)
            take(arcs, cost, tree_to(arcs, at_.root), true);
        else
            take(arcs, cost, cheapest_arborescence(arcs, at_.root), false);
        return cost / worth;
    }

private:
    static constexpr std::uint32_t none = 0xffff'ffffu;
    using parents = std::vector<std::uint32_t>;

    // Messages that a plan may send of a byte.
    struct column {
        rank_t root = no_rank;
        std::uint32_t group = 0; // of whole_trees
        parents up{}, down{};
        std::vector<parents> of_all{}; // or a tree of each rank, of its share of the byte
        double cost = 0;
        std::vector<double> load{}; // of each link
    };
    struct solution {
        std::vector<double> share{}; // of each column, in bytes per ns
        std::vector<double> prices{};
        double least = 0; // ns for a byte, as the prices prove
    };

    const std::vector<std::uint32_t>& path(rank_t from, rank_t to) const {
        return paths_[std::size_t{from} * at_.size + to];
    }
    arc_costs<> costs_at(const std::vector<double>& prices) const {
        arc_costs<> made(at_.size);
        for (rank_t a = 0; a != at_.size; ++a)
            for (rank_t b = 0; b != at_.size; ++b)
                for (const std::uint32_t l : path(a, b)) made.at(a, b) += prices[l];
        return made;
    }
    static parents tree_to(const arc_costs<>& arcs, rank_t root) {
        arc_costs<> turned(arcs.vertices());
        for (rank_t a = 0; a != arcs.vertices(); ++a)
            for (rank_t b = 0; b != arcs.vertices(); ++b) turned.at(b, a) = arcs.at(a, b);
        return cheapest_arborescence(turned, root);
    }
    static void take(const arc_costs<>& arcs, double& cost, const parents& tree, bool up) {
        for (rank_t r = 0; r != tree.size(); ++r)
            if (tree[r] != no_rank) cost += up ? arcs.at(r, tree[r]) : arcs.at(tree[r], r);
    }
    void add_load(std::vector<double>& load, const parents& tree, bool up, double times) const {
        for (rank_t r = 0; r != tree.size(); ++r)
            if (tree[r] != no_rank)
                for (const std::uint32_t l : up ? path(r, tree[r]) : path(tree[r], r)) load[l] += times;
    }
    // The cheapest that an allreduce may send: a tree to a rank, and one message to each other; or a tree
    // from a rank, and one message from each other.
    column least_of_allreduce(const arc_costs<>& arcs, bool backwards) const {
        column least;
        for (rank_t root = 0; root != at_.size; ++root) {
            column now{.root = root};
            take(arcs, now.cost, now.up = backwards ? cheapest_arborescence(arcs, root) : tree_to(arcs, root),
                 !backwards);
            now.down = parents(at_.size, std::uint32_t{no_rank});
            for (rank_t r = 0; r != at_.size; ++r) {
                if (r == root) continue;
                const auto cost = [&](rank_t peer) { return backwards ? arcs.at(r, peer) : arcs.at(peer, r); };
                for (rank_t peer = 0; peer != at_.size; ++peer)
                    if (peer != r && (now.down[r] == no_rank || cost(peer) < cost(now.down[r]))) now.down[r] = peer;
                now.cost += cost(now.down[r]);
            }
            if (least.root == no_rank || now.cost < least.cost) least = std::move(now);
        }
        least.load = std::vector<double>(speeds_.size(), 0.0);
        add_load(least.load, least.up, !backwards, 1);
        add_load(least.load, least.down, backwards, 1);
        return least;
    }

    // Columns are made by cheapest(prices), until none costs less than 1.
    template <class Cheapest>
    solution solve(std::vector<column>& columns, std::uint32_t most_steps, Cheapest&& cheapest) const {
        packing_program<> program(speeds_);
        solution best;
        for (std::uint32_t step = 0; step != most_steps; ++step) {
            const std::vector<double> prices = program.prices();
            column next = cheapest(prices);
            double worth = 0;
            for (std::size_t l = 0; l != speeds_.size(); ++l) worth += prices[l] * speeds_[l];
            if (worth > 0 && next.cost / worth > best.least) {
                best.least = next.cost / worth;
                best.prices = prices;
            }
            if (next.cost >= 1 - 1e-9) break;
            columns.push_back(std::move(next));
            if (!program.enter(columns.size() - 1, columns.back().load)) break; // no link: it is free
        }
        best.share = std::vector<double>(columns.size(), 0.0);
        program.for_each([&](std::size_t c, double x) { best.share[c] += x; });
        return best;
    }
    std::vector<double> of_all_links(const std::vector<double>& prices) const {
        std::vector<double> made(over_.links().size(), 0.0);
        for (std::size_t l = 0; l != made.size(); ++l)
            if (row_[l] != none && !prices.empty()) made[l] = prices[row_[l]];
        return made;
    }

    column rooted(const arc_costs<>& arcs, rank_t root, bool up, bool down) const {
        column made{.root = root};
        if (up) take(arcs, made.cost, made.up = tree_to(arcs, root), true);
        if (down) take(arcs, made.cost, made.down = cheapest_arborescence(arcs, root), false);
        return made;
    }
    void load(column& c, double times) const {
        c.load = std::vector<double>(speeds_.size(), 0.0);
        add_load(c.load, c.up, true, times);
        add_load(c.load, c.down, false, times);
    }
    // The cheapest trees up, down or both: those of the root for which both are cheapest.
    column cheapest_trees(const std::vector<double>& prices, bool up, bool down) const {
        const arc_costs<> arcs = costs_at(prices);
        column least;
        for (rank_t root = 0; root != at_.size; ++root) {
            if (!(up && down) && root != at_.root) continue;
            column now = rooted(arcs, root, up, down);
            if (least.root == no_rank || now.cost < least.cost) least = std::move(now);
        }
        load(least, 1);
        return least;
    }
    // The cheapest tree of one of all roots, for its share of a byte.
    column cheapest_of(const arc_costs<>& arcs, rank_t root, bool up) const {
        column made = rooted(arcs, root, up, !up);
        made.group = root;
        load(made, share_of_[root]);
        return made;
    }

    // Children with the deepest subtrees come first.
    static table tree_of(const parents& parent) {
        std::vector<std::uint32_t> height(parent.size(), 0);
        for (rank_t r = 0; r != parent.size(); ++r) {
            std::uint32_t links = 0;
            for (rank_t v = r; parent[v] != no_rank; v = parent[v])
                height[parent[v]] = std::max(height[parent[v]], ++links);
        }
        std::vector<rank_t> order;
        for (rank_t r = 0; r != parent.size(); ++r) order.push_back(r);
        std::sort(order.begin(), order.end(),
                  [&](rank_t a, rank_t b) { return height[a] != height[b] ? height[a] > height[b] : a < b; });
        return table::from_parents(parent, order);
    }

    const network& over_;
    dimensions at_;
    std::vector<double> share_of_;                  // what each rank has of a byte of the vector
    std::vector<std::vector<std::uint32_t>> paths_; // of each pair of ranks: rows of the program
    std::vector<std::uint32_t> row_;                // of each link; none: no message takes it
    std::vector<double> speeds_;                    // of each row
};

} // namespace bough::detail

#endif
