// SPDX-License-Identifier: BSL-1.0
// Allgather by Bruck's algorithm: in round k a rank passes on the (ports + 1)^k blocks that it has.
//
// The circulant allgather with powers for skips: all rounds but the last multiply what a rank has. Blocks land at their
// own places, so the rotation that ends the original is not needed.
//
// Ranks       any
// Op          none
// Rounds      ceil(log_{ports+1} p): optimal
// Traffic     a rank sends p - 1 blocks: optimal; with several ports the last round may need fewer of them
// Combines    none
// Scratch     none
// Time        alpha_beta_gamma: ceil(log2 p) alpha + (p - 1) / p n beta
// Determinism blocks are only moved
// Pre         one block a rank; they may differ in length
// Errors      ports: none
// Source      Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications in multiport
//             message-passing systems", IEEE TPDS 8(11), 1997
//
// Picture, p = 7, rank 0:
//   round 1   sends 0 to 6           gets 1 from 1           has 0 1
//   round 2   sends 0 1 to 5         gets 2 3 from 2         has 0 1 2 3
//   round 3   sends 0 1 2 to 3       gets 4 5 6 from 4       has all
#ifndef BOUGH_ALGORITHM_ALLGATHER_BRUCK_HPP
#define BOUGH_ALGORITHM_ALLGATHER_BRUCK_HPP

#include <bough/algorithm/detail/block_per_rank.hpp>
#include <bough/algorithm/detail/circulant_allgather.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/plan.hpp>

namespace bough {

struct bruck_allgather {
    using serves = goals<goal::allgather>;
    rank_t ports = 1; // messages that a rank can send, and receive, at a time

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        detail::emit_circulant_allgather(detail::bruck_skips(at.size, ports), at, rank, out);
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions& at) const noexcept {
        if (ports == 0) return invalid_argument("ports: at least one is needed");
        return detail::check_block_per_rank(at);
    }
    static constexpr bool symmetric = true;
    constexpr label text() const { return label("bruck_allgather").field("ports", ports, 1); }
    friend constexpr bool operator==(const bruck_allgather&, const bruck_allgather&) = default;
};

} // namespace bough

#endif
