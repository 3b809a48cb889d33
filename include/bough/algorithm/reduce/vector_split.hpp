// SPDX-License-Identifier: BSL-1.0
// Reduce by splitting the vector: neighbours halve it between them a few times, each part goes up a
// tree of its own, and the roots of the trees send their parts to the root. It is for slow
// processors, since it divides the combining.
//
//   plan_reduce(vector_split{.splits = 2, .degree = 3}, {.size = 36})
//
// In split j, rank r keeps the half of what it has that bit j of r says, gives the other half to
// rank r xor 2^j, and combines. Then rank g + i 2^s is the i-th of the g-th group, and every group
// reduces its part over an f-nomial tree.
//
// Ranks       a multiple of 2^s; any root
// Op          any associative op: neighbours first, then ascending groups; brackets keep rank order
// Rounds      s, then those of an f-nomial tree over p / 2^s ranks, then 1
// Traffic     a rank sends (1 - 2^-s) m in the splits; every group's tree moves (p / 2^s - 1) m / 2^s
// Combines    (1 - 2^-s) m a rank in the splits, then m / 2^s a child
// Scratch     half a vector to land in, half a vector to accumulate in, one part a child
// Time        C + s (L + r) + (c(m/2) + ... + c(m/2^s)) + the tree over p / 2^s with c(m/2^s) + L +
//             (2^s - 1) r, without the last two terms if s = 0. nic::choose_target chooses the
//             number of splits by the model
// Determinism the bracket depends on p, s and f alone
// Errors      check() names what is out of range
// Source      Moody et al. 2003, section 5.3, after van de Geijn 1991
//
// Picture, p = 8, s = 1, f = 2, two elements u and l (figure 9 of the paper; x+y: op over the ranks x to y)
//   split     0<->1 2<->3 4<->5 6<->7     u: 0+1 in 0, 2+3 in 2, 4+5 in 4, 6+7 in 6;  l: the same in 1, 3, 5, 7
//   trees     2->0 6->4, then 4->0        3->1 7->5, then 5->1
//   root      1->0
#ifndef BOUGH_ALGORITHM_REDUCE_VECTOR_SPLIT_HPP
#define BOUGH_ALGORITHM_REDUCE_VECTOR_SPLIT_HPP

#include <bough/core/label.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/tree/fnomial.hpp>

namespace bough::inline BOUGH_ABI {

struct vector_split {
    using serves = goals<goal::reduce>;
    static constexpr rank_t most_splits = 16;
    static constexpr bool may_hold = true; // what others send may wait where it landed
    rank_t splits = 1;
    rank_t degree = 2;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        block_t first = 0, count = at.blocks;
        buffer have = input;
        for (rank_t j = 0; j != splits; ++j) {
            const bool upper = (rank >> j & 1) != 0;
            const rank_t partner = rank ^ rank_t { 1 } << j;
            count /= 2;
            const block_t given = upper ? first : first + count;
            if (upper) first += count;
            out.send(partner, {have, given, count});
            out.receive(partner, {bough::scratch(1), first, count});
            const slice mine{have, first, count}, theirs{bough::scratch(1), first, count};
            out.combine(upper ? theirs : mine, upper ? mine : theirs, {bough::scratch(0), first, count});
            have = bough::scratch(0);
        }
        const rank_t groups = rank_t{1} << splits;
        const rank_t group = rank & (groups - 1), member = rank >> splits, members = at.size >> splits;
        const fnomial shape{.degree = degree};
        const bool is_root = rank == at.root;
        const buffer sum = is_root && member == 0 ? output : bough::scratch(0);
        const rank_t children = shape.child_count(member, members);
        for (rank_t i = children; i-- != 0;) {
            const slice landed{bough::scratch(2 + i), first, count};
            out.receive(shape.child(member, members, i) << splits | group, landed);
            out.combine({have, first, count}, landed, {sum, first, count});
            have = sum;
        }
        if (member != 0)
            out.send(shape.parent(member, members) << splits | group, {have, first, count});
        else if (!is_root)
            out.send(at.root, {have, first, count});
        else if (children == 0)
            out.copy({have, first, count}, {output, first, count});
        for (rank_t g = 0; is_root && g != groups; ++g)
            if (g != rank) out.receive(g, {output, part_of(g), at.blocks >> splits});
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return block_t{1} << splits; }
    using text_tells = vector_split;
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        const block_t halves = splits == 0 ? 0 : at.blocks / 2;
        return 2 * halves + 1 + fnomial{.degree = degree}.child_count(rank >> splits, at.size >> splits);
    }
    constexpr status check(const dimensions& at) const noexcept {
        if (splits > most_splits) return invalid_argument("splits: 16 are the most");
        if (at.size % (rank_t{1} << splits) != 0) return invalid_argument("size: needs a multiple of 2^splits");
        if (at.blocks != bough::natural_blocks && at.blocks != natural_blocks(at.size))
            return invalid_argument("blocks: one for each part");
        return fnomial{.degree = degree}.check();
    }
    constexpr bool keeps_rank_order(const dimensions&) const noexcept { return true; }
    constexpr label text() const { return label("vector_split").field("splits", splits).field("degree", degree); }
    friend constexpr bool operator==(const vector_split&, const vector_split&) = default;

private:
    // The block that group g has after the splits: bit 0 of g decides the highest bit of it.
    constexpr block_t part_of(rank_t g) const noexcept {
        block_t part = 0;
        for (rank_t j = 0; j != splits; ++j) part = part * 2 + (g >> j & 1);
        return part;
    }
};

} // namespace bough

#endif
