// SPDX-License-Identifier: BSL-1.0
// Finds how many sends ranks can end before a time, if each rank may begin at one of several places
// in time: an assignment problem.
//
// Time O(places^2 * ranks), memory O(places * ranks).
// Source: the Hungarian method (Kuhn 1955, Munkres 1957) by shortest augmenting paths (Jonker and
// Volgenant 1987).
#ifndef BOUGH_TREE_DETAIL_ASSIGNMENT_HPP
#define BOUGH_TREE_DETAIL_ASSIGNMENT_HPP

#include <bough/core/config.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// How many sends of a rank end before `end`, if it begins at `ready`? At most `most`. With
// floating-point costs it may be one too many, as rounding must not lose one.
template <class Time>
constexpr std::uint32_t sends_before(Time end, Time ready, Time send, std::uint32_t most) {
    if (!(ready + send < end)) return 0;
    if (!(send > Time{})) return most;
    if constexpr (std::floating_point<Time>) {
        const double ratio = (end - ready) / send;
        return ratio + 1 < most ? static_cast<std::uint32_t>(ratio) + 1 : most;
    } else {
        const auto count = static_cast<std::uint64_t>((end - ready - 1) / send);
        return count < most ? static_cast<std::uint32_t>(count) : most;
    }
}

// The largest sum of weight[place * ranks + rank] if each place is given a rank of its own.
// Pre: places <= ranks.
constexpr std::int64_t most_assigned(const std::vector<std::int64_t>& weight, std::size_t places, std::size_t ranks) {
    constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max() / 2;
    std::vector<std::int64_t> of_place(places + 1, 0), of_rank(ranks + 1, 0), least(ranks + 1, 0);
    std::vector<std::size_t> taken_by(ranks + 1, 0), way(ranks + 1, 0); // 0: nobody
    std::vector<char> used(ranks + 1, 0);
    for (std::size_t i = 1; i <= places; ++i) {
        taken_by[0] = i;
        std::size_t at = 0;
        least.assign(ranks + 1, far);
        used.assign(ranks + 1, 0);
        do {
            used[at] = 1;
            const std::size_t place = taken_by[at];
            std::int64_t step = far;
            std::size_t next = 0;
            for (std::size_t r = 1; r <= ranks; ++r) {
                if (used[r] != 0) continue;
                const std::int64_t reduced = -weight[(place - 1) * ranks + r - 1] - of_place[place] - of_rank[r];
                if (reduced < least[r]) least[r] = reduced, way[r] = at;
                if (least[r] < step) step = least[r], next = r;
            }
            for (std::size_t r = 0; r <= ranks; ++r)
                if (used[r] != 0)
                    of_place[taken_by[r]] += step, of_rank[r] -= step;
                else
                    least[r] -= step;
            at = next;
        } while (taken_by[at] != 0);
        for (; at != 0; at = way[at]) taken_by[at] = taken_by[way[at]];
    }
    std::int64_t total = 0;
    for (std::size_t r = 1; r <= ranks; ++r)
        if (taken_by[r] != 0) total += weight[(taken_by[r] - 1) * ranks + r - 1];
    return total;
}

} // namespace bough::detail

#endif
