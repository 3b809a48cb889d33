// SPDX-License-Identifier: BSL-1.0
// Broadcast by scatter, then allgather, with any algorithm for each.
//
//   plan_broadcast(scatter_allgather{tree_scatter{binomial{}}, ring{}}, {.size = 13})
// Either may also be a family or a tree source that has an algorithm for its goal.
//
// Ranks       those of both, any root
// Rounds      those of both; over a binomial tree and with q rounds for the allgather: 2 ceil(log2 p)
// Traffic     of the scatter, and of the allgather less what it sends to the root, which has the
//             vector: over a binomial tree the root sends (p - 1) / p of the vector, and every rank
//             as much again
// Scratch     that of the allgather; none at the root. The scatter lands in the output, where every
//             block has its place
// Time        alpha_beta_gamma, m bytes: alpha (ceil(log2 p) + rounds of the allgather) + 2 beta m
//             (p - 1) / p. For long vectors circulant_broadcast needs half as much; this one needs
//             no blocks that are cut finer than ranks
// Determinism nothing is combined
// Pre         as many blocks as ranks; they may differ in length, also be empty
// Errors      check(): those of both
// Source      Barnett, Gupta, Payne, Shuler, van de Geijn, Watts, "Interprocessor Collective
//             Communication Library", 1994; Chan, Heimlich, Purkayastha, van de Geijn 2007
//
// Picture, p = 7, binomial tree, ring (x-y: blocks x to y):
//   scatter    0->4 4-6   0->2 2-3  4->6 6   0->1 1  2->3 3  4->5 5
//   allgather  six rounds in which rank r sends to r + 1 what it got last; nobody sends to the root
#ifndef BOUGH_ALGORITHM_BROADCAST_SCATTER_ALLGATHER_HPP
#define BOUGH_ALGORITHM_BROADCAST_SCATTER_ALLGATHER_HPP

#include <bough/algorithm/detail/block_per_rank.hpp>
#include <bough/algorithm/detail/scratch_use.hpp>
#include <bough/algorithm/scatter/tree.hpp>
#include <bough/algorithm/tree_source.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/plan.hpp>

#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

// The steps that a rank of the broadcast does in the scatter or the allgather. The root has every
// block in its input, so it only sends. Other ranks have in the output what would otherwise be
// their input.
template <class Sink>
struct part_of_broadcast {
    Sink& out;
    rank_t root;
    bool is_root;
    bool keeps_scratch; // false: what would land in scratch lands in its place in the output

    constexpr slice place(const slice& s) const noexcept {
        if (is_root) return s.in(input);
        return keeps_scratch && is_scratch(s.buffer) ? s : s.in(output);
    }
    constexpr void send(rank_t to, slice from) {
        put_together(to);
        if (to != root) out.send(to, place(from));
    }
    constexpr void send_part(rank_t to, slice from) {
        put_together(to);
        if (to != root) out.send_part(to, place(from));
    }
    constexpr void receive(rank_t from, slice into) {
        if (!is_root) out.receive(from, place(into));
    }
    constexpr void receive_part(rank_t from, slice into) {
        if (!is_root) out.receive_part(from, place(into));
    }
    constexpr void combine(slice, slice, slice) {} // nothing is combined
    constexpr void copy(slice from, slice to) {
        if (is_root || place(from) == place(to)) return;
        if (to.buffer.packed != 0)
            parts.push_back({place(from), place(to)});
        else
            out.copy(place(from), place(to));
    }
    constexpr void put_together(rank_t to) {
        for (const auto& [from, into] : parts)
            if (to != root) out.copy(from, into);
        parts.clear();
    }
    std::vector<std::pair<slice, slice>> parts{}; // of the next message: from, to
};

// A tree source scatters over its tree.
template <class S>
constexpr auto scatter_of(const S& choice) {
    if constexpr (TreeSource<S>)
        return tree_scatter<S>{choice};
    else
        return bough::algorithm_for<goal::scatter>(choice);
}

} // namespace detail

template <class Scatter, ServesGoal<goal::allgather> Allgather>
struct scatter_allgather {
    using serves = goals<goal::broadcast>;
    Scatter scatter_choice{};
    Allgather allgather_choice{};

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        using sink = detail::part_of_broadcast<std::remove_reference_t<decltype(out)>>;
        sink first{out, at.root, rank == at.root, false};
        detail::scatter_of(scatter_choice).emit(at, rank, first);
        sink second{out, at.root, rank == at.root, true};
        bough::algorithm_for<goal::allgather>(allgather_choice).emit(at, rank, second);
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::written_scratch(*this, at, rank);
    }
    constexpr status check(const dimensions& at) const {
        if (const status bad = detail::check_block_per_rank(at)) return bad;
        if (const status bad = detail::scatter_of(scatter_choice).check(at)) return bad;
        return bough::algorithm_for<goal::allgather>(allgather_choice).check(at);
    }
    constexpr label text() const {
        return label("scatter_allgather").field(label_of(scatter_choice)).field(label_of(allgather_choice));
    }
    friend constexpr bool operator==(const scatter_allgather&, const scatter_allgather&) = default;
};
template <class Scatter, class Allgather>
scatter_allgather(Scatter, Allgather) -> scatter_allgather<Scatter, Allgather>;

} // namespace bough

#endif
