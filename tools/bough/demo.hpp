// SPDX-License-Identifier: BSL-1.0
// What `bough demo` reduces, and what it measures of this machine.
#ifndef BOUGH_TOOLS_DEMO_HPP
#define BOUGH_TOOLS_DEMO_HPP

#include <bough/core/rank.hpp>
#include <bough/model/lrc.hpp>
#include <bough/op/exact_sum.hpp>
#include <bough/op/traits.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace cli {

// Four results of some numbers. All padding would be sent too, so there is none.
struct summary {
    bough::exact_accumulator<double> sum{};
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    std::uint64_t count = 0;

    void add(double x) {
        x +=
            0.0; // of the two zeros, only the positive one: so that the order of numbers cannot show in `low` and `high`
        sum += x;
        low = std::min(low, x);
        high = std::max(high, x);
        ++count;
    }
    friend bool operator==(const summary&, const summary&) = default; // the same bits
};

// The whole op: how the summaries of two sets of numbers become one.
struct merge {
    summary operator()(const summary& a, const summary& b) const {
        summary both = a;
        both.sum += b.sum;
        both.low = std::min(a.low, b.low);
        both.high = std::max(a.high, b.high);
        both.count += b.count;
        return both;
    }
};

inline constexpr bough::rank_t demo_ranks = 13;
inline constexpr std::size_t demo_groups = 168; // the hours of a week

// Number i of all belongs to group i mod demo_groups. The numbers from `first` to `last`, group by
// group.
std::vector<summary> summaries_of(std::span<const double> numbers, std::size_t first, std::size_t last);

struct demo_costs {
    bough::model::lrc model{}; // its `combine` is that of `merge`
    bough::rank_t cores = 1;   // that the ranks share
};
demo_costs measure_for_demo();

struct demo_run {
    std::vector<summary> result; // by group
    std::vector<double> ns;      // of each run, ascending
};
// Reduces the numbers on demo_ranks threads by the f-nomial tree of this degree, again and again.
demo_run reduce_on_threads(std::span<const double> numbers, bough::rank_t degree);

} // namespace cli

// bough cannot see that into a callable.
template <>
inline constexpr bool bough::is_commutative_v<cli::merge> = true;

#endif
