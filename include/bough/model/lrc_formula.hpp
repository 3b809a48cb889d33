// SPDX-License-Identifier: BSL-1.0
// Closed formulas for reductions in the lrc model, and the degree of an f-nomial tree that they recommend.
//
// They look at the root alone and let every phase of the tree begin when the one before has ended. For p ranks, p = f^k
// or p >= 2 f^k (f^k the largest power of f in p), that is what happens. Otherwise a last, incomplete phase may bring a
// subtree that was ready long before, and the formula is above the time of the schedule. It is never below. To choose a
// degree, prefer best_degree_by_walk (bough/model/walk.hpp); these are the second opinion, and cost nothing.
//
// Source: Moody et al., Scalable NIC-based Reduction on Large-scale Clusters, SC 2003, sections 5.1-5.2 and appendix B.
#ifndef BOUGH_MODEL_LRC_FORMULA_HPP
#define BOUGH_MODEL_LRC_FORMULA_HPP

#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/math.hpp>

#include <cstdint>
#include <limits>

namespace bough::inline BOUGH_ABI::model {

// The logarithm of p to the base f, in integers: f^floor <= p <= f^ceil.
struct integer_log {
    rank_t floor = 0;
    rank_t ceil = 0;
    std::uint64_t power = 1; // f^floor

    friend constexpr bool operator==(const integer_log&, const integer_log&) = default;
};

// Pre: f >= 2, p >= 1.
constexpr integer_log log_of(rank_t p, rank_t f) {
    BOUGH_EXPECTS(f >= 2, "degree: an f-nomial tree needs at least 2");
    BOUGH_EXPECTS(p >= 1, "size: a group needs at least one rank");
    integer_log log;
    while (log.power * f <= p) log.power *= f, ++log.floor;
    log.ceil = log.power == p ? log.floor : log.floor + 1;
    return log;
}

// All send to the root, which takes one after the other: C + L + (p - 1)(r + c). One rank alone: C.
constexpr double serial_ns(const lrc& model, rank_t p, std::uint64_t bytes) {
    BOUGH_EXPECTS(p >= 1, "size: a group needs at least one rank");
    if (p == 1) return model.startup_ns;
    return model.startup_ns + model.message_latency_ns + (p - 1) * model.message_ns(bytes);
}

// A full tree, p = f^k: C + k (L + (f - 1)(r + c)).
constexpr double fnomial_full_ns(const lrc& model, rank_t p, rank_t f, std::uint64_t bytes) {
    const integer_log phases = log_of(p, f);
    BOUGH_EXPECTS(phases.power == p, "size: the formula for full trees needs a power of the degree");
    return model.startup_ns + phases.floor * (model.message_latency_ns + (f - 1) * model.message_ns(bytes));
}

// Any p, k = log_f p: C + L ceil(k) + (r + c)(f - 1) floor(k) + (r + c)(ceil(p / f^floor(k)) - 1). An upper bound.
constexpr double fnomial_ns(const lrc& model, rank_t p, rank_t f, std::uint64_t bytes) {
    const integer_log phases = log_of(p, f);
    // The root's children in that phase.
    const std::uint64_t last_phase = (p + phases.power - 1) / phases.power - 1;
    const std::uint64_t messages = std::uint64_t{f - 1} * phases.floor + last_phase;
    return model.startup_ns + phases.ceil * model.message_latency_ns +
           static_cast<double>(messages) * model.message_ns(bytes);
}

// The degree in 2 .. max_degree with the least fnomial_ns; the smallest of equals. Pre: max_degree >= 2.
constexpr rank_t best_degree_by_formula(const lrc& model, rank_t p, std::uint64_t bytes, rank_t max_degree) {
    BOUGH_EXPECTS(max_degree >= 2, "max_degree: an f-nomial tree needs at least 2");
    rank_t best = 2;
    for (rank_t f = 3; f <= max_degree; ++f)
        if (fnomial_ns(model, p, f, bytes) < fnomial_ns(model, p, best, bytes)) best = f;
    return best;
}

// The real f with the least fnomial_full_ns, whatever p: the f >= 1 that solves f (ln f - 1) = L / (r + c) - 1.
// Below 2 there is no such tree: combining is so dear against the network that splitting the vector pays.
// Infinite if messages cost the receiver nothing.
constexpr double best_degree_continuous(const lrc& model, std::uint64_t bytes) {
    const double message_ns = model.message_ns(bytes);
    if (!(message_ns > 0)) return std::numeric_limits<double>::infinity();
    const double right = model.message_latency_ns / message_ns - 1;
    if (!(right > -1)) return 1;
    // The left side is convex and rises for f > 1, so Newton's method falls monotonically onto the root from any f above
    // it. Its value at e is 0 and its slope beyond is at least 1: e + max(right, 0) is such an f.
    double f = 2.718281828459045 + (right > 0 ? right : 0);
    for (;;) {
        const double log = detail::natural_log(f);
        const double next = f - (f * (log - 1) - right) / log;
        if (!(next < f) || !(next > 1)) return f;
        f = next;
    }
}

// The better of the two integers around best_degree_continuous, at least 2: best for full trees.
// Pre: a message costs the receiver something, and the best degree fits a rank_t.
constexpr rank_t best_degree_full(const lrc& model, std::uint64_t bytes) {
    const double f = best_degree_continuous(model, bytes);
    BOUGH_EXPECTS(f < 4.0e9, "model: without a cost of receiving, no degree is too high");
    if (f <= 2) return 2;
    const auto below = static_cast<rank_t>(f);
    const auto price = [&](rank_t degree) { // per unit of ln p
        return (model.message_latency_ns + (degree - 1) * model.message_ns(bytes)) / detail::natural_log(degree);
    };
    return price(below + 1) < price(below) ? below + 1 : below;
}

} // namespace bough::model

#endif
