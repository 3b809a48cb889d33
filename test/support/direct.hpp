// SPDX-License-Identifier: BSL-1.0
// The plainest algorithms of the collectives that have better ones: every message goes straight to where its blocks are
// needed, or along the chain of ranks. For tests that want an algorithm of their own.
#ifndef BOUGH_TEST_SUPPORT_DIRECT_HPP
#define BOUGH_TEST_SUPPORT_DIRECT_HPP

#include <bough/schedule/plan.hpp>

namespace test {

namespace detail {
// What the algorithms with one block a rank have in common.
struct one_block_a_rank {
    constexpr bough::block_t natural_blocks(bough::rank_t size) const noexcept { return size; }
    constexpr bough::status check(const bough::dimensions& at) const noexcept {
        const bool fits = at.blocks == at.size || at.blocks == bough::natural_blocks;
        return fits ? bough::status{} : bough::invalid_argument("blocks: must be the number of ranks");
    }
    friend constexpr bool operator==(const one_block_a_rank&, const one_block_a_rank&) = default;
};
// The same with one for every two ranks.
struct one_block_a_pair {
    constexpr bough::block_t natural_blocks(bough::rank_t size) const noexcept { return size * size; }
    constexpr bough::status check(const bough::dimensions& at) const noexcept {
        const bool fits = at.blocks == at.size * at.size || at.blocks == bough::natural_blocks;
        return fits ? bough::status{} : bough::invalid_argument("blocks: must be the number of pairs of ranks");
    }
    friend constexpr bool operator==(const one_block_a_pair&, const one_block_a_pair&) = default;
};
// And with any number.
struct any_blocks {
    constexpr bough::block_t natural_blocks(bough::rank_t) const noexcept { return 1; }
    constexpr bough::status check(const bough::dimensions&) const noexcept { return {}; }
    friend constexpr bool operator==(const any_blocks&, const any_blocks&) = default;
};
} // namespace detail

// Everybody sends each rank its block; who has them all folds them from rank 0 on.
struct direct_reduce_scatter : detail::one_block_a_rank {
    using serves = bough::goals<bough::goal::reduce_scatter>;
    constexpr void emit(const bough::dimensions& at, bough::rank_t rank, bough::StepSink auto& out) const {
        using namespace bough;
        const auto of = [rank](rank_t q) { return slice{q == rank ? input : bough::scratch(q), rank, 1}; };
        for (rank_t q = 0; q != at.size; ++q)
            if (q != rank) out.send(q, slice{input, q, 1});
        for (rank_t q = 0; q != at.size; ++q)
            if (q != rank) out.receive(q, of(q));
        const slice sum{bough::scratch(rank), rank, 1};
        if (at.size == 1) out.copy(of(0), sum.in(output));
        for (rank_t q = 1; q < at.size; ++q)
            out.combine(q == 1 ? of(0) : sum, of(q), q + 1 == at.size ? sum.in(output) : sum);
    }
    constexpr bough::block_t scratch(const bough::dimensions& at, bough::rank_t) const noexcept {
        return at.size - (at.size <= 2 ? 1 : 0);
    }
    constexpr bool keeps_rank_order(const bough::dimensions&) const noexcept { return true; }
    friend constexpr bool operator==(const direct_reduce_scatter&, const direct_reduce_scatter&) = default;
};

// Everybody sends its block to all others.
struct direct_allgather : detail::one_block_a_rank {
    using serves = bough::goals<bough::goal::allgather>;
    constexpr void emit(const bough::dimensions& at, bough::rank_t rank, bough::StepSink auto& out) const {
        using namespace bough;
        for (rank_t q = 0; q != at.size; ++q)
            if (q != rank) out.send(q, slice{input, rank, 1});
        for (rank_t q = 0; q != at.size; ++q)
            if (q != rank) out.receive(q, slice{output, q, 1});
        out.copy(slice{input, rank, 1}, slice{output, rank, 1});
    }
    constexpr bough::block_t scratch(const bough::dimensions&, bough::rank_t) const noexcept { return 0; }
    friend constexpr bool operator==(const direct_allgather&, const direct_allgather&) = default;
};

// Every block goes straight to its rank.
struct direct_alltoall : detail::one_block_a_pair {
    using serves = bough::goals<bough::goal::alltoall>;
    constexpr void emit(const bough::dimensions& at, bough::rank_t rank, bough::StepSink auto& out) const {
        using namespace bough;
        const rank_t p = at.size;
        for (rank_t q = 0; q != p; ++q)
            if (q != rank) out.send(q, slice{input, rank * p + q, 1});
        for (rank_t q = 0; q != p; ++q)
            if (q != rank) out.receive(q, slice{output, q * p + rank, 1});
        out.copy(slice{input, rank * p + rank, 1}, slice{output, rank * p + rank, 1});
    }
    constexpr bough::block_t scratch(const bough::dimensions&, bough::rank_t) const noexcept { return 0; }
    friend constexpr bool operator==(const direct_alltoall&, const direct_alltoall&) = default;
};
// Every block goes by way of its sender's right neighbour.
struct relayed_alltoall : detail::one_block_a_pair {
    using serves = bough::goals<bough::goal::alltoall>;
    constexpr void emit(const bough::dimensions& at, bough::rank_t rank, bough::StepSink auto& out) const {
        using namespace bough;
        const rank_t p = at.size;
        for (rank_t i = 0; i != p; ++i)
            for (rank_t j = 0; j != p; ++j) {
                const slice mine{input, i * p + j, 1}, relayed = mine.in(bough::scratch(0)), got = mine.in(output);
                const rank_t relay = (i + 1) % p;
                if (i == j && i == rank) out.copy(mine, got);
                if (i == j) continue;
                if (i == rank) out.send(relay, mine);
                if (relay == rank) out.receive(i, relay == j ? got : relayed);
                if (relay == j) continue;
                if (relay == rank) out.send(j, relayed);
                if (j == rank) out.receive(relay, got);
            }
    }
    constexpr bough::block_t scratch(const bough::dimensions& at, bough::rank_t) const noexcept {
        return at.size < 3 ? 0 : at.size - 2;
    }
    friend constexpr bool operator==(const relayed_alltoall&, const relayed_alltoall&) = default;
};

} // namespace test

#endif
