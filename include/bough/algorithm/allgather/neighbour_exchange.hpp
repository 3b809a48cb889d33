// SPDX-License-Identifier: BSL-1.0
// Allgather by neighbour exchange: half the rounds of a ring, and still every rank talks to its two
// neighbours only.
//
// Ranks 2i and 2i + 1 are a pair. They first exchange their blocks; then every rank exchanges two
// blocks a round, by turns with its other neighbour and with its mate: the pair that came last goes
// on.
//
// Ranks       even, or one: of an odd number one rank would have no partner
// Op          none
// Rounds      p / 2
// Traffic     a rank sends p - 1 blocks, to its neighbours only
// Combines    none
// Scratch     none
// Time        alpha_beta_gamma: p / 2 alpha + (p - 1) / p n beta
// Determinism blocks are only moved
// Pre         one block a rank; they may differ in length
// Errors      size: odd
// Source      Chen, Zhang, Zhang, Yuan, "Performance evaluation of allgather algorithms on
//             terascale Linux cluster with fast Ethernet", HPC Asia 2005
//
// Picture, p = 6: what each rank sends, and to whom
//   rank        0          1          2          3          4          5
//   round 1     0 to 1     1 to 0     2 to 3     3 to 2     4 to 5     5 to 4
//   round 2     0 1 to 5   0 1 to 2   2 3 to 1   2 3 to 4   4 5 to 3   4 5 to 0
//   round 3     4 5 to 1   2 3 to 0   0 1 to 3   4 5 to 2   2 3 to 5   0 1 to 4
#ifndef BOUGH_ALGORITHM_ALLGATHER_NEIGHBOUR_EXCHANGE_HPP
#define BOUGH_ALGORITHM_ALLGATHER_NEIGHBOUR_EXCHANGE_HPP

#include <bough/algorithm/detail/block_per_rank.hpp>
#include <bough/algorithm/detail/circle.hpp>
#include <bough/schedule/plan.hpp>

namespace bough::inline BOUGH_ABI {

struct neighbour_exchange {
    using serves = goals<goal::allgather>;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        out.copy({input, rank, 1}, {output, rank, 1});
        if (at.size == 1) return;
        const detail::circle ranks{at.size};
        const detail::circle pairs{at.size / 2};
        const bool even = rank % 2 == 0;
        const rank_t mate = even ? rank + 1 : rank - 1;
        const rank_t other = even ? ranks.behind(rank, 1) : ranks.ahead(rank, 1);
        out.send(mate, {output, rank, 1});
        out.receive(mate, {output, mate, 1});
        rank_t have = rank / 2;
        for (rank_t round = 1; round != pairs.size; ++round) {
            // Even ranks get the pairs at -1, +1, -2, +2, ...; odd ones the other way round.
            const rank_t distance = (round + 1) / 2;
            const bool below = (round % 2 == 1) == even;
            const rank_t come = below ? pairs.behind(rank / 2, distance) : pairs.ahead(rank / 2, distance);
            const rank_t peer = round % 2 == 1 ? other : mate;
            out.send(peer, {output, 2 * have, 2});
            out.receive(peer, {output, 2 * come, 2});
            have = come;
        }
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    using text_tells = neighbour_exchange;
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions& at) const noexcept {
        if (at.size != 1 && at.size % 2 != 0) return invalid_argument("size: neighbour exchange needs an even number");
        return detail::check_block_per_rank(at);
    }
    static constexpr bool any_size = false;
    friend constexpr bool operator==(const neighbour_exchange&, const neighbour_exchange&) = default;
};

} // namespace bough

#endif
