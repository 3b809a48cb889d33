// SPDX-License-Identifier: BSL-1.0
// Statistics of repeated runs: repeats a simulation, and gives percentiles, mean, deviation and a
// histogram of the sample.
//
//   sample s = simulate_many(plan, model, options, 1000);     seeds options.noise.seed, + 1, + 2 ...
//   s.percentile(99)  s.mean()  s.deviation()  s.histogram(20)  s.share_within(4000)  s.without_highest(1)
#ifndef BOUGH_SIMULATE_STATISTICS_HPP
#define BOUGH_SIMULATE_STATISTICS_HPP

#include <bough/core/contract.hpp>
#include <bough/model/math.hpp>
#include <bough/simulate/simulate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

class sample {
public:
    struct bin {
        double from = 0, to = 0; // from <= x < to; the last bin includes its `to`
        std::size_t count = 0;
        friend constexpr bool operator==(const bin&, const bin&) = default;
    };

    constexpr explicit sample(std::vector<double> values) : sorted_(std::move(values)) {
        BOUGH_EXPECTS(!sorted_.empty(), "values: a sample has at least one");
        std::sort(sorted_.begin(), sorted_.end());
    }

    constexpr std::size_t size() const noexcept { return sorted_.size(); }
    constexpr const std::vector<double>& sorted() const noexcept { return sorted_; }
    constexpr double least() const noexcept { return sorted_.front(); }
    constexpr double most() const noexcept { return sorted_.back(); }
    // The least value that `percent` of the values do not exceed. Pre: 0 <= percent <= 100.
    constexpr double percentile(double percent) const {
        BOUGH_EXPECTS(percent >= 0 && percent <= 100, "percent: between 0 and 100");
        const double exact = percent / 100 * static_cast<double>(size());
        std::size_t rank = static_cast<std::size_t>(exact);
        if (static_cast<double>(rank) < exact) ++rank;
        return sorted_[rank == 0 ? 0 : rank - 1];
    }
    constexpr double mean() const noexcept {
        double mean = 0, count = 0;
        for (const double x : sorted_) mean += (x - mean) / ++count;
        return mean;
    }
    // The standard deviation of the sample, with n - 1; 0 for one value.
    constexpr double deviation() const noexcept {
        const double middle = mean();
        double squares = 0;
        for (const double x : sorted_) squares += (x - middle) * (x - middle);
        return size() < 2 ? 0 : model::detail::square_root(squares / static_cast<double>(size() - 1));
    }
    // The largest share of the values that lie in one interval of this width.
    constexpr double share_within(double width) const noexcept {
        std::size_t most = 0, first = 0;
        for (std::size_t i = 0; i != size(); ++i) {
            while (sorted_[i] - sorted_[first] > width) ++first;
            most = std::max(most, i + 1 - first);
        }
        return static_cast<double>(most) / static_cast<double>(size());
    }
    // The sample without the highest `percent` percent of its values. At least one value is kept.
    // Pre: 0 <= percent <= 100.
    constexpr sample without_highest(double percent) const {
        BOUGH_EXPECTS(percent >= 0 && percent <= 100, "percent: between 0 and 100");
        const double out = percent / 100 * static_cast<double>(size());
        const std::size_t kept = std::max<std::size_t>(1, size() - static_cast<std::size_t>(out));
        return sample(std::vector<double>(sorted_.begin(), sorted_.begin() + static_cast<std::ptrdiff_t>(kept)));
    }
    // A histogram with `bins` equal parts of [least, most]. Pre: bins >= 1.
    constexpr std::vector<bin> histogram(std::size_t bins) const {
        BOUGH_EXPECTS(bins >= 1, "bins: at least one");
        std::vector<bin> all;
        const double width = (most() - least()) / static_cast<double>(bins);
        for (std::size_t i = 0; i != bins; ++i)
            all.push_back({least() + width * static_cast<double>(i), least() + width * static_cast<double>(i + 1), 0});
        std::size_t at = 0;
        for (const double x : sorted_) {
            while (at + 1 != bins && x >= all[at].to) ++at;
            ++all[at].count;
        }
        return all;
    }

private:
    std::vector<double> sorted_;
};

// Simulates `runs` runs, each with the next seed, and samples figure(result). Pre: runs >= 1.
template <Plan P, CostModel M, class Figure>
constexpr sample simulate_many(const P& plan, const M& model, sim_options options, std::uint32_t runs, Figure figure) {
    std::vector<double> found;
    for (std::uint32_t i = 0; i != runs; ++i) {
        found.push_back(figure(simulate(plan, model, options)));
        ++options.noise.seed;
    }
    return sample(std::move(found));
}
// Samples the latencies: the time from the last arrival until the last rank ends.
template <Plan P, CostModel M>
constexpr sample simulate_many(const P& plan, const M& model, sim_options options, std::uint32_t runs) {
    return simulate_many(plan, model, std::move(options), runs, [](const sim_result& r) { return r.latency_ns(); });
}

} // namespace bough

#endif
