// SPDX-License-Identifier: BSL-1.0
// Allgather over a circulant graph: the steps that circulant_allgather and bruck share; they differ in their skips.
#ifndef BOUGH_ALGORITHM_DETAIL_CIRCULANT_ALLGATHER_HPP
#define BOUGH_ALGORITHM_DETAIL_CIRCULANT_ALLGATHER_HPP

#include <bough/algorithm/detail/circle.hpp>
#include <bough/algorithm/detail/skips.hpp>
#include <bough/concepts/plan.hpp>

#include <algorithm>
#include <cstdint>

namespace bough::detail {

// Calls f(reach, count) for each port of the round that begins with `have` blocks and ends with `want`: blocks are passed
// on over the distance `reach`, `count` of them.
template <class F>
constexpr void for_each_port(rank_t have, rank_t want, F&& f) {
    for (std::uint64_t reach = have; reach < want; reach += have)
        f(static_cast<rank_t>(reach), static_cast<rank_t>(std::min<std::uint64_t>(have, want - reach)));
}

// Round k begins with the blocks of the skip[k] ranks from `rank` on, and ends with those of skip[k + 1] ranks.
constexpr void emit_circulant_allgather(const auto& skips, const dimensions& at, rank_t rank, StepSink auto& out) {
    const circle around{at.size};
    out.copy({input, rank, 1}, {output, rank, 1});
    for (std::uint32_t k = 0; k != skips.rounds; ++k) {
        for_each_port(skips[k], skips[k + 1], [&](rank_t reach, rank_t count) {
            around.send(around.behind(rank, reach), output, rank, count, out);
        });
        for_each_port(skips[k], skips[k + 1], [&](rank_t reach, rank_t count) {
            const rank_t peer = around.ahead(rank, reach);
            around.receive(peer, output, peer, count, out);
        });
    }
}

} // namespace bough::detail

#endif
