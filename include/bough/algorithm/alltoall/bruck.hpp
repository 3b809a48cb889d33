// SPDX-License-Identifier: BSL-1.0
// Alltoall in few rounds: a block travels the digits of its distance, the largest first.
//
//   bruck_alltoall{}               binary digits
//   bruck_alltoall{.ports = 3}     digits in base 4, one of the radix r = ports + 1
//
// Ranks       2^16 - 1 at most, since a block has a number of 32 bits; the root does not matter
// Rounds      q = ceil(log_r p), each with up to ports messages each way, which do not wait for each
//             other: with one port up to ports q rounds. With ports >= p - 1 every block goes straight
// Traffic     up to ports q messages a rank; a block travels once for each digit of its distance that is
//             not 0, at most q: about (r - 1) / r p q blocks a rank
// Scratch     one block for each one that is on its way through a rank, neither its own nor for it
// Time        alpha_beta_gamma, r = 2: q alpha + q beta m / 2 for m bytes a rank and p = 2^q: for short
//             vectors; larger radices for those between these and long ones
// Determinism nothing is combined
// Pre         p * p blocks: block i p + j goes from rank i to rank j; they may differ in length,
//             also be empty
// Errors      check(): ports: none; blocks; too many ranks
// Source      Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient Algorithms for All-to-All
//             Communications in Multiport Message-Passing Systems", IEEE TPDS 8 (11), 1997; there
//             the smallest digit goes first. Radices for one port: Fan et al., arXiv 2411.02581 (TuNA)
//
// With the largest digit first the blocks that travel together from one source are neighbours in
// the vector, so that a message has about p / (r d) parts when the distance of its digit is d. Blocks
// keep their numbers, so nothing is rotated before or after.
//
// Picture, p = 7, rank 0 (i>j: the block from i to j; distance 4 first):
//   round 1   to 4    0>4, 0>5 0>6
//   round 2   to 2    0>2, 0>3; 3>2 came with distance 4 and goes on: its distance is 6
//   round 3   to 1    0>1, 5>1 (distance 3), 3>1 (distance 5)
#ifndef BOUGH_ALGORITHM_ALLTOALL_BRUCK_HPP
#define BOUGH_ALGORITHM_ALLTOALL_BRUCK_HPP

#include <bough/algorithm/detail/alltoall_blocks.hpp>
#include <bough/algorithm/detail/circle.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/plan.hpp>

#include <algorithm>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

struct bruck_alltoall {
    using serves = goals<goal::alltoall>;
    rank_t ports = 1; // messages that a rank can send, and receive, at a time: the radix less 1
    static constexpr bool symmetric = true;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const detail::circle around{at.size};
        const slice kept{input, rank * at.size + rank, 1};
        out.copy(kept, kept.in(output));
        for (std::uint64_t weight = largest_weight(at.size); weight != 0; weight /= radix())
            for (std::uint64_t d = weight; d < std::min<std::uint64_t>(weight * radix(), at.size); d += weight) {
                const auto distance = static_cast<rank_t>(d);
                const rank_t to = around.ahead(rank, distance), from = around.behind(rank, distance);
                for_parts(at.size, rank, weight, d, [&](const slice& part, bool is_own, bool, bool more) {
                    const slice had = part.in(is_own ? input : bough::scratch(0));
                    more ? out.send_part(to, had) : out.send(to, had);
                });
                for_parts(at.size, from, weight, d, [&](const slice& part, bool, bool arrives, bool more) {
                    const slice come = part.in(arrives ? output : bough::scratch(0));
                    more ? out.receive_part(from, come) : out.receive(from, come);
                });
            }
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size * size; }
    using text_tells = bruck_alltoall;
    constexpr block_t scratch(const dimensions& at, rank_t) const noexcept {
        block_t blocks = 0; // a block is on its way once for each digit of its distance but the last
        for (rank_t distance = 1; distance < at.size; ++distance) {
            for (std::uint64_t digits = distance; digits != 0; digits /= radix())
                blocks += digits % radix() != 0 ? 1u : 0u;
            --blocks;
        }
        return blocks;
    }
    constexpr status check(const dimensions& at) const noexcept {
        if (ports == 0) return invalid_argument("ports: at least one is needed");
        return detail::check_block_per_pair(at);
    }
    constexpr label text() const { return label("bruck_alltoall").field("ports", ports, 1); }
    friend constexpr bool operator==(const bruck_alltoall&, const bruck_alltoall&) = default;

private:
    constexpr std::uint64_t radix() const noexcept { return std::uint64_t{ports} + 1; }
    // The weight of the largest digit that a distance below p has; 0: there is no distance.
    constexpr std::uint64_t largest_weight(rank_t size) const noexcept {
        if (size == 1) return 0;
        std::uint64_t weight = 1;
        while (weight * radix() < size) weight *= radix();
        return weight;
    }
    // Calls f(slice, is_own, arrives, more) for the parts of the message that `sender` sends over
    // distance d, for a digit of this weight. The blocks whose distance has this digit: from each source
    // `gone` behind the sender, a multiple of the weight of the digit before, those for the ranks d, d + 1,
    // ... d + weight - 1 ahead of the sender. The first of them arrives, the others go on.
    template <class F>
    constexpr void for_parts(rank_t size, rank_t sender, std::uint64_t weight, std::uint64_t d, F&& f) const {
        const detail::circle around{size};
        for (std::uint64_t gone = 0; gone + d < size; gone += weight * radix()) {
            const rank_t source = around.behind(sender, static_cast<rank_t>(gone));
            const auto count = static_cast<rank_t>(std::min(weight, size - gone - d));
            const bool last = gone + weight * radix() + d >= size;
            const rank_t first = around.ahead(sender, static_cast<rank_t>(d));
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
