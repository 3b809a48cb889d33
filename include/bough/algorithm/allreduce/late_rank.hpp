// SPDX-License-Identifier: BSL-1.0
// Allreduce that hides a late rank: the others work while it is away, and when it comes, all is
// over in the time of one broadcast.
//
//   plan_allreduce(late_rank_allreduce{.late = 3}, {.size = 24, .blocks = 64})
//
// In the n-block broadcast over a circulant graph (broadcast/circulant.hpp) the messages into the root
// carry nothing. Let the late rank be the root. While it is away, the others reduce block j, for each
// j, to the rank whose idle message into the late rank goes out in the round before block j leaves it.
// When it comes, it receives block 0 of the others' results; in round j it sends block j of the
// whole result and receives block j + 1 of the others'. If it comes early, it waits, and the result
// is the same.
//
// Ranks       any
// Op          commutative
// Rounds      n + q for n blocks after the late rank has come, q = ceil(log2 p), with ports that serve
//             messages in the order of the steps; before, at most n + q (q + 1)
// Traffic     2 (p - 1) n blocks in all, (p - 1) n of them after the late rank has come
// Combines    (p - 1) n blocks in all
// Scratch     to land in: a block for each block that a rank receives to combine
// Time        alpha_beta_gamma, from the arrival: (n + q) (alpha + (m / n) beta) for m bytes, with the best
//             n towards m beta, where ring and circulant take 2 m beta. Worth it if the rank is late by
//             about (1 + 1 / q) m beta
// Determinism each block is combined on its way to the late rank and copied to the others: same bits on
//             every rank, and in every run
// Errors      late: not a rank of the group
// Source      bough's own; the rounds are those of Traeff, arXiv 2312.11236. Beside StragglAR (arXiv
//             2505.23523), whose schedules are searched and are for even p: with n = p - 1 it has 53, 102,
//             199 rounds for p = 48, 96, 192, where StragglAR has 57, 108, 208
//
// Picture, p = 5, n = 3, late rank 0 (skips 1 2 3; "others' 0" is block 0 of all others):
//   before    blocks of others    0 at 4   1 at 3   2 at 2
//   round -1  4->0 others' 0
//   round 0   0->2 0   3->0 others' 1
//   round 1   0->3 1   2->0 others' 2
//   round 2   0->1 2   2->3 0   3->4 1
//   round 3   0->2 2   2->4 0   4->1 1
//   round 4   0->3 2   1->4 2   3->1 0   4->2 1
#ifndef BOUGH_ALGORITHM_ALLREDUCE_LATE_RANK_HPP
#define BOUGH_ALGORITHM_ALLREDUCE_LATE_RANK_HPP

#include <bough/algorithm/broadcast/circulant.hpp>
#include <bough/algorithm/detail/all_but_one.hpp>
#include <bough/algorithm/detail/scratch_use.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/schedule/claims.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

struct late_rank_allreduce {
    using serves = goals<goal::allreduce>;
    rank_t late = no_rank; // no_rank: the root of the dimensions

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (at.size == 1) return out.copy({input, 0, at.blocks}, {output, 0, at.blocks});
        const rank_t away = late == no_rank ? at.root : late;
        const detail::all_but_one others{away};
        const detail::circulant_skips skips(at.size);
        const std::uint32_t q = skips.rounds;
        const std::uint32_t skipped = at.blocks == 0 ? 0 : (q - (at.blocks - 1) % q) % q;
        detail::plain_list<unsigned char> begun(at.blocks, 0); // something has been combined into the block
        const auto have = [&](block_t b) { return slice{begun[b] != 0 ? output : input, b, 1}; };
        const auto take = [&](rank_t from, block_t b) {
            const slice landed{scratch_plane_0, b, 1};
            out.receive(from, landed);
            if (from < rank)
                out.combine(landed, have(b), {output, b, 1});
            else
                out.combine(have(b), landed, {output, b, 1});
            begun[b] = 1;
        };
        // Block j of the others is due at the rank that is skip (j - 1 + skipped) mod q before the
        // late one: all blocks of one skip at once, by a circulant reduce among the others.
        if (rank != away && at.size > 2)
            for (std::uint32_t k = 0; k != q; ++k) {
                const block_t first = (k + 1 + q - skipped) % q;
                if (first >= at.blocks) continue;
                const block_t count = (at.blocks - 1 - first) / q + 1;
                const rank_t owner = behind(away, skips[k], at.size);
                const detail::circulant_rounds rounds(at.size - 1, others.number_of(owner), others.number_of(rank),
                                                      count);
                for (std::uint64_t i = rounds.size(); i-- != 0;) {
                    const auto round = rounds[i];
                    if (round.does_receive) out.send(others.rank_of(round.from), have(first + round.receives * q));
                    if (round.does_send) take(others.rank_of(round.to), first + round.sends * q);
                }
            }
        const detail::circulant_rounds rounds(at.size, away, rank, at.blocks);
        // In round i the late rank takes block i + 1 of the others. Sends come before receives, so that
        // each rank does both at once.
        if (rank != away && at.blocks != 0 && rank == behind(away, skips[(skipped + q - 1) % q], at.size))
            out.send(away, have(0));
        if (rank == away && at.blocks != 0) take(behind(away, skips[(skipped + q - 1) % q], at.size), 0);
        for (std::uint64_t i = 0; i != rounds.size(); ++i) {
            const auto round = rounds[i];
            const bool more = i + 1 < at.blocks;
            const auto next = static_cast<block_t>(i + 1);
            if (round.does_send) out.send(round.to, {output, round.sends, 1});
            if (round.to == away && more) out.send(away, have(next));
            if (round.does_receive) out.receive(round.from, {output, round.receives, 1});
            if (rank == away && more) take(round.from, next);
        }
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return detail::circulant_natural_blocks(size); }
    using text_tells = late_rank_allreduce;
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::written_scratch(*this, at, rank);
    }
    constexpr status check(const dimensions& at) const noexcept {
        if (late == no_rank || late < at.size) return {};
        return invalid_argument("late: not a rank of the group");
    }
    constexpr bool keeps_rank_order(const dimensions& at) const noexcept { return at.size <= 2; }
    static constexpr bool any_size = false;
    constexpr label text() const {
        const label name("late_rank");
        return late == no_rank ? name : label(name).field("late", late);
    }
    friend constexpr bool operator==(const late_rank_allreduce&, const late_rank_allreduce&) = default;

private:
    static constexpr buffer scratch_plane_0 = bough::scratch(0);
    static constexpr rank_t behind(rank_t rank, rank_t reach, rank_t size) noexcept {
        return rank >= reach ? rank - reach : rank + (size - reach);
    }
};

} // namespace bough

#endif
