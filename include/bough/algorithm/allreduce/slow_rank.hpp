// SPDX-License-Identifier: BSL-1.0
// Allreduce around a slow rank, or a rank with a slow cable: that rank sends its vector once and gets
// the result once; the others do the rest among themselves.
//
//   plan_allreduce(slow_rank_allreduce{.slow = 3}, {.size = 8, .blocks = 16 * 7})      16 chunks
//
// Each chunk of the vector has a block for each of the other ranks. The slow rank sends each of them its
// block; meanwhile the others reduce and scatter the chunk among themselves. Then each of the others
// combines its block with what it got from the slow rank. They gather all blocks, and each returns its
// block of the result to the slow rank. The phases of several chunks overlap; at most 3 chunks of the
// slow rank are under way.
//
// Ranks       any
// Op          commutative
// Rounds      2 ceil(log2(p - 1)) for one chunk; meanwhile the slow rank sends p - 1 messages, and takes as
//             many
// Traffic     of a vector m, the slow rank sends m and receives m; any other sends (2 - 1 / (p - 1)) m
// Combines    m on any rank but the slow one
// Scratch     of any rank but the slow one: m (p + 1) / p to land in
// Time        with bandwidth B, and x B of the slow rank, at least max(m / (x B), (2 - 1 / (p - 1)) m / B),
//             towards which it goes with many chunks where messages share a port. With one message at a
//             time each way, and c chunks, between c t and c t + 2 h + 2 s, t = max((p - 1) s, 2 h + 2 s);
//             s: a message from or to the slow rank, h: one half among the others. A ring takes
//             2 (p - 1) / p m / (x B). Without a slow rank a ring is faster
// Determinism each block is combined on one rank and copied to the others: same bits on every rank, and in
//             every run
// Pre         blocks: a multiple of p - 1
// Errors      slow: not a rank of the group; another number of blocks
// Source      the setting is that of OptCC, arXiv 2606.01680; the halves among the others: Traeff 2024,
//             arXiv 2410.14234
//
// Picture, p = 4, slow rank 3, one chunk of blocks A B C:
//   3->0 A   3->1 B   3->2 C     meanwhile 0 1 2 reduce A to 0, B to 1, C to 2
//   0: A + that of 3   1: B + that of 3   2: C + that of 3
//   0 1 2 gather A B C; 0->3 A   1->3 B   2->3 C
#ifndef BOUGH_ALGORITHM_ALLREDUCE_SLOW_RANK_HPP
#define BOUGH_ALGORITHM_ALLREDUCE_SLOW_RANK_HPP

#include <bough/algorithm/allgather/circulant.hpp>
#include <bough/algorithm/detail/all_but_one.hpp>
#include <bough/algorithm/detail/remap.hpp>
#include <bough/algorithm/detail/scratch_use.hpp>
#include <bough/algorithm/reduce_scatter/circulant.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

struct slow_rank_allreduce {
    using serves = goals<goal::allreduce>;
    rank_t slow = no_rank; // no_rank: the root of the dimensions

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (at.size == 1) return out.copy({input, 0, at.blocks}, {output, 0, at.blocks});
        const rank_t apart = slow == no_rank ? at.root : slow, others = at.size - 1;
        const block_t chunks = at.blocks / others;
        const detail::all_but_one rest{apart};
        const auto rank_of = [rest](rank_t number) { return rest.rank_of(number); };
        if (rank == apart) {
            const auto receive = [&](block_t chunk) {
                for (rank_t r = 0; r != others; ++r) out.receive(rank_of(r), {output, chunk * others + r, 1});
            };
            for (block_t chunk = 0; chunk != chunks; ++chunk) {
                if (chunk >= under_way) receive(chunk - under_way);
                for (rank_t r = 0; r != others; ++r) out.send(rank_of(r), {input, chunk * others + r, 1});
            }
            for (block_t chunk = chunks < under_way ? 0 : chunks - under_way; chunk != chunks; ++chunk) receive(chunk);
            return;
        }
        const rank_t me = rest.number_of(rank);
        const dimensions among{.size = others, .root = 0, .blocks = others};
        const auto half = [&](block_t chunk, const auto& algorithm, detail::renamed_buffers names) {
            detail::remapped sink(out, names, rank_of, [chunk, others](const slice& s, detail::pieces& to) {
                to.add(s.buffer, chunk * others + s.first, s.count);
            });
            algorithm.emit(among, me, sink);
        };
        const auto begin = [&](block_t chunk) {
            if (others == 1) return;
            // Partial results (plane 0 of this half) are accumulated in the output.
            detail::remapped sink(out, {input, output, 1}, rank_of, [chunk, others](slice s, detail::pieces& to) {
                const bool partial = s.buffer == bough::scratch(1);
                to.add(partial ? output : s.buffer, chunk * others + s.first, s.count);
            });
            circulant_reduce_scatter{}.emit(among, me, sink);
        };
        for (block_t chunk = 0; chunk <= chunks; ++chunk) {
            if (chunk != chunks) begin(chunk);
            if (chunk == 0) continue;
            const slice mine{output, (chunk - 1) * others + me, 1}, landed = mine.in(bough::scratch(0));
            const slice have = others == 1 ? mine.in(input) : mine;
            out.receive(apart, landed);
            if (apart < rank)
                out.combine(landed, have, mine);
            else
                out.combine(have, landed, mine);
            out.send(apart, mine);
            if (others != 1) half(chunk - 1, circulant_allgather{}, {output, output, 0});
        }
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size < 2 ? 1 : 8 * (size - 1); }
    using text_tells = slow_rank_allreduce;
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::written_scratch(*this, at, rank);
    }
    constexpr status check(const dimensions& at) const noexcept {
        if (slow != no_rank && slow >= at.size) return invalid_argument("slow: not a rank of the group");
        if (at.blocks != bough::natural_blocks && at.size > 1 && at.blocks % (at.size - 1) != 0)
            return invalid_argument("blocks: must be a multiple of the other ranks' number");
        return {};
    }
    constexpr bool keeps_rank_order(const dimensions& at) const noexcept { return at.size <= 2; }
    static constexpr bool any_size = false;
    constexpr label text() const {
        const label name("slow_rank");
        return slow == no_rank ? name : label(name).field("slow", slow);
    }
    friend constexpr bool operator==(const slow_rank_allreduce&, const slow_rank_allreduce&) = default;

private:
    // Chunks of the slow rank; more would share its cable, and all come late.
    static constexpr block_t under_way = 3;
};

} // namespace bough

#endif
