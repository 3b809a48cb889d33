// SPDX-License-Identifier: BSL-1.0
// Closed formulas in the alpha_beta_gamma model: the paper's, and those of newer algorithms. They
// give ns for n bytes and p ranks.
//
// In the comments q = ceil(log2 p), p' = 2^floor(log2 p), and a', b' are f_alpha alpha and f_beta beta. The formulas cut the
// vector into equal parts, also where p does not divide it. Against the walk (bough/model/walk.hpp) of the schedule they are
//   equal   for every p: trees, halving_gather, ring, circulant, lowest_bit_first, circulant broadcast,
//           chain, levels; for powers of two: all
//   above   by one_way_discount_ns, for other p: recursive_doubling and halving_doubling. One of
//           their transfers before and after the exchanges goes one way only, and the paper prices
//           it as half of an exchange
//   below   for pairwise exchange in rank order: ring_reduce_scatter_ns lacks at most one combine
//           of a block
//   above   where steps overlap because messages land early: trees, for some p
// A formula is a second opinion. To choose an algorithm, use the walk.
//
// Source: Rabenseifner, Optimization of Collective Reduction Operations, ICCS 2004, sections 2.3 to 2.7; for the newer ones
// see the headers of the algorithms.
#ifndef BOUGH_MODEL_ALPHA_BETA_GAMMA_FORMULA_HPP
#define BOUGH_MODEL_ALPHA_BETA_GAMMA_FORMULA_HPP

#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/math.hpp>

#include <bit>
#include <cstdint>

namespace bough::inline BOUGH_ABI::model {

namespace detail {

// The letters of the formulas.
struct abg_terms {
    double q, log_floor, power; // q, log2 p', p'
    double a, nb, ng, a1, nb1;  // alpha, n beta, n gamma, a', n b'
    double p;
    bool is_power;

    constexpr abg_terms(const alpha_beta_gamma& m, rank_t size, std::uint64_t bytes)
        : q(0), log_floor(0), power(0), a(m.alpha_ns), nb(m.beta_ns_per_byte * static_cast<double>(bytes)),
          ng(m.gamma_ns_per_byte * static_cast<double>(bytes)), a1(m.f_alpha * a), nb1(m.f_beta * nb), p(size),
          is_power(std::has_single_bit(size)) {
        BOUGH_EXPECTS(size >= 1, "size: a group needs at least one rank");
        q = std::bit_width(size - 1);
        log_floor = std::bit_width(size) - 1;
        power = std::bit_floor(size);
    }
    // The part of the vector that a rank sends at least.
    constexpr double share() const { return (p - 1) / p; }
};

} // namespace detail

// How much more a transfer of n bytes costs as half of an exchange than by itself.
constexpr double one_way_discount_ns(const alpha_beta_gamma& m, std::uint64_t bytes) {
    return m.exchange_ns(bytes) - m.one_way_ns(bytes);
}

// Section 2.3, binomial trees: q (a' + n b' + n gamma); and a broadcast after it: q (2 a' + 2 n b' + n gamma).
constexpr double tree_broadcast_ns(const alpha_beta_gamma& m, rank_t p, std::uint64_t bytes) {
    const detail::abg_terms t(m, p, bytes);
    return t.q * (t.a1 + t.nb1);
}
constexpr double tree_reduce_ns(const alpha_beta_gamma& m, rank_t p, std::uint64_t bytes) {
    const detail::abg_terms t(m, p, bytes);
    return t.q * (t.a1 + t.nb1 + t.ng);
}
constexpr double tree_allreduce_ns(const alpha_beta_gamma& m, rank_t p, std::uint64_t bytes) {
    return tree_reduce_ns(m, p, bytes) + tree_broadcast_ns(m, p, bytes);
}

// Section 2.4: q (alpha + n beta + n gamma), and a' + n b' unless p is a power of two.
constexpr double recursive_doubling_allreduce_ns(const alpha_beta_gamma& m, rank_t p, std::uint64_t bytes) {
    const detail::abg_terms t(m, p, bytes);
    return t.q * (t.a + t.nb + t.ng) + (t.is_power ? 0 : t.a1 + t.nb1);
}

// Section 2.5, allreduce: 2 log2 p alpha + (1 - 1/p) (2 n beta + n gamma); otherwise
// (2 log2 p' + 2 + f_alpha) alpha + (3 + (1 + f_beta) / 2) n beta + 3/2 n gamma - (2 n beta + n gamma) / p'.
constexpr double halving_doubling_allreduce_ns(const alpha_beta_gamma& m, rank_t p, std::uint64_t bytes) {
    const detail::abg_terms t(m, p, bytes);
    const double core = 2 * t.log_floor * t.a + (1 - 1 / t.power) * (2 * t.nb + t.ng);
    if (t.is_power) return core;
    return core + 2 * t.a + t.a1 + t.nb + (t.nb + t.nb1) / 2 + t.ng / 2;
}

// Section 2.5, reduce: log2 p (1 + f_alpha) alpha + (1 - 1/p) ((1 + f_beta) n beta + n gamma); otherwise
// (log2 p' + 1) (1 + f_alpha) alpha + (1 + (1 + f_beta) / 2 + f_beta) n beta + 3/2 n gamma
// - ((1 + f_beta) n beta + n gamma) / p'.
constexpr double halving_gather_reduce_ns(const alpha_beta_gamma& m, rank_t p, std::uint64_t bytes) {
    const detail::abg_terms t(m, p, bytes);
    const double core = t.log_floor * (t.a + t.a1) + (1 - 1 / t.power) * (t.nb + t.nb1 + t.ng);
    return t.is_power ? core : core + t.a + t.a1 + (t.nb + t.nb1) / 2 + t.ng / 2;
}

// Section 2.7: p - 1 exchanges with rising strides, then p - 1 around the ring; or each rank sends its part to the root.
constexpr double ring_reduce_scatter_ns(const alpha_beta_gamma& m, rank_t p, std::uint64_t bytes) {
    const detail::abg_terms t(m, p, bytes);
    return (t.p - 1) * t.a + t.share() * (t.nb + t.ng);
}
constexpr double ring_allgather_ns(const alpha_beta_gamma& m, rank_t p, std::uint64_t bytes) {
    const detail::abg_terms t(m, p, bytes);
    return (t.p - 1) * t.a + t.share() * t.nb;
}
constexpr double ring_allreduce_ns(const alpha_beta_gamma& m, rank_t p, std::uint64_t bytes) {
    return ring_reduce_scatter_ns(m, p, bytes) + ring_allgather_ns(m, p, bytes);
}
constexpr double ring_reduce_ns(const alpha_beta_gamma& m, rank_t p, std::uint64_t bytes) {
    const detail::abg_terms t(m, p, bytes);
    return ring_reduce_scatter_ns(m, p, bytes) + (t.p - 1) * t.a1 + t.share() * t.nb1;
}

// Circulant, lowest_bit_first: q rounds and p - 1 blocks for every p.
constexpr double circulant_reduce_scatter_ns(const alpha_beta_gamma& m, rank_t p, std::uint64_t bytes) {
    const detail::abg_terms t(m, p, bytes);
    return t.q * t.a + t.share() * (t.nb + t.ng);
}
constexpr double circulant_allgather_ns(const alpha_beta_gamma& m, rank_t p, std::uint64_t bytes) {
    const detail::abg_terms t(m, p, bytes);
    return t.q * t.a + t.share() * t.nb;
}
constexpr double circulant_allreduce_ns(const alpha_beta_gamma& m, rank_t p, std::uint64_t bytes) {
    return circulant_reduce_scatter_ns(m, p, bytes) + circulant_allgather_ns(m, p, bytes);
}

// A pipeline of `blocks` blocks whose first block takes `depth` steps: (blocks - 1 + depth) (alpha + n beta / blocks).
// Circulant broadcast: depth q, which no one-ported broadcast can undercut. A chain: depth p - 1.
constexpr double pipeline_ns(const alpha_beta_gamma& m, rank_t depth, std::uint64_t bytes, std::uint64_t blocks) {
    BOUGH_EXPECTS(blocks >= 1, "blocks: needs at least one");
    if (depth == 0) return 0;
    const auto n = static_cast<double>(blocks);
    return (n - 1 + depth) * (m.alpha_ns + m.beta_ns_per_byte * static_cast<double>(bytes) / n);
}
constexpr double circulant_broadcast_ns(const alpha_beta_gamma& m, rank_t p, std::uint64_t bytes,
                                        std::uint64_t blocks) {
    BOUGH_EXPECTS(p >= 1, "size: a group needs at least one rank");
    return pipeline_ns(m, static_cast<rank_t>(std::bit_width(p - 1)), bytes, blocks);
}
constexpr double chain_broadcast_ns(const alpha_beta_gamma& m, rank_t p, std::uint64_t bytes, std::uint64_t blocks) {
    BOUGH_EXPECTS(p >= 1, "size: a group needs at least one rank");
    return pipeline_ns(m, p - 1, bytes, blocks);
}

// With sqrt((depth - 1) n beta / alpha) blocks, if that were a whole number: no other number of blocks takes less.
// bough::pipelined_blocks has the best whole number.
constexpr double best_pipeline_ns(const alpha_beta_gamma& m, rank_t depth, std::uint64_t bytes) {
    if (depth == 0) return 0;
    const double nb = m.beta_ns_per_byte * static_cast<double>(bytes);
    const double root = detail::square_root((depth - 1) * m.alpha_ns) + detail::square_root(nb);
    return root * root;
}

// Broadcast by a binomial scatter and an allgather of q rounds: 2 q alpha + 2 (p - 1) / p n beta, or with a ring
// (q + p - 1) alpha. For full duplex; the scatter goes one way.
constexpr double scatter_allgather_broadcast_ns(const alpha_beta_gamma& m, rank_t p, std::uint64_t bytes) {
    const detail::abg_terms t(m, p, bytes);
    return t.q * t.a1 + t.share() * t.nb1 + circulant_allgather_ns(m, p, bytes);
}

// One level of a per-level allreduce on a vector of n bytes, with full duplex: f groups share it
// directly, 2 (f - 1) (alpha + n beta / f) + (f - 1) n gamma / f. Triples among the groups add
// 2 alpha + n beta + n gamma / 2.
constexpr double level_allreduce_ns(const alpha_beta_gamma& m, rank_t radix, bool triples, std::uint64_t bytes) {
    BOUGH_EXPECTS(radix >= 2, "radix: a level joins at least two");
    const detail::abg_terms t(m, radix, bytes);
    const double direct = 2 * (t.p - 1) * t.a + t.share() * (2 * t.nb + t.ng);
    return triples ? direct + 2 * t.a + t.nb + t.ng / 2 : direct;
}

} // namespace bough::model

#endif
