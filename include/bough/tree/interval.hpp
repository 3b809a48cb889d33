// SPDX-License-Identifier: BSL-1.0
// interval_tree: the fastest tree in which every subtree is an interval of ranks, so that a
// reduction keeps rank order.
//
//   interval_tree(costs, root)       the best for this root
//   interval_tree(costs)             the best of all roots: for an allreduce, where any rank may be the
//                                    root
//   is_interval_tree(tree)           would a reduction over it keep rank order?
//
//   costs 1 3 3 3 3 1 3 3, root 0     0(1 2 3 5(6 7 4))     400 for 100 and 300: here the rule costs nothing
//
// A rank starts with its own value, and takes its children in receive order; each must be next to
// what it has by then, below or above. The first send of a broadcast is the last receive of a
// reduction, so it goes to an outermost part:
//     time(i..j, r) = send(r) + min over k of  max(time(k+1..j, r), lead(i..k)),  k < r,
//                                              max(time(i..k-1, r), lead(k..j)),  k > r
//     lead(i..j)    = min over c of arrive(c) + time(i..j, c)
// For costs of a reduction see bough/tree/reduction.hpp. Ties go to the lower part, then to the lower rank.
//
// Time n^4 / 12 steps, memory n^3 / 6 times: 64 ranks 4 ms, 256 ranks 2 s. Pre: at most 256 ranks.
// Source: bough; dynamic programming over intervals as for alphabetic trees (Knuth, "Optimum binary
// search trees", 1971).
#ifndef BOUGH_TREE_INTERVAL_HPP
#define BOUGH_TREE_INTERVAL_HPP

#include <bough/concepts/tree.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/tree/costs.hpp>
#include <bough/tree/table.hpp>

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace bough::inline BOUGH_ABI {

// The most ranks for which it is computed.
inline constexpr rank_t most_interval_ranks = 256;

namespace detail {

template <class Time>
class interval_times {
public:
    constexpr explicit interval_times(const node_times<Time>& times) : times_(times), n_(times.size()) {
        std::size_t entries = 0;
        for (std::size_t r = 0; r != n_; ++r) {
            first_.push_back(entries);
            entries += (r + 1) * (n_ - r);
        }
        by_low_.resize(entries, Time{});
        by_high_.resize(entries, Time{});
        lead_.resize(n_ * n_, Time{});
        lead_down_.resize(n_ * n_, Time{});
        head_.resize(n_ * n_, rank_t{0});
        for (std::size_t length = 1; length <= n_; ++length)
            for (std::size_t i = 0; i + length <= n_; ++i) fill(i, i + length - 1);
    }

    constexpr rank_t best_root() const {
        rank_t best = 0;
        for (rank_t r = 1; r != n_; ++r)
            if (by_high(0, r)[n_ - 1 - r] < by_high(0, best)[n_ - 1 - best]) best = r;
        return best;
    }
    constexpr table tree(rank_t root) const {
        struct stretch {
            rank_t low, high, root;
        };
        std::vector<tree_edge> edges;
        std::vector<stretch> open;
        for (stretch now{0, static_cast<rank_t>(n_ - 1), root};;) {
            while (now.low != now.high) {
                const choice c = cut(now.low, now.high, now.root);
                const rank_t head = head_[c.low * n_ + c.high];
                edges.push_back({now.root, head});
                open.push_back({c.low, c.high, head});
                c.low == now.low ? now.low = c.high + 1 : now.high = c.low - 1;
            }
            if (open.empty()) break;
            now = open.back();
            open.pop_back();
        }
        return table(static_cast<rank_t>(n_), root, edges);
    }

private:
    struct choice {
        rank_t low = 0, high = 0; // the part that is served first
        Time after{};             // the time from the end of that send until all is done
    };

    // time(i..j, r), twice, so that each of the two loops below reads memory in order: [.. j ..
    // r][i], [.. i .. r][j].
    constexpr Time* by_low(std::size_t j, std::size_t r) { return by_low_.data() + first_[r] + (j - r) * (r + 1); }
    constexpr const Time* by_low(std::size_t j, std::size_t r) const {
        return by_low_.data() + first_[r] + (j - r) * (r + 1);
    }
    // The time is element j - r of what is returned.
    constexpr const Time* by_high(std::size_t i, std::size_t r) const {
        return by_high_.data() + first_[r] + i * (n_ - r);
    }

    constexpr choice cut(rank_t i, rank_t j, rank_t r) const {
        choice best;
        rank_t at = no_rank;
        Time after{};
        const Time* rest = by_low(j, r);
        const Time* lead = lead_.data() + i * n_;
        for (rank_t k = i; k != r; ++k) {
            const Time& time = rest[k + 1] < lead[k] ? lead[k] : rest[k + 1];
            if (at == no_rank || time < after) after = time, at = k;
        }
        if (at != no_rank) best = {i, at, after};
        const Time* below = by_high(i, r);
        lead = lead_down_.data() + j * n_;
        for (rank_t k = r + 1; k <= j; ++k) {
            const Time& time = below[k - 1 - r] < lead[k] ? lead[k] : below[k - 1 - r];
            if (at == no_rank || time < after) after = time, at = k, best = {k, j, after};
        }
        return best;
    }
    constexpr void fill(std::size_t i, std::size_t j) {
        Time best{};
        for (std::size_t r = i; r <= j; ++r) {
            const Time time =
                i == j ? Time{}
                       : times_.send[r] +
                             cut(static_cast<rank_t>(i), static_cast<rank_t>(j), static_cast<rank_t>(r)).after;
            by_low(j, r)[i] = time;
            by_high_[first_[r] + i * (n_ - r) + (j - r)] = time;
            const Time led = times_.arrive[r] + time;
            if (r == i || led < best) best = led, head_[i * n_ + j] = static_cast<rank_t>(r);
        }
        lead_[i * n_ + j] = lead_down_[j * n_ + i] = best;
    }

    const node_times<Time>& times_;
    std::size_t n_;
    std::vector<std::size_t> first_; // where the intervals around a rank begin
    std::vector<Time> by_low_, by_high_;
    std::vector<Time> lead_, lead_down_; // lead(i..j) at [i][j] and at [j][i]
    std::vector<rank_t> head_;
};

} // namespace detail

// The best tree. Without a root, or with no_rank, the best root is taken, the lowest if several are
// equal.
template <CostNumber C>
constexpr table interval_tree(const tree_costs<C>& costs, rank_t root = no_rank) {
    const detail::node_times<time_of<C>> times(costs);
    BOUGH_EXPECTS(times.size() >= 1 && times.size() <= most_interval_ranks, "costs: of 1 to 256 ranks");
    BOUGH_EXPECTS(root == no_rank || root < times.size(),
                  "root: the root of a tree must be one of its ranks, so below size");
    const detail::interval_times<time_of<C>> best(times);
    return best.tree(root == no_rank ? best.best_root() : root);
}
template <class C, std::size_t Extent>
requires CostNumber<std::remove_const_t<C>>
constexpr table interval_tree(std::span<C, Extent> send, rank_t root = no_rank) {
    return interval_tree(tree_costs<std::remove_const_t<C>>{.send = send}, root);
}

// Is each child's subtree an interval next to what its parent has combined before? Pre: a tree.
// Time and memory O(size).
template <Tree T>
constexpr bool is_interval_tree(const T& tree) {
    std::vector<rank_t> ranks{tree.root()}; // parents before children
    for (std::size_t i = 0; i != ranks.size(); ++i) {
        const rank_t parent = ranks[i];
        const rank_t children = tree.child_count(parent);
        for (rank_t c = 0; c != children; ++c) ranks.push_back(tree.child(parent, c));
    }
    struct interval {
        rank_t low, high;
    };
    std::vector<interval> of(ranks.size(), interval{0, 0});
    for (std::size_t i = ranks.size(); i != 0; --i) {
        const rank_t r = ranks[i - 1];
        interval have{r, r};
        for (rank_t c = tree.child_count(r); c != 0; --c) {
            const interval next = of[tree.child(r, c - 1)];
            if (next.low == have.high + 1)
                have.high = next.high;
            else if (next.high + 1 == have.low)
                have.low = next.low;
            else
                return false;
        }
        of[r] = have;
    }
    return true;
}

} // namespace bough

#endif
