// SPDX-License-Identifier: BSL-1.0
// Fit: the lrc model of a network from timed serial reductions, in which all ranks send to the root.
//
// Run them with an op that does nothing and with the real one, on a few rank counts. The time of a run is
// C + L + (p - 1) r without the op, and C + L + (p - 1)(r + c) with it: r is the slope over p of
// the first, c the difference of the slopes. With messages of several sizes, r and c get a part per
// byte, too.
//
// The intercept is C + L, and no set of such runs can tell the two apart; but a run of one rank takes C. With samples
// of p = 1 the fit separates them. Without these, all of it goes to L, `start_separated` is false,
// and trees, which pay L in each phase, look dearer than they are. C is taken to be the same with
// and without the op.
//
// *Source* Moody et al., Scalable NIC-based Reduction on Large-scale Clusters, SC 2003, section 5.1.
#ifndef BOUGH_MODEL_FIT_HPP
#define BOUGH_MODEL_FIT_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/model/detail/least_squares.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/math.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::model {

// One timed serial reduction.
struct reduction_sample {
    rank_t ranks = 1;
    std::uint64_t bytes = 0;
    bool with_op = false; // false: the run used an op that does nothing
    double ns = 0;
    friend constexpr bool operator==(const reduction_sample&, const reduction_sample&) = default;
};

// How samples are treated.
struct fit_options {
    // Replace equal runs by their median first: outliers (an interrupted process) then do not count, and each kind of
    // run weighs the same however often it was repeated.
    bool medians = false;
};

// The fitted model, and how well it fits.
struct lrc_fit {
    status error{}; // invalid_argument: what the samples lack. Then nothing else here means anything.
    lrc model{};
    bool start_separated = false; // could C be told from L?
    std::size_t points_used = 0;
    double residual_rms_ns = 0; // of the model against the points used
    double residual_max_ns = 0;
};

namespace detail {

template <int = 0>
constexpr std::vector<reduction_sample> medians_of(std::vector<reduction_sample> samples) {
    const auto kind_less = [](const reduction_sample& a, const reduction_sample& b) {
        if (a.ranks != b.ranks) return a.ranks < b.ranks;
        return a.bytes != b.bytes ? a.bytes < b.bytes : a.with_op < b.with_op;
    };
    std::sort(samples.begin(), samples.end(), [&](const reduction_sample& a, const reduction_sample& b) {
        return kind_less(a, b) || (!kind_less(b, a) && a.ns < b.ns);
    });
    std::vector<reduction_sample> medians;
    for (std::size_t first = 0, last = 0; first != samples.size(); first = last) {
        while (last != samples.size() && !kind_less(samples[first], samples[last])) ++last;
        const std::size_t middle = first + (last - first) / 2;
        medians.push_back(samples[middle]);
        if ((last - first) % 2 == 0) medians.back().ns = (samples[middle - 1].ns + samples[middle].ns) / 2;
    }
    return medians;
}

// Are there two runs of this kind, with p >= 2, that differ in `member`?
template <class T>
constexpr bool varies(std::span<const reduction_sample> samples, bool with_op, T reduction_sample::*member) {
    const reduction_sample* seen = nullptr;
    for (const reduction_sample& s : samples) {
        if (s.ranks < 2 || s.with_op != with_op) continue;
        if (seen != nullptr && s.*member != seen->*member) return true;
        seen = &s;
    }
    return false;
}

constexpr double serial_sample_ns(const lrc& m, const reduction_sample& s) {
    if (s.ranks == 1) return m.startup_ns;
    const double message_ns = m.receive.at_ns(s.bytes) + (s.with_op ? m.combine.at_ns(s.bytes) : 0);
    return m.startup_ns + m.message_latency_ns + (s.ranks - 1) * message_ns;
}

template <int = 0>
constexpr status check_samples(std::span<const reduction_sample> samples) {
    bool any_with_op = false;
    for (const reduction_sample& s : samples) {
        if (s.ranks == 0) return invalid_argument("samples: a run needs at least one rank");
        if (!(s.ns >= 0 && s.ns <= std::numeric_limits<double>::max()))
            return invalid_argument("samples: a time must be finite and not negative");
        any_with_op = any_with_op || (s.with_op && s.ranks >= 2);
    }
    if (!varies(samples, false, &reduction_sample::ranks))
        return invalid_argument("samples: r needs runs without the op on two different rank counts above 1");
    if (any_with_op && !varies(samples, true, &reduction_sample::ranks))
        return invalid_argument("samples: c needs runs with the op on two different rank counts above 1");
    return {};
}

} // namespace detail

// Fits the model. Without any runs with the op, c is 0. Estimates below 0, which noise can produce,
// become 0.
template <int = 0>
constexpr lrc_fit fit_lrc(std::span<const reduction_sample> samples, fit_options options = {}) {
    lrc_fit fit;
    fit.error = detail::check_samples(samples);
    if (fit.error) return fit;
    std::vector<reduction_sample> points(samples.begin(), samples.end());
    if (options.medians) points = detail::medians_of(std::move(points));

    // Unknowns: C + L; r and its part per byte; c and its part per byte. A part that no sample
    // shows is left out.
    std::vector<std::array<double, 5>> rows;
    std::vector<double> times;
    const double r_sized = detail::varies(points, false, &reduction_sample::bytes) ? 1 : 0;
    const double c_sized = detail::varies(points, true, &reduction_sample::bytes) ? 1 : 0;
    double start_ns = 0;
    std::size_t starts = 0;
    for (const reduction_sample& s : points) {
        if (s.ranks == 1) {
            start_ns += s.ns;
            ++starts;
            continue;
        }
        const double messages = s.ranks - 1;
        const double combines = s.with_op ? messages : 0;
        const auto size = static_cast<double>(s.bytes);
        rows.push_back({1, messages, messages * size * r_sized, combines, combines * size * c_sized});
        times.push_back(s.ns);
    }
    std::array<double, 5> found{};
    if (!detail::least_squares(rows, times, found)) {
        fit.error = invalid_argument("samples: too few combinations of rank count and size to tell the costs apart");
        return fit;
    }
    const auto cost = [](double ns) { return ns > 0 ? ns : 0; };
    fit.start_separated = starts != 0;
    fit.model.startup_ns = starts != 0 ? start_ns / static_cast<double>(starts) : 0;
    fit.model.message_latency_ns = cost(found[0] - fit.model.startup_ns);
    fit.model.receive = {cost(found[1]), cost(found[2])};
    fit.model.combine = {cost(found[3]), cost(found[4])};

    double squares = 0;
    for (const reduction_sample& s : points) {
        const double off = s.ns - detail::serial_sample_ns(fit.model, s);
        squares += off * off;
        fit.residual_max_ns = std::max(fit.residual_max_ns, off < 0 ? -off : off);
    }
    fit.points_used = points.size();
    fit.residual_rms_ns = detail::square_root(squares / static_cast<double>(points.size()));
    return fit;
}

} // namespace bough::model

#endif
