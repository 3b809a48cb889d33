// SPDX-License-Identifier: BSL-1.0
// Barrier by dissemination: in round k of one port, rank i tells rank i + 2^k what it knows. Messages
// carry no data.
//
// With n ports a rank tells n others in each round, rank i + j (n + 1)^k for j of 1 to n. With p - 1
// ports everybody tells everybody, in one round: the least time where ranks share cores.
//
// Ranks       any
// Rounds      ceil(log_{ports+1} p), which is optimal
// Traffic     up to `ports` empty messages a rank and round
// Scratch     one plane of empty tokens a message
// Determinism nothing to compute: knowledge is idempotent (some of it comes twice, if p is no power of
//             ports + 1)
// Errors      check(): blocks must be 1, the token; ports at least 1
// Source      Hensgen, Finkel, Manber 1988; with ports: Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS
//             8(11), 1997
//
// Picture, p = 7: round 1  i -> i+1    round 2  i -> i+2    round 3  i -> i+4 (all modulo 7)
//          2 ports: round 1  i -> i+1, i+2    round 2  i -> i+3, i+6
#ifndef BOUGH_ALGORITHM_BARRIER_DISSEMINATION_HPP
#define BOUGH_ALGORITHM_BARRIER_DISSEMINATION_HPP

#include <bough/core/label.hpp>
#include <bough/schedule/plan.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

struct dissemination {
    using serves = goals<goal::barrier>;
    rank_t ports = 1; // messages of a rank in each round

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const slice known{output, 0, 1};
        slice have{input, 0, 1};
        std::uint32_t messages = 0;
        for (std::uint64_t distance = 1; distance < at.size; distance *= std::uint64_t{ports} + 1) {
            const std::uint32_t first = messages;
            for (std::uint64_t ahead = distance; is_told(ahead, distance, at.size); ahead += distance)
                out.send(from_virtual(static_cast<rank_t>(ahead), rank, at.size), have);
            for (std::uint64_t back = distance; is_told(back, distance, at.size); back += distance)
                out.receive(from_virtual(static_cast<rank_t>(at.size - back), rank, at.size), token(messages++));
            for (std::uint32_t i = first; i != messages; ++i) {
                out.combine(have, token(i), known);
                have = known;
            }
        }
        if (at.size == 1) out.copy(have, known);
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    using text_tells = dissemination;
    static constexpr bool symmetric = true;
    constexpr block_t scratch(const dimensions& at, rank_t) const noexcept {
        block_t messages = 0;
        for (std::uint64_t distance = 1; distance < at.size; distance *= std::uint64_t{ports} + 1)
            for (std::uint64_t ahead = distance; is_told(ahead, distance, at.size); ahead += distance) ++messages;
        return messages;
    }
    constexpr status check(const dimensions& at) const noexcept {
        if (ports == 0) return invalid_argument("ports: at least one");
        return at.blocks == 1 || at.blocks == bough::natural_blocks
                   ? status{}
                   : invalid_argument("blocks: a barrier has exactly one, the token");
    }
    constexpr label text() const { return label("dissemination").field("ports", ports, 1); }
    friend constexpr bool operator==(const dissemination&, const dissemination&) = default;

private:
    // Is the rank that is so far ahead told in the round of this distance?
    constexpr bool is_told(std::uint64_t ahead, std::uint64_t distance, rank_t size) const noexcept {
        return ahead <= distance * ports && ahead < size;
    }
    static constexpr slice token(std::uint32_t message) noexcept { return {bough::scratch(message), 0, 1}; }
};

} // namespace bough

#endif
