// SPDX-License-Identifier: BSL-1.0
// Broadcast of n blocks in the fewest rounds there can be, for any number of ranks: on a circulant graph.
//
// Ranks       any, any root
// Rounds      n - 1 + q for n blocks, q = ceil(log2 p), with ports that serve messages in the order
//             of the steps: no one-ported broadcast has fewer
// Traffic     (p - 1) n blocks in all; a rank receives each block once and sends at most n - 1 + q blocks
// Scratch     none
// Time        alpha_beta_gamma: (n - 1 + q) (alpha + (m / n) beta) for m bytes; the best n is
//             pipelined_blocks(q - 1, ...), about sqrt((q - 1) m beta / alpha), and then
//             (sqrt((q - 1) alpha) + sqrt(m beta))^2: m beta for long vectors
// Determinism nothing is combined
// Errors      more than one port: no form for them is known
// Source      Traeff, "Round-optimal n-Block Broadcast Schedules in Logarithmic Time", arXiv
//             2312.11236, 2023
//
// natural_blocks is q (1 for up to two ranks): with it a long vector takes at most twice its best
// time. The best number of blocks depends on the network: see pipelined_blocks.
//
// Every rank sends the block that belongs to the round, one round after another. The steps stand in
// the order of the rounds: a port that serves another message first delays other ranks.
//
// Picture, p = 7, q = 3, skips 1 2 4, blocks 0 and 1, root 0; n - 1 + q = 4 rounds:
//   round 1 (4)  0->4 0
//   round 2 (1)  0->1 1   4->5 0
//   round 3 (2)  0->2 1   1->3 1   4->6 0
//   round 4 (4)  0->4 1   1->5 1   2->6 1   4->1 0   5->2 0   6->3 0
#ifndef BOUGH_ALGORITHM_BROADCAST_CIRCULANT_HPP
#define BOUGH_ALGORITHM_BROADCAST_CIRCULANT_HPP

#include <bough/algorithm/detail/circulant_rounds.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/plan.hpp>

#include <bit>

namespace bough::inline BOUGH_ABI {

namespace detail {

// ceil(log2 p), but 1 for one rank.
constexpr block_t circulant_natural_blocks(rank_t size) noexcept {
    return size <= 2 ? 1 : static_cast<block_t>(std::bit_width(size - 1));
}

// Refuses more ports than one, which a family may ask for: circulant{.ports = 2}.
constexpr status check_one_port(rank_t ports) noexcept {
    if (ports == 1) return {};
    return invalid_argument("ports: circulant broadcast and reduce have one port only");
}

} // namespace detail

struct circulant_broadcast {
    using serves = goals<goal::broadcast>;
    rank_t ports = 1; // no form for more is known

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (at.size == 1) return;
        const detail::circulant_rounds rounds(at.size, at.root, rank, at.blocks);
        const buffer data = rank == at.root ? input : output;
        for (std::uint64_t i = 0; i != rounds.size(); ++i) {
            const auto round = rounds[i];
            if (round.does_send) out.send(round.to, {data, round.sends, 1});
            if (round.does_receive) out.receive(round.from, {data, round.receives, 1});
        }
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return detail::circulant_natural_blocks(size); }
    using text_tells = circulant_broadcast;
    static constexpr bool steady_in_blocks = true;
    static constexpr bool steady_in_ranks = true;
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions&) const noexcept { return detail::check_one_port(ports); }
    constexpr label text() const { return label("circulant_broadcast").field("ports", ports, 1); }
    friend constexpr bool operator==(const circulant_broadcast&, const circulant_broadcast&) = default;
};

} // namespace bough

#endif
