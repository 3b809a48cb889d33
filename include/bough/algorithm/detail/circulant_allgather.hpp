// SPDX-License-Identifier: BSL-1.0
// Allgather over a circulant graph: circulant_allgather and bruck_allgather, which differ in their
// skips (detail/skips.hpp).
#ifndef BOUGH_ALGORITHM_DETAIL_CIRCULANT_ALLGATHER_HPP
#define BOUGH_ALGORITHM_DETAIL_CIRCULANT_ALLGATHER_HPP

#include <bough/algorithm/detail/block_per_rank.hpp>
#include <bough/algorithm/detail/circle.hpp>
#include <bough/algorithm/detail/skips.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/plan.hpp>

#include <algorithm>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// Calls f(reach, arc) for each port of the round that begins with `have` blocks and ends with
// `want`: blocks are passed on over the distance `reach`, `arc` of them.
template <class F>
constexpr void for_each_port(rank_t have, rank_t want, F&& f) {
    for (std::uint64_t reach = have; reach < want; reach += have)
        f(static_cast<rank_t>(reach), static_cast<rank_t>(std::min<std::uint64_t>(have, want - reach)));
}

constexpr status check_block_per_rank(const dimensions& at, rank_t ports) noexcept {
    if (ports == 0) return invalid_argument("ports: at least one is needed");
    return check_block_per_rank(at);
}

template <class Skips>
struct allgather_by_skips {
    using serves = goals<goal::allgather>;
    rank_t ports = 1; // messages that a rank can send, and receive, at a time

    // Round k begins with the blocks of the skips[k] ranks from `rank` on, and ends with those of
    // skips[k + 1] ranks.
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const circle around{at.size};
        const Skips skips(at.size, ports);
        out.copy({input, rank, 1}, {output, rank, 1});
        for (std::uint32_t k = 0; k != skips.rounds; ++k) {
            for_each_port(skips[k], skips[k + 1], [&](rank_t reach, rank_t arc) {
                around.send(around.behind(rank, reach), output, rank, arc, out);
            });
            for_each_port(skips[k], skips[k + 1], [&](rank_t reach, rank_t arc) {
                const rank_t peer = around.ahead(rank, reach);
                around.receive(peer, output, peer, arc, out);
            });
        }
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    using text_tells = allgather_by_skips;
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions& at) const noexcept { return check_block_per_rank(at, ports); }
    static constexpr bool symmetric = true;
    constexpr label text() const { return label(Skips::family).append("_allgather").field("ports", ports, 1); }
    constexpr label family_text() const { return label(Skips::family).field("ports", ports, 1); }
    friend constexpr bool operator==(const allgather_by_skips&, const allgather_by_skips&) = default;
};

} // namespace bough::detail

#endif
