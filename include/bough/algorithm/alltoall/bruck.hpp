// SPDX-License-Identifier: BSL-1.0
// Alltoall in the fewest rounds: a block travels the binary digits of its distance, the largest first.
//
// Ranks       2^16 - 1 at most, since a block has a number of 32 bits; the root does not matter
// Rounds      q = ceil(log2 p)
// Traffic     q messages a rank; a block travels once for each 1 among the digits of its distance,
//             at most q / 2 + 1 times on average: p / 2 log2 p blocks a rank for p = 2^q
// Scratch     one block for each one that is on its way through a rank, neither its own nor for it
// Time        alpha_beta_gamma: q alpha + q beta m / 2 for m bytes a rank and p = 2^q: for short vectors
// Determinism nothing is combined
// Pre         p * p blocks: block i p + j goes from rank i to rank j; they may differ in length,
//             also be empty
// Errors      check(): blocks; too many ranks
// Source      Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient Algorithms for All-to-All
//             Communications in Multiport Message-Passing Systems", IEEE TPDS 8 (11), 1997; there
//             the smallest digit goes first
//
// With the largest digit first the blocks that travel together from one source are neighbours in
// the vector, so that a message has about p / 2^k parts when the distance is 2^k, and a rank
// handles 2 p of them in all. Blocks keep their numbers, so nothing is rotated before or after.
//
// Picture, p = 7, rank 0 (i>j: the block from i to j; distance 4 first):
//   round 1   to 4    0>4, 0>5 0>6
//   round 2   to 2    0>2, 0>3; 3>2 came with distance 4 and goes on: its distance is 6
//   round 3   to 1    0>1, 5>1 (distance 3), 3>1 (distance 5)
#ifndef BOUGH_ALGORITHM_ALLTOALL_BRUCK_HPP
#define BOUGH_ALGORITHM_ALLTOALL_BRUCK_HPP

#include <bough/algorithm/detail/alltoall_blocks.hpp>
#include <bough/algorithm/detail/circle.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/plan.hpp>

#include <algorithm>
#include <bit>

namespace bough::inline BOUGH_ABI {

struct bruck_alltoall {
    using serves = goals<goal::alltoall>;
    rank_t ports = 1; // there is no form for more
    static constexpr bool symmetric = true;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const detail::circle around{at.size};
        const slice kept{input, rank * at.size + rank, 1};
        out.copy(kept, kept.in(output));
        if (at.size == 1) return;
        for (rank_t d = std::bit_floor(at.size - 1); d != 0; d /= 2) {
            const rank_t to = around.ahead(rank, d);
            const rank_t from = around.behind(rank, d);
            for_parts(at.size, rank, d, [&](const slice& part, bool is_own, bool, bool more) {
                const slice had = part.in(is_own ? input : bough::scratch(0));
                more ? out.send_part(to, had) : out.send(to, had);
            });
            for_parts(at.size, from, d, [&](const slice& part, bool, bool arrives, bool more) {
                const slice come = part.in(arrives ? output : bough::scratch(0));
                more ? out.receive_part(from, come) : out.receive(from, come);
            });
        }
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size * size; }
    using text_tells = bruck_alltoall;
    constexpr block_t scratch(const dimensions& at, rank_t) const noexcept {
        block_t blocks = 0; // a block is on its way once for each digit 1 of its distance but the last
        for (rank_t distance = 1; distance < at.size; ++distance)
            blocks += static_cast<block_t>(std::popcount(distance)) - 1;
        return blocks;
    }
    constexpr status check(const dimensions& at) const noexcept {
        if (ports != 1) return invalid_argument("ports: bruck_alltoall has one port only");
        return detail::check_block_per_pair(at);
    }
    constexpr label text() const { return label("bruck_alltoall").field("ports", ports, 1); }
    friend constexpr bool operator==(const bruck_alltoall&, const bruck_alltoall&) = default;

private:
    // Calls f(slice, is_own, arrives, more) for the parts of the message that `sender` sends in the
    // round of distance d. The blocks whose distance has the digit d: from each source `gone`
    // behind the sender, a multiple of 2 d, those for the ranks d, d + 1, ... 2 d - 1 ahead of the
    // sender. The first of them arrives, the others go on.
    template <class F>
    static constexpr void for_parts(rank_t size, rank_t sender, rank_t d, F&& f) {
        const detail::circle around{size};
        for (rank_t gone = 0; gone + d < size; gone += 2 * d) {
            const rank_t source = around.behind(sender, gone);
            const rank_t count = std::min(d, size - gone - d);
            const bool last = gone + 3 * d >= size;
            const rank_t first = around.ahead(sender, d);
            f(slice{input, source * size + first, 1}, gone == 0, true, !last || count > 1);
            if (count == 1) continue;
            around.for_arc(around.ahead(first, 1), count - 1, [&](const slice& arc, bool more) {
                f(slice{input, source * size + arc.first, arc.count}, gone == 0, false, more || !last);
            });
        }
    }
};

} // namespace bough

#endif
