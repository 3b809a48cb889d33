// SPDX-License-Identifier: BSL-1.0
// Exscan by a shift and recursive doubling: every rank gets its neighbour's vector, then ranks at
// distance 2^k exchange.
//
// The conventional one, and the baseline of inclusive_then_exclusive, which needs a round less unless
// p - 1 is a power of two.
//
// Ranks       any; the root does not matter
// Op          any associative op: brackets keep rank order
// Rounds      1 + ceil(log2(p - 1)) for p >= 2
// Traffic     the whole vector once a round
// Combines    as many blocks as a rank receives, less one vector
// Scratch     two planes; one on rank 1, none on rank 0; for two ranks none
// Time        alpha_beta_gamma, m bytes: (alpha + m beta) (1 + ceil(log2(p - 1))) + m gamma
//             ceil(log2(p - 1))
// Determinism a rank's bracket depends on its number alone: same bits every time, and in a larger group
// Post        rank 0's output is not written
// Errors      none of its own
// Source      Hillis, Steele, "Data Parallel Algorithms", Communications of the ACM 29 (12), 1986;
//             on shifted ranks
//
// Picture, p = 7 (x+y: op over the ranks x to y):
//             0     1     2     3     4     5     6
//   shift     -     0     1     2     3     4     5        each sends its own to the next rank
//   round 1   -     0     0+1   1+2   2+3   3+4   4+5      what it has, to the next rank; rank 0 no more
//   round 2   -     0     0+1   0+2   0+3   1+4   2+5      to the next but one
//   round 3   -     0     0+1   0+2   0+3   0+4   0+5      to the rank 4 ahead
#ifndef BOUGH_ALGORITHM_EXSCAN_RECURSIVE_DOUBLING_HPP
#define BOUGH_ALGORITHM_EXSCAN_RECURSIVE_DOUBLING_HPP

#include <bough/algorithm/detail/scan_algorithm.hpp>
#include <bough/schedule/plan.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

namespace detail {

// The doubling rounds of an exscan. Rank r > 0 has in `have` op over the ranks [r - length, r), or
// over all ranks below r if these are fewer. What comes lands in `landed` and is combined into the
// output.
constexpr void double_exscan(const dimensions& at, rank_t rank, std::uint64_t length, slice have, slice landed,
                             StepSink auto& out) {
    const slice result{output, 0, at.blocks};
    for (; length < at.size - 1; length *= 2) {
        const auto d = static_cast<rank_t>(length);
        if (d < at.size - rank) out.send(rank + d, have);
        if (rank <= d) continue; // rank 0 has nothing to send
        out.receive(rank - d, landed);
        out.combine(landed, have, result);
        have = result;
    }
    if (have.buffer != output) out.copy(have, result);
}

// The planes of `have` and `landed`, as far as a rank needs them.
constexpr block_t doubling_exscan_scratch(const dimensions& at, rank_t rank) noexcept {
    return at.size <= 2 || rank == 0 ? 0 : rank == 1 ? at.blocks : 2 * at.blocks;
}

} // namespace detail

struct recursive_doubling_exscan : detail::scan_algorithm<recursive_doubling_exscan> {
    using serves = goals<goal::exscan>;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const slice own{input, 0, at.blocks};
        if (rank + 1 != at.size) out.send(rank + 1, own);
        if (rank == 0) return;
        // In place the output is still the input, which may not have been sent to the next rank
        // yet. Land elsewhere: otherwise ranks would wait for each other in turn.
        const slice first = at.size == 2 ? slice{output, 0, at.blocks} : slice{bough::scratch(0), 0, at.blocks};
        out.receive(rank - 1, first);
        detail::double_exscan(at, rank, 1, first, {bough::scratch(1), 0, at.blocks}, out);
    }
    using text_tells = recursive_doubling_exscan;
    constexpr block_t scratch(const dimensions& at, rank_t rank) const noexcept {
        return detail::doubling_exscan_scratch(at, rank);
    }
    friend constexpr bool operator==(const recursive_doubling_exscan&, const recursive_doubling_exscan&) = default;
};

} // namespace bough

#endif
