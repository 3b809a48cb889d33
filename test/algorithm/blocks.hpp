// SPDX-License-Identifier: BSL-1.0
// The algorithms that work on one block a rank, with their rounds; and what a proof of one checks besides.
#ifndef BOUGH_TEST_ALGORITHM_BLOCKS_HPP
#define BOUGH_TEST_ALGORITHM_BLOCKS_HPP

#include "scratch_used.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allgather/bruck.hpp>
#include <bough/algorithm/allgather/neighbour_exchange.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/lowest_bit_first.hpp>
#include <bough/algorithm/reduce_scatter/pairwise.hpp>
#include <bough/algorithm/reverse.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/schedule/print.hpp>
#include <bough/verify/verify_claims.hpp>

#include <cstdint>
#include <string>
#include <type_traits>

namespace test {

using bough::rank_t;

constexpr rank_t ceil_log(std::uint64_t base, rank_t size) {
    rank_t log = 0;
    for (std::uint64_t power = 1; power < size; power *= base) ++log;
    return log;
}

// Rounds of the lowest-bit-first algorithms: the a furthest distances, then the offsets of what is left one by one.
constexpr rank_t limited_rounds(rank_t limit, rank_t size) {
    if (size == 1) return 0;
    const rank_t levels = ceil_log(2, size);
    rank_t a = 0;
    while (a + 1 < levels && (limit == 0 || (2u << a) <= limit)) ++a;
    return a == 0 ? size - 1 : a + (1u << (levels - a)) - 1;
}

inline constexpr rank_t any_rounds = 0xffff'ffffu; // not stated for one port

// Calls f(name, algorithm, rounds).
template <class F>
void for_each_allgather(rank_t p, F f) {
    using namespace bough;
    f("ring", ring_allgather{}, p - 1);
    f("circulant", circulant_allgather{}, ceil_log(2, p));
    f("circulant, 2 ports", circulant_allgather{.ports = 2}, any_rounds);
    f("circulant, 5 ports", circulant_allgather{.ports = 5}, any_rounds);
    f("bruck", bruck_allgather{}, ceil_log(2, p));
    f("bruck, 3 ports", bruck_allgather{.ports = 3}, any_rounds);
    f("lowest bit first", lowest_bit_first_allgather{}, ceil_log(2, p));
    for (const block_t limit : {1u, 2u, 5u, 8u})
        f("lowest bit first, limited", lowest_bit_first_allgather{.aggregation_limit = limit},
          limited_rounds(limit, p));
    for (const block_t blocks : {1u, 10u, 40u})
        f("lowest bit first, in few blocks", lowest_bit_first_allgather{.scratch_limit = blocks}, any_rounds);
    if (p % 2 == 0) f("neighbour exchange", neighbour_exchange{}, p / 2);
}
template <class F>
void for_each_reduce_scatter(rank_t p, F f) {
    using namespace bough;
    f("ring", ring_reduce_scatter{}, p - 1);
    f("pairwise", pairwise_reduce_scatter{}, p - 1);
    f("circulant", circulant_reduce_scatter{}, ceil_log(2, p));
    f("circulant, 2 ports", circulant_reduce_scatter{.ports = 2}, any_rounds);
    f("circulant, 5 ports", circulant_reduce_scatter{.ports = 5}, any_rounds);
    f("lowest bit first", lowest_bit_first_reduce_scatter{}, ceil_log(2, p));
    for (const block_t limit : {1u, 2u, 5u, 8u})
        f("lowest bit first, limited", lowest_bit_first_reduce_scatter{.aggregation_limit = limit},
          limited_rounds(limit, p));
    for (const block_t blocks : {10u, 20u, 60u})
        f("lowest bit first, in few blocks", lowest_bit_first_reduce_scatter{.scratch_limit = blocks}, any_rounds);
    f("bruck, reversed", reverse(bruck_allgather{}, 1), ceil_log(2, p));
    f("bruck, 3 ports, reversed", reverse(bruck_allgather{.ports = 3}), any_rounds);
    if (p % 2 == 0) f("neighbour exchange, reversed", reverse(neighbour_exchange{}, 1), p / 2);
}

// Proves a plan and its claims; with buffers it gives the same; its scratch is what it declares.
template <bough::Plan P>
bough::plan_traits prove(const P& plan) {
    const bough::claim_verdict claimed = verify_claims(plan);
    const bough::verdict proof = claimed.proof;
    CAPTURE(to_string(proof), static_cast<int>(claimed.untrue), claimed.rank);
    REQUIRE(claimed);
    for (const std::uint32_t slots : {1u, 3u}) {
        if (plan.size() > (slots == 1 ? 64u : 16u)) continue;
        bough::verdict buffered = verify(plan, {.eager_slots = slots});
        buffered.traits.rounds = proof.traits.rounds;
        REQUIRE(buffered == proof);
    }
    if (plan.size() <= 40)
        for (rank_t r = 0; r != plan.size(); ++r) REQUIRE(scratch_used(plan, r) == plan.scratch(r));
    return proof.traits;
}

// A rank's messages, parts of the vector as letters: ">1 EFGH" is a send to rank 1, "<1 ABCD" a receive from it.
inline std::string messages_of(const bough::schedule& steps) {
    std::string text;
    for (const bough::step& s : steps) {
        if (!s.communicates()) continue;
        const bough::slice& moved = s.verb == bough::verb::send ? s.a : s.out;
        text += (text.empty() ? "" : ", ") + std::string(s.verb == bough::verb::send ? ">" : "<") +
                std::to_string(s.peer) + " ";
        for (bough::block_t b = moved.first; b != moved.last(); ++b) text += static_cast<char>('A' + b);
    }
    return text;
}

} // namespace test

#endif
