// SPDX-License-Identifier: BSL-1.0
// Barrier by dissemination: in round k, rank i tells rank i + 2^k what it knows. Messages carry no data.
//
// Ranks       any
// Rounds      ceil(log2 p), which is optimal
// Traffic     one empty message a rank and round
// Scratch     one plane of empty tokens a round
// Determinism nothing to compute: knowledge is idempotent (for p not a power of two some of it comes twice)
// Errors      check(): blocks must be 1, the token
// Source      Hensgen, Finkel, Manber 1988
//
// Picture, p = 7: round 1  i -> i+1    round 2  i -> i+2    round 3  i -> i+4 (all modulo 7)
#ifndef BOUGH_ALGORITHM_BARRIER_DISSEMINATION_HPP
#define BOUGH_ALGORITHM_BARRIER_DISSEMINATION_HPP

#include <bough/schedule/plan.hpp>

#include <bit>

namespace bough::inline BOUGH_ABI {

struct dissemination {
    using serves = goals<goal::barrier>;
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const slice known{output, 0, 1};
        slice have{input, 0, 1};
        std::uint32_t round = 0;
        for (std::uint64_t distance = 1; distance < at.size; distance *= 2, ++round) {
            const auto step = static_cast<rank_t>(distance);
            const slice told{bough::scratch(round), 0, 1};
            out.send(from_virtual(step, rank, at.size), have);
            out.receive(from_virtual(at.size - step, rank, at.size), told);
            out.combine(have, told, known);
            have = known;
        }
        if (at.size == 1) out.copy(have, known);
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    constexpr block_t scratch(const dimensions& at, rank_t) const noexcept {
        return static_cast<block_t>(std::bit_width(at.size - 1));
    }
    constexpr status check(const dimensions& at) const noexcept {
        return at.blocks == 1 || at.blocks == bough::natural_blocks
                   ? status{}
                   : invalid_argument("blocks: a barrier has exactly one, the token");
    }
    friend constexpr bool operator==(const dissemination&, const dissemination&) = default;
};

} // namespace bough

#endif
