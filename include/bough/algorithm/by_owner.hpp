// SPDX-License-Identifier: BSL-1.0
// The family by_owner: every rank owns a block of the vector, gets all contributions to it straight from
// their ranks, and combines them in rank order.
//
//   plan_reduce_scatter(by_owner{}, {.size = 7})     each owner has its block
//   plan_allreduce(by_owner{}, {.size = 7})          each owner sends its result to all
//   plan_reduce(by_owner{}, {.size = 7, .root = 3})  each owner sends its result to the root
//
// No rank has a partial result. So an op that combines many at once (rounded_once) needs no wide messages:
// owners get what the ranks hold, and send what it has been rounded to (bough/schedule/series.hpp).
//
// Ranks       any
// Op          any associative op: brackets are in rank order
// Rounds      p - 1 for reduce_scatter; 2 (p - 1) for allreduce and for the root of a reduce
// Traffic     a rank sends p - 1 blocks, and p - 1 more for allreduce, one more for reduce
// Combines    p - 1 blocks a rank
// Scratch     p - 1 blocks to land in, and one for partial results if p > 2 or the result is not kept
// Time        alpha_beta_gamma: reduce_scatter (p - 1) (alpha + n / p (beta + gamma)); allreduce (p - 1)
//             (alpha + n / p beta) more
// Determinism ((0 + 1) + 2) + ... + (p - 1) for every element, whatever the root or the collective
// Pre         one block a rank; for reduce_scatter they may differ in length
// Errors      none of its own
// Source      Rabenseifner 2004, section 2, for the order of messages (a ring with increasing stride)
//
// Picture, p = 7, rank 2: block 2 comes from ranks 1 0 6 5 4 3 in turn
//   (((((0 + 1) + 2) + 3) + 4) + 5) + 6        then block 2 goes to 3 4 5 6 0 1
#ifndef BOUGH_ALGORITHM_BY_OWNER_HPP
#define BOUGH_ALGORITHM_BY_OWNER_HPP

#include <bough/algorithm/detail/block_per_rank.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

namespace bough::inline BOUGH_ABI {

namespace detail {

// What its three collectives share.
struct owned_blocks {
    static constexpr rank_t after(rank_t rank, rank_t by, rank_t size) noexcept {
        return by < size - rank ? rank + by : rank - (size - by);
    }
    static constexpr rank_t before(rank_t rank, rank_t by, rank_t size) noexcept {
        return by <= rank ? rank - by : rank + (size - by);
    }
    // The contributions of all ranks to the block of `rank`, combined into `result`. What comes from rank q
    // lands in plane q; plane `rank` is free for partial results.
    static constexpr void combine(rank_t size, rank_t rank, buffer result, StepSink auto& out) {
        for (rank_t i = 1; i < size; ++i) {
            const rank_t to = after(rank, i, size), from = before(rank, i, size);
            out.send(to, slice{input, to, 1});
            out.receive(from, slice{bough::scratch(from), rank, 1});
        }
        const auto of = [rank](rank_t q) { return slice{q == rank ? input : bough::scratch(q), rank, 1}; };
        const slice partial{bough::scratch(rank), rank, 1};
        slice lower = of(0);
        for (rank_t q = 1; q < size; ++q) {
            const slice made = q + 1 == size ? slice{result, rank, 1} : partial;
            out.combine(lower, of(q), made);
            lower = made;
        }
        if (size == 1) out.copy(lower, slice{result, rank, 1});
    }
};

struct owned_blocks_algorithm {
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    constexpr status check(const dimensions& at) const noexcept { return detail::check_block_per_rank(at); }
    constexpr bool keeps_rank_order(const dimensions&) const noexcept { return true; }
    constexpr bracket_class bracket(const dimensions&) const noexcept { return {bracket_family("by_owner"), 0}; }
    static constexpr bool may_hold = true;
    static constexpr bool combines_in_series = true;
    friend constexpr bool operator==(const owned_blocks_algorithm&, const owned_blocks_algorithm&) = default;
};

} // namespace detail

// Every rank gets the result of the block that it owns.
struct by_owner_reduce_scatter : detail::owned_blocks_algorithm {
    using serves = goals<goal::reduce_scatter>;
    using text_tells = by_owner_reduce_scatter;
    static constexpr bool symmetric = true;
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        detail::owned_blocks::combine(at.size, rank, output, out);
    }
    constexpr block_t scratch(const dimensions& at, rank_t) const noexcept {
        return at.size - 1 + (at.size > 2 ? 1 : 0);
    }
    friend constexpr bool operator==(const by_owner_reduce_scatter&, const by_owner_reduce_scatter&) = default;
};

// Every rank gets the whole result: after the reduce_scatter each owner sends its block to all.
struct by_owner_allreduce : detail::owned_blocks_algorithm {
    using serves = goals<goal::allreduce>;
    using text_tells = by_owner_allreduce;
    static constexpr bool symmetric = true;
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        detail::owned_blocks::combine(at.size, rank, output, out);
        for (rank_t i = 1; i < at.size; ++i) {
            const rank_t from = detail::owned_blocks::before(rank, i, at.size);
            out.send(detail::owned_blocks::after(rank, i, at.size), slice{output, rank, 1});
            out.receive(from, slice{output, from, 1});
        }
    }
    constexpr block_t scratch(const dimensions& at, rank_t) const noexcept {
        return at.size - 1 + (at.size > 2 ? 1 : 0);
    }
    friend constexpr bool operator==(const by_owner_allreduce&, const by_owner_allreduce&) = default;
};

// The root gets the whole result: after the reduce_scatter each owner sends its block there.
struct by_owner_reduce : detail::owned_blocks_algorithm {
    using serves = goals<goal::reduce>;
    using text_tells = by_owner_reduce;
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const bool is_root = rank == at.root;
        detail::owned_blocks::combine(at.size, rank, is_root ? output : bough::scratch(rank), out);
        if (!is_root) return out.send(at.root, slice{bough::scratch(rank), rank, 1});
        for (rank_t i = 1; i < at.size; ++i) {
            const rank_t from = detail::owned_blocks::before(rank, i, at.size);
            out.receive(from, slice{output, from, 1});
        }
    }
    constexpr block_t scratch(const dimensions& at, rank_t rank) const noexcept {
        return at.size - 1 + (at.size > 2 || rank != at.root ? 1 : 0);
    }
    friend constexpr bool operator==(const by_owner_reduce&, const by_owner_reduce&) = default;
};

struct by_owner {
    constexpr by_owner_reduce_scatter algorithm_for(goal::reduce_scatter) const noexcept { return {}; }
    constexpr by_owner_allreduce algorithm_for(goal::allreduce) const noexcept { return {}; }
    constexpr by_owner_reduce algorithm_for(goal::reduce) const noexcept { return {}; }
    friend constexpr bool operator==(const by_owner&, const by_owner&) = default;
};

} // namespace bough

#endif
