// SPDX-License-Identifier: BSL-1.0
// Alltoall, pair by pair: every block goes straight from its source to its destination.
//
//   pairwise_alltoall{}               a send and a receive in turn
//   pairwise_alltoall{.ahead = 6}     7 sends before the first receive
//
// Ranks       2^16 - 1 at most, since a block has a number of 32 bits; the root does not matter
// Rounds      p - 1, each rank sending and receiving one message in each
// Traffic     p - 1 blocks a rank: the least there can be; p - 1 messages
// Scratch     none
// Time        alpha_beta_gamma: (p - 1) (alpha + beta m / p) for m bytes a rank: for long vectors
// Determinism nothing is combined
// Pre         p * p blocks: block i p + j goes from rank i to rank j; they may differ in length,
//             also be empty
// Errors      check(): blocks; too many ranks
// Source      Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
//             MPICH", 2005
//
// In round k, if p is a power of two, a rank exchanges with rank xor k. Otherwise it sends to the
// rank k ahead and receives from the rank k behind. The sends of `ahead` further rounds stand before its
// receive: no send waits for a receive here, so the engine posts all of them at once in any case. The
// order counts where a plan is priced: with ahead = p - 2 all messages are on their way at once.
//
// Picture, p = 7:  round k  0->k  1->k+1  2->k+2  ...  6->k+6 (mod 7)
#ifndef BOUGH_ALGORITHM_ALLTOALL_PAIRWISE_HPP
#define BOUGH_ALGORITHM_ALLTOALL_PAIRWISE_HPP

#include <bough/algorithm/detail/alltoall_blocks.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/plan.hpp>

#include <algorithm>
#include <bit>

namespace bough::inline BOUGH_ABI {

struct pairwise_alltoall {
    using serves = goals<goal::alltoall>;
    rank_t ahead = 0; // so many rounds are the sends ahead of the receives; more than p - 2 are p - 2
    static constexpr bool symmetric = true;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const rank_t p = at.size;
        const slice kept{input, rank * p + rank, 1};
        out.copy(kept, kept.in(output));
        const rank_t first = std::min(ahead, p - 1); // sends before those that have a receive behind them
        const auto send = [&](rank_t k) {
            const rank_t to = std::has_single_bit(p) ? rank ^ k : (rank + k) % p;
            out.send(to, {input, rank * p + to, 1});
        };
        for (rank_t k = 1; k <= first; ++k) send(k);
        for (rank_t k = 1; k != p; ++k) {
            if (k < p - first) send(k + first);
            const rank_t from = std::has_single_bit(p) ? rank ^ k : (rank + (p - k)) % p;
            out.receive(from, {output, from * p + rank, 1});
        }
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size * size; }
    using text_tells = pairwise_alltoall;
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions& at) const noexcept { return detail::check_block_per_pair(at); }
    constexpr label text() const { return label("pairwise_alltoall").field("ahead", ahead, 0); }
    friend constexpr bool operator==(const pairwise_alltoall&, const pairwise_alltoall&) = default;
};

} // namespace bough

#endif
