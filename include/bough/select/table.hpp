// SPDX-License-Identifier: BSL-1.0
// A decision table: measured times, as another source for choose. It is plain data: `bough tune`
// writes it, and any program can load it.
//
//   decision d = choose(candidates, {.size = 13}, {.bytes = 65536}, table);
//
// A candidate's time is looked up by its label. From the measured numbers of ranks the nearest is
// taken (by ratio; the lower if two are equally near). There the time is interpolated between the
// two nearest sizes, in proportion to the bytes; outside the measured sizes it is that of the
// nearest one. A row with the same number of blocks is preferred; without one, the fastest row of
// that algorithm counts.
#ifndef BOUGH_SELECT_TABLE_HPP
#define BOUGH_SELECT_TABLE_HPP

#include <bough/core/label.hpp>
#include <bough/select/choose.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// One measured time: an algorithm at a number of ranks and bytes.
struct measured_row {
    std::uint8_t kind = 0; // of the goal
    rank_t ranks = 0;
    std::uint64_t bytes = 0;
    label algorithm{}; // label_of(algorithm)
    block_t blocks = 0;
    double ns = 0;
    friend constexpr bool operator==(const measured_row&, const measured_row&) = default;
};

// Measured times, from which choose takes those that lie nearest.
struct decision_table {
    std::vector<measured_row> rows{};

    // The time of an algorithm in so many blocks; negative if the table has nothing about it.
    double time_ns(std::uint8_t kind, rank_t ranks, std::uint64_t bytes, const label& algorithm, block_t blocks) const {
        rank_t nearest = 0;
        for (const measured_row& r : rows)
            if (r.kind == kind && r.algorithm == algorithm && (nearest == 0 || is_nearer(ranks, r.ranks, nearest)))
                nearest = r.ranks;
        if (nearest == 0) return -1;
        const measured_row* below = nullptr; // the nearest row of at most `bytes`
        const measured_row* above = nullptr; // the nearest row of at least `bytes`
        const auto better = [&](const measured_row& r, const measured_row* known) {
            return (r.blocks == blocks) != (known->blocks == blocks) ? r.blocks == blocks : r.ns < known->ns;
        };
        for (const measured_row& r : rows) {
            if (r.kind != kind || r.ranks != nearest || !(r.algorithm == algorithm)) continue;
            if (r.bytes <= bytes &&
                (below == nullptr || r.bytes > below->bytes || (r.bytes == below->bytes && better(r, below))))
                below = &r;
            if (r.bytes >= bytes &&
                (above == nullptr || r.bytes < above->bytes || (r.bytes == above->bytes && better(r, above))))
                above = &r;
        }
        if (below == nullptr) return above->ns;
        if (above == nullptr || above->bytes == below->bytes) return below->ns;
        const double part =
            static_cast<double>(bytes - below->bytes) / static_cast<double>(above->bytes - below->bytes);
        return below->ns + part * (above->ns - below->ns);
    }
    friend bool operator==(const decision_table&, const decision_table&) = default;

private:
    // Is a closer to wanted than b, by ratio? If both are equally close, the lower counts as
    // closer.
    static bool is_nearer(rank_t wanted, rank_t a, rank_t b) noexcept {
        // max(w, a) / min(w, a) < max(w, b) / min(w, b), in whole numbers
        const std::uint64_t w = wanted;
        const std::uint64_t left = std::max<std::uint64_t>(w, a) * std::min<std::uint64_t>(w, b);
        const std::uint64_t right = std::max<std::uint64_t>(w, b) * std::min<std::uint64_t>(w, a);
        return left != right ? left < right : a < b;
    }
};

// Chooses by the table. A template for the reason that bough/select/choose.hpp gives at sort_out.
template <int = 0>
decision choose(const candidate_list& from, const dimensions& at, const problem& what, const decision_table& table,
                const choose_options& options = {}) {
    decision made = detail::sort_out(from, at, what, options.needed);
    made.measured = true;
    for (prospect& p : made.prospects) {
        if (p.excluded != exclusion::none) continue;
        const std::uint64_t bytes = problem_for(p.what.algorithm, what).bytes;
        p.predicted_ns = table.time_ns(from.kind, at.size, bytes, p.what.algorithm.text(), p.blocks);
        if (p.predicted_ns < 0)
            detail::leave_out(p, exclusion::not_measured);
        else if (!detail::is_finite_cost(p.predicted_ns))
            detail::leave_out(p, exclusion::no_price);
    }
    detail::rank_by_price(made, 0);
    if (made && options.through) add_ways(made, options.through);
    return made;
}

} // namespace bough

#endif
