// SPDX-License-Identifier: BSL-1.0
// arrival_tree: a reduction tree for ranks that come at different times. Late ranks are near the
// root.
//
// The model is that of bough/tree/postal.hpp: a value is there L after it was sent, and its
// receiver is busy with it for g. Rank i can do nothing before arrival_ns[i]. To end by a time T,
// the root has the deadline T. A rank with deadline d takes in its last value from d - g on, the
// one before from d - 2g on, and so on as long as the rank has come by then. These values were sent
// by d - g - L, d - 2g - L ..., which are the deadlines of its children. The latest open deadline
// goes to the latest rank that is left; if that rank comes after the deadline, T is too early. The
// least T is found by halving.
//
//   arrival_tree(arrivals, L, g)              the root is the rank that comes last
//   arrival_tree(arrivals, L, g, root)        the root is this rank
// The tree is optimal if L is a multiple of g (equal to exhaustive search over up to 6 ranks, see
// the tests), and otherwise close to optimal. The reduction ends by arrival_tree_time(...). Ranks
// are not in rank order, so the op must be commutative. A late rank has a cost: if the last of p >
// 1 ranks is the root, it must still take in one more value, so the reduction cannot end before its
// arrival + g; if it is a leaf, not before its arrival + L + g.
//
// Times are whole, so that halving ends: take ns, or finer. Time O(p log p) per halving, memory O(p).
// Source: bough. Related: Faraj, Patarasuk, Yuan, IJPP 2008 (arrival patterns); Marendic et al. 2012, 2016.
#ifndef BOUGH_TREE_ARRIVAL_HPP
#define BOUGH_TREE_ARRIVAL_HPP

#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/tree/table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

template <int>
class basic_arrival_builder {
public:
    constexpr basic_arrival_builder(std::span<const std::uint64_t> arrivals, std::uint64_t latency, std::uint64_t gap,
                                    rank_t root)
        : latency_(static_cast<std::int64_t>(latency)), gap_(static_cast<std::int64_t>(gap)) {
        BOUGH_EXPECTS(!arrivals.empty(), "arrivals: a tree needs at least one rank");
        BOUGH_EXPECTS(gap >= 1, "gap: at least 1, or a rank could take in any number of values at once");
        BOUGH_EXPECTS(root == no_rank || root < arrivals.size(), "root: not a rank of the group");
        for (rank_t r = 0; r != arrivals.size(); ++r) {
            BOUGH_EXPECTS(arrivals[r] >> 61 == 0, "arrivals: below 2^61");
            at_.push_back(static_cast<std::int64_t>(arrivals[r]));
            latest_first_.push_back(r);
        }
        std::sort(latest_first_.begin(), latest_first_.end(),
                  [&](rank_t a, rank_t b) { return at_[a] != at_[b] ? at_[a] > at_[b] : a < b; });
        if (root != no_rank) { // a given root goes first, whenever it comes
            latest_first_.erase(std::find(latest_first_.begin(), latest_first_.end(), root));
            latest_first_.insert(latest_first_.begin(), root);
        }
    }

    constexpr rank_t root() const noexcept { return latest_first_.front(); }

    // Can all ranks end by `time`? Then edges_ has the edges of a tree that does, each parent's in
    // send order.
    constexpr bool fits(std::int64_t time) {
        edges_.clear();
        open_.clear();
        if (at_[root()] > time) return false;
        open_children(root(), time);
        for (std::size_t i = 1; i != latest_first_.size(); ++i) {
            const rank_t r = latest_first_[i];
            if (open_.empty()) return false;
            std::pop_heap(open_.begin(), open_.end(), earlier);
            const slot s = open_.back();
            open_.pop_back();
            if (at_[r] > s.deadline) return false;
            edges_.push_back({s.parent, r});
            open_children(s.parent, s.free_at);
            open_children(r, s.deadline);
        }
        return true;
    }

    constexpr std::int64_t least_time() {
        std::int64_t low = *std::max_element(at_.begin(), at_.end());
        std::int64_t high = low + latency_ + gap_ * static_cast<std::int64_t>(at_.size());
        while (low != high) {
            const std::int64_t middle = low + (high - low) / 2;
            if (fits(middle))
                high = middle;
            else
                low = middle + 1;
        }
        fits(low);
        return low;
    }
    constexpr table tree() const { return table(static_cast<rank_t>(at_.size()), root(), edges_); }

private:
    struct slot {
        std::int64_t deadline;
        std::int64_t free_at; // when its parent begins to take it in: the end of what it takes in before
        rank_t parent;
    };
    static constexpr bool earlier(const slot& a, const slot& b) noexcept {
        return a.deadline != b.deadline ? a.deadline < b.deadline : a.parent > b.parent;
    }
    constexpr void open_children(rank_t parent, std::int64_t by) {
        if (by - gap_ < at_[parent]) return;
        open_.push_back({by - gap_ - latency_, by - gap_, parent});
        std::push_heap(open_.begin(), open_.end(), earlier);
    }

    std::int64_t latency_, gap_;
    std::vector<std::int64_t> at_;
    std::vector<rank_t> latest_first_;
    std::vector<slot> open_;
    std::vector<tree_edge> edges_;
};
using arrival_builder = basic_arrival_builder<0>;

} // namespace detail

template <int = 0>
constexpr table arrival_tree(std::span<const std::uint64_t> arrivals, std::uint64_t latency, std::uint64_t gap,
                             rank_t root = no_rank) {
    detail::arrival_builder builder(arrivals, latency, gap, root);
    builder.least_time();
    return builder.tree();
}

// The time by which the reduction over that tree is sure to end.
template <int = 0>
constexpr std::uint64_t arrival_tree_time(std::span<const std::uint64_t> arrivals, std::uint64_t latency,
                                          std::uint64_t gap, rank_t root = no_rank) {
    return static_cast<std::uint64_t>(detail::arrival_builder(arrivals, latency, gap, root).least_time());
}

} // namespace bough

#endif
