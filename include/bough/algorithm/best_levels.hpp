// SPDX-License-Identifier: BSL-1.0
// best_levels: the levels that take the least time in the alpha-beta-gamma model, by dynamic programming.
//
//   constexpr auto levels = best_levels(15, {.alpha = 5000, .beta = 1, .gamma = 0.25}, 8192);   // ns, ns/B, ns/B
//   plan_allreduce(per_level{.levels = levels}, {.size = 15})
//
// The rest of a level sequence, behind some level, costs a alpha + w v, where v is the length of
// the vector at that point. For each number of groups, all pairs (a, w) are kept that no other pair
// beats in both numbers, so the result is exact.
//
// Considered   pairs with any number of triples; direct exchange of any factor of the groups, all
//              of them included; the fold onto a power of two; each in the form of halving or of
//              exchange, as `forms` allows
// Time         all of that for up to 1024 groups, O(size^2) at most; above, only the triples that
//              lead to the first and the last multiple of each power of two in reach, so a million
//              ranks cost about as much as a thousand
// Source       alpha, beta, gamma: Rabenseifner 2004, section 2.1, full duplex; the choice per
//              level: its section 4
#ifndef BOUGH_ALGORITHM_BEST_LEVELS_HPP
#define BOUGH_ALGORITHM_BEST_LEVELS_HPP

#include <bough/algorithm/levels.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI {

// The costs per message, per byte sent and per byte combined, in any one unit of time.
struct level_costs {
    double alpha = 0;
    double beta = 0;
    double gamma = 0;
    friend constexpr bool operator==(const level_costs&, const level_costs&) = default;
};

// The forms that a level may have.
struct level_forms {
    bool halving = true;
    bool exchange = true;
    friend constexpr bool operator==(const level_forms&, const level_forms&) = default;
};

namespace detail {

// What one level of an allreduce adds: how many alphas, and how many bytes sent and combined per
// byte of the vector before the level.
struct level_price {
    double alphas = 0, sent = 0, combined = 0;
};
constexpr level_price level_price_of(const level& l) noexcept {
    const double peers = l.radix - 1.0;
    if (l.form == level_form::exchange) {
        const double extra = l.eliminated != 0 ? 1 : 0; // to the neighbour, and back
        return {peers + 2 * extra, peers + 2 * extra, peers + extra};
    }
    if (l.radix == 1) return {3, 2, 0.5};
    const double extra = l.eliminated != 0 ? 0.5 : 0;
    return {2 * (peers + 2 * extra), 2 * (peers / l.radix + extra), peers / l.radix + extra};
}

// The time of an allreduce over these levels, all of its ranks in step.
constexpr double price_levels(const level_list& levels, const level_costs& costs, double bytes) noexcept {
    double time = 0;
    for (const level& l : levels) {
        const level_price price = level_price_of(l);
        time += price.alphas * costs.alpha + bytes * (price.sent * costs.beta + price.combined * costs.gamma);
        if (l.form == level_form::halving) bytes /= l.radix;
    }
    return time;
}

template <int>
class basic_level_search {
public:
    constexpr basic_level_search(const level_costs& costs, level_forms forms) : costs_(costs), forms_(forms) {
        fronts_.push_back({1, {{}}});
    }

    constexpr level_list best(rank_t size, double bytes) {
        const std::size_t top = solve(size);
        const auto time = [&](const choice& c) { return c.alphas * costs_.alpha + c.weight * bytes; };
        const choice* next = &fronts_[top].choices[0];
        for (const choice& c : fronts_[top].choices)
            if (time(c) < time(*next)) next = &c;
        level_list levels;
        while (next->taken.radix != 0) {
            levels.push_back(next->taken);
            next = &fronts_[next->front].choices[next->index];
        }
        return levels;
    }

private:
    struct choice {
        double alphas = 0, weight = 0; // from here to the end, for a vector of length 1
        level taken{.radix = 0};       // radix 0: the end
        std::size_t front = 0, index = 0;
    };
    struct front {
        rank_t groups = 0;
        std::vector<choice> choices; // alphas ascending, weights descending
    };

    constexpr std::size_t find(rank_t groups) const {
        const auto at = std::lower_bound(order_.begin(), order_.end(), groups,
                                         [&](std::size_t f, rank_t g) { return fronts_[f].groups < g; });
        return at != order_.end() && fronts_[*at].groups == groups ? *at : fronts_.size();
    }

    constexpr std::size_t solve(rank_t groups) {
        if (groups == 1) return 0;
        if (const std::size_t known = find(groups); known != fronts_.size()) return known;
        std::vector<choice> all;
        // Try every number of triples, or, with many groups, those that lead to round numbers of
        // groups.
        const rank_t most = groups / 2;
        const rank_t fewest = (groups - 1) / 3 + 1;
        const auto pairs = [&](rank_t left) { offer(groups, {.radix = 2, .eliminated = groups - 2 * left}, all); };
        if (groups <= 1024) {
            for (rank_t left = fewest; left <= most; ++left) pairs(left);
        } else {
            for (rank_t round = 1; round != 0 && round <= most; round *= 2) {
                const rank_t last = most / round * round;
                const rank_t first = (fewest + round - 1) / round * round;
                if (last >= fewest) pairs(last);
                if (first < last) pairs(first);
            }
        }
        for (rank_t f = 2; f <= groups / f; ++f)
            if (groups % f == 0) {
                if (f != 2) offer(groups, {.radix = f}, all); // pairs are above
                if (groups / f != f && groups / f != 2) offer(groups, {.radix = groups / f}, all);
            }
        if (groups > 2) offer(groups, {.radix = groups}, all);
        if (!std::has_single_bit(groups))
            offer(groups, {.radix = 1, .eliminated = groups - std::bit_floor(groups)}, all);
        return keep(groups, all);
    }

    constexpr void offer(rank_t groups, level l, std::vector<choice>& all) {
        const std::size_t behind = solve(l.left_of(groups));
        for (const level_form form : {level_form::halving, level_form::exchange}) {
            if (!(form == level_form::halving ? forms_.halving : forms_.exchange)) continue;
            l.form = form;
            const level_price price = level_price_of(l);
            const double share = form == level_form::halving ? 1.0 / l.radix : 1.0;
            const double weight = price.sent * costs_.beta + price.combined * costs_.gamma;
            for (std::size_t i = 0; i != fronts_[behind].choices.size(); ++i) {
                const choice& c = fronts_[behind].choices[i];
                all.push_back({price.alphas + c.alphas, weight + share * c.weight, l, behind, i});
            }
        }
    }

    constexpr std::size_t keep(rank_t groups, std::vector<choice>& all) {
        // Equal ones in the order of offering, so that the result does not depend on the sort.
        std::vector<std::size_t> by(all.size(), 0);
        for (std::size_t i = 0; i != by.size(); ++i) by[i] = i;
        std::sort(by.begin(), by.end(), [&](std::size_t x, std::size_t y) {
            if (all[x].alphas != all[y].alphas) return all[x].alphas < all[y].alphas;
            return all[x].weight != all[y].weight ? all[x].weight < all[y].weight : x < y;
        });
        front made{groups, {}};
        for (const std::size_t i : by)
            if (made.choices.empty() || all[i].weight < made.choices.back().weight) made.choices.push_back(all[i]);
        const auto at = std::lower_bound(order_.begin(), order_.end(), groups,
                                         [&](std::size_t f, rank_t g) { return fronts_[f].groups < g; });
        order_.insert(at, fronts_.size());
        fronts_.push_back(std::move(made));
        return fronts_.size() - 1;
    }

    level_costs costs_;
    level_forms forms_;
    std::vector<front> fronts_;
    std::vector<std::size_t> order_; // of fronts_, by groups
};
using level_search = basic_level_search<0>;

} // namespace detail

// Pre: size >= 1; at least one form is allowed; costs and bytes are not negative.
template <int = 0>
constexpr level_list best_levels(rank_t size, const level_costs& costs, double bytes, level_forms forms = {}) {
    BOUGH_EXPECTS(size >= 1, "size: a group needs at least one rank");
    BOUGH_EXPECTS(forms.halving || forms.exchange, "forms: allow at least one");
    return detail::level_search(costs, forms).best(size, bytes);
}

} // namespace bough

#endif
