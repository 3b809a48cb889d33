// SPDX-License-Identifier: BSL-1.0
// Reduce of n blocks in the fewest rounds there can be, for any number of ranks:
// circulant_broadcast, run backwards.
//
// Ranks       any, any root
// Op          commutative: brackets follow the circulant graph, not the order of ranks
// Rounds      n - 1 + q for n blocks, q = ceil(log2 p), with ports that serve messages in the order
//             of the steps: no one-ported reduce has fewer
// Traffic     (p - 1) n blocks in all; a rank sends each block once and receives at most n - 1 + q blocks
// Combines    (p - 1) n blocks in all; a rank combines as many as it receives
// Scratch     on ranks other than the root, a block to land in and one to accumulate in for each
//             block that any rank sends; at the root n to land in
// Time        alpha_beta_gamma: (n - 1 + q) (alpha + (m / n) (beta + gamma)) for m bytes; see
//             circulant_broadcast
// Determinism the bracket depends on p, root and n alone: same bits every time. Blocks have
//             different brackets
// Errors      more than one port: no form for them is known
// Source      Traeff, "Optimal Broadcast Schedules in Logarithmic Time with Applications to
//             Broadcast, All-Broadcast, Reduction and All-Reduction", arXiv 2407.18004, 2024
#ifndef BOUGH_ALGORITHM_REDUCE_CIRCULANT_HPP
#define BOUGH_ALGORITHM_REDUCE_CIRCULANT_HPP

#include <bough/algorithm/broadcast/circulant.hpp>

#include <vector>

namespace bough::inline BOUGH_ABI {

struct circulant_reduce {
    using serves = goals<goal::reduce>;
    rank_t ports = 1; // no form for more is known

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (at.size == 1) {
            out.copy({input, 0, at.blocks}, {output, 0, at.blocks});
            return;
        }
        const detail::circulant_rounds rounds(at.size, at.root, rank, at.blocks);
        const bool is_root = rank == at.root;
        const buffer acc = is_root ? output : bough::scratch(0);
        const buffer landed = bough::scratch(is_root ? 0 : 1);
        std::vector<unsigned char> come(at.blocks, 0); // has something been combined into the block?
        for (std::uint64_t i = rounds.size(); i-- != 0;) {
            const auto round = rounds[i];
            if (round.does_receive) {
                const block_t b = round.receives;
                out.send(round.from, {come[b] != 0 ? acc : input, b, 1});
            }
            if (round.does_send) {
                const block_t b = round.sends;
                const slice have{come[b] != 0 ? acc : input, b, 1};
                out.receive(round.to, {landed, b, 1});
                if (round.to < rank)
                    out.combine({landed, b, 1}, have, {acc, b, 1});
                else
                    out.combine(have, {landed, b, 1}, {acc, b, 1});
                come[b] = 1;
            }
        }
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return detail::circulant_natural_blocks(size); }
    using text_tells = circulant_reduce;
    static constexpr bool steady_in_blocks = true;
    static constexpr bool steady_in_ranks = true;
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        if (at.size == 1) return 0;
        const detail::circulant_rounds rounds(at.size, at.root, rank, at.blocks);
        std::vector<unsigned char> come(at.blocks, 0);
        block_t distinct = 0;
        for (std::uint64_t i = 0; i != rounds.size(); ++i)
            if (const auto round = rounds[i]; round.does_send && come[round.sends] == 0) {
                come[round.sends] = 1;
                ++distinct;
            }
        return rank == at.root ? distinct : 2 * distinct;
    }
    constexpr status check(const dimensions&) const noexcept { return detail::check_one_port(ports); }
    constexpr label text() const { return label("circulant_reduce").field("ports", ports, 1); }
    friend constexpr bool operator==(const circulant_reduce&, const circulant_reduce&) = default;
};

} // namespace bough

#endif
