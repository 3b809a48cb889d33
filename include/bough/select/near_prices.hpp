// SPDX-License-Identifier: BSL-1.0
// Near prices: which prices count as equal, and which of nearly equal plans is taken for calls in a loop.
//
// The price of a plan is what one call takes, alone. If a collective goes one way (broadcast, multicast,
// reduce, gather, scatter, scan, exscan), a rank may start its next call while others are still in this one. In a
// loop, a call then takes as long as its busiest rank is at work, and no longer. The two pull apart: a
// root that sends to all ranks itself ends soon, but does all the work. So of the plans that take at most
// near_price_share longer than the fastest, the one with the least product of both times is taken: it may
// be slower alone by as much as it is faster in a loop. All ranks are looked at to find the busiest, but
// only some of a long plan (detail::steps_looked_at).
#ifndef BOUGH_SELECT_NEAR_PRICES_HPP
#define BOUGH_SELECT_NEAR_PRICES_HPP

#include <bough/core/config.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/search.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace bough::inline BOUGH_ABI {

// Prices that differ by less than this share count as equal: a model is not exact, and the rounding
// of block sizes alone makes such differences. Among equals, the first that was given wins. The time
// until the last rank comes (problem::late, model::arriving) is the same for all plans, and does not
// count.
inline constexpr double equal_price_share = 1.0 / 512;

// A plan that takes this share longer than the fastest is taken if it gains as much in a loop of calls.
inline constexpr double near_price_share = 0.3;

namespace detail {

// The highest price that is as good as this one.
constexpr double as_good_as(double ns, double last_arrival_ns) noexcept {
    return ns + (ns > last_arrival_ns ? ns - last_arrival_ns : 0) * equal_price_share;
}

// The prices that are known so far, and which of them wins. The parameter of the template has no meaning.
template <int = 0>
class loop_choice {
public:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

    constexpr loop_choice(bool counts, double last_arrival_ns) : counts_(counts), last_arrival_ns_(last_arrival_ns) {}

    // Do calls in a loop count?
    constexpr explicit operator bool() const noexcept { return counts_; }

    // `index`: the place among the candidates, as given. `loop_ns`: what a call takes in a loop.
    constexpr void add(std::size_t index, double ns, double loop_ns) {
        if (!counts_) return;
        known_.push_back({index, ns, product(ns, loop_ns)});
        best_ns_ = std::min(best_ns_, ns);
    }
    // The highest price that may win.
    constexpr double near_ns() const noexcept {
        return best_ns_ + std::max(best_ns_ - last_arrival_ns_, 0.0) * near_price_share;
    }
    // Does a candidate that takes at least `ns` lose, whatever is still to come? It is too slow, or one
    // is known that is neither slower nor worse.
    constexpr bool is_hopeless(std::size_t index, double ns, double loop_ns) const {
        if (ns > as_good_as(near_ns(), last_arrival_ns_)) return true;
        const double mine = product(ns, loop_ns);
        return detail::any_of(known_, [&](const price& p) {
            return p.ns <= ns && (p.product < mine * (1 - equal_price_share) || (p.product <= mine && p.index < index));
        });
    }
    // The first of those that are as good as the best; none: no price is known.
    constexpr std::size_t winner() const {
        double least = std::numeric_limits<double>::infinity();
        const double most_ns = near_ns();
        for (const price& p : known_)
            if (p.ns <= most_ns) least = std::min(least, p.product);
        std::size_t found = none;
        for (const price& p : known_)
            if (p.ns <= most_ns && p.product <= least * (1 + equal_price_share)) found = std::min(found, p.index);
        return found;
    }

private:
    struct price {
        std::size_t index;
        double ns, product;
    };
    // Each time counts as 1 ns at least: where nobody works, the price alone counts, and a plan without
    // work compares with others.
    constexpr double product(double ns, double loop_ns) const noexcept {
        return std::max(ns - last_arrival_ns_, 1.0) * std::max(loop_ns, 1.0);
    }

    plain_list<price> known_;
    bool counts_;
    double last_arrival_ns_;
    double best_ns_ = std::numeric_limits<double>::infinity();
};

} // namespace detail

} // namespace bough

#endif
