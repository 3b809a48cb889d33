// SPDX-License-Identifier: BSL-1.0
// vector_split: a reduce that halves the vector between neighbours a few times, and then has a tree for every part.
//
// With s splits, 2^s ranks next to each other share a vector: in split j a rank keeps the half that its bit j says, gives
// the other half to the rank with the other bit j, and combines. Then rank g + i 2^s is the i-th of the g-th group; every
// group reduces its part over an f-nomial tree, and the roots of the groups send theirs to rank 0.
//
// Ranks       a multiple of 2^s; root 0
// Op          any associative op: neighbours first, then ascending groups
// Source      Moody et al. 2003, section 5.3, after van de Geijn 1991
#ifndef BOUGH_BENCHMARK_FIGURES_VECTOR_SPLIT_HPP
#define BOUGH_BENCHMARK_FIGURES_VECTOR_SPLIT_HPP

#include <bough/schedule/plan.hpp>
#include <bough/tree/fnomial.hpp>

namespace figures {

struct vector_split {
    using serves = bough::goals<bough::goal::reduce>;
    bough::rank_t splits = 0;
    bough::rank_t degree = 2;

    constexpr void emit(const bough::dimensions& at, bough::rank_t rank, bough::StepSink auto& out) const {
        using bough::input, bough::output, bough::rank_t, bough::scratch, bough::block_t;
        block_t first = 0, count = at.blocks;
        bough::buffer have = input;
        for (rank_t j = 0; j != splits; ++j) {
            const bool upper = (rank >> j & 1) != 0;
            const rank_t partner = rank ^ rank_t { 1 } << j;
            count /= 2;
            const block_t given = upper ? first : first + count;
            if (upper) first += count;
            out.send(partner, {have, given, count});
            out.receive(partner, {scratch(1), first, count});
            const bough::slice mine{have, first, count}, theirs{scratch(1), first, count};
            out.combine(upper ? theirs : mine, upper ? mine : theirs, {scratch(0), first, count});
            have = scratch(0);
        }
        const bough::fnomial shape{.degree = degree};
        const rank_t group = rank & ((rank_t{1} << splits) - 1), member = rank >> splits, members = at.size >> splits;
        const bough::buffer sum = rank == 0 ? output : scratch(0);
        const rank_t children = shape.child_count(member, members);
        for (rank_t i = children; i-- != 0;) {
            const bough::slice landed{scratch(2 + i), first, count};
            out.receive(shape.child(member, members, i) << splits | group, landed);
            out.combine({have, first, count}, landed, {sum, first, count});
            have = sum;
        }
        if (member != 0) return out.send(shape.parent(member, members) << splits | group, {have, first, count});
        if (group != 0) return out.send(0, {have, first, count});
        if (children == 0) out.copy({have, first, count}, {output, first, count});
        for (rank_t g = 1; g != rank_t{1} << splits; ++g) out.receive(g, {output, part_of(g), 1});
    }
    constexpr bough::block_t natural_blocks(bough::rank_t) const noexcept { return bough::block_t{1} << splits; }
    constexpr bough::block_t scratch(const bough::dimensions& at, bough::rank_t rank) const {
        const bough::fnomial shape{.degree = degree};
        const bough::block_t halves = splits == 0 ? 0 : at.blocks / 2;
        return 2 * halves + 1 + shape.child_count(rank >> splits, at.size >> splits);
    }
    constexpr bough::status check(const bough::dimensions& at) const noexcept {
        if (at.root != 0) return bough::invalid_argument("root: rank 0 only");
        if (splits > 16 || at.size % (bough::rank_t{1} << splits) != 0)
            return bough::invalid_argument("size: needs a multiple of 2^splits");
        if (at.blocks != bough::natural_blocks && at.blocks != natural_blocks(at.size))
            return bough::invalid_argument("blocks: one for each part");
        return bough::fnomial{.degree = degree}.check();
    }
    constexpr bool keeps_rank_order(const bough::dimensions&) const noexcept { return true; }
    friend constexpr bool operator==(const vector_split&, const vector_split&) = default;

private:
    // The block that group g has after the splits: bit 0 of g decides the highest bit of it.
    constexpr bough::block_t part_of(bough::rank_t g) const noexcept {
        bough::block_t part = 0;
        for (bough::rank_t j = 0; j != splits; ++j) part = part * 2 + (g >> j & 1);
        return part;
    }
};

} // namespace figures

#endif
