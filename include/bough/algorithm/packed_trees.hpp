// SPDX-License-Identifier: BSL-1.0
// Packed trees: the blocks of the vector go by turns over given trees, so that together they use all
// links of a network. A search finds the trees: bough/select/pack_trees.hpp.
//
//   packed_trees_broadcast{trees}        down from the root of all trees; block b goes over tree b mod k
//   packed_trees_reduce{trees}           up to it
//   packed_trees_allreduce{up, down}     up tree i and down tree i have one root, which may be another
//                                        one for each i
//   packed_trees_allgather{trees}        the blocks of a rank go by turns over the trees with that root, of
//                                        which each rank has one or more
//   packed_trees_reduce_scatter{trees}   the blocks of a rank come over them
//
// Ranks       those for which the trees were made
// Op          commutative: the trees do not keep rank order
// Rounds      n blocks are c chunks, a block of each tree: c = n / k for k trees, n / (k p) with each
//             rank as the root of k; a chunk moves one link further a turn, so there are c + d turns,
//             where d is the depth of the trees, of both together for allreduce
// Traffic     (p - 1) n blocks in all, allreduce 2 (p - 1) n; a link carries c for each of its trees
// Combines    (p - 1) n blocks in all; a broadcast and an allgather none
// Scratch     reduce, reduce_scatter: on an inner rank, for each block of a tree, one to land in for each
//             child and one to accumulate in, but for the root; allreduce: only to land in; otherwise
//             none
// Time        beta m of the busiest link, and d / c of it for filling the pipeline
// Determinism the bracket of a block depends on its tree; every rank of an allreduce gets the root's bits
// Pre         allgather, reduce_scatter: as many blocks for each rank; blocks of ranks may differ in
//             length
// Errors      check(): no trees, something that is not a tree, trees of another size or root
// Source      bough; packing of trees: Edmonds, "Edge-Disjoint Branchings", 1973; for collectives:
//             ForestColl, arXiv 2402.06787
//
// Picture, broadcast, p = 3, root 0, trees 0 > 1 > 2 and 0 > 2 > 1: while 0 sends to 1 and 2, these
// exchange what they have.
#ifndef BOUGH_ALGORITHM_PACKED_TREES_HPP
#define BOUGH_ALGORITHM_PACKED_TREES_HPP

#include <bough/algorithm/detail/packed_pipeline.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/tree/table.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI {

struct packed_trees_broadcast {
    using serves = goals<goal::broadcast>;
    std::vector<table> trees{};

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const detail::packed_pipeline<> pipeline({}, trees, detail::packed_by_turns(trees.size(), at.blocks), rank);
        pipeline.emit({.given = input}, out);
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return detail::packed_natural_blocks(trees.size()); }
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions& at) const { return detail::check_packed_from_root(trees, at); }
    constexpr std::uint64_t hash() const noexcept { return detail::packed_hash(goal::broadcast::kind, trees); }
    constexpr std::uint64_t identity() const noexcept { return hash() | 1u; }
    constexpr label text() const { return detail::packed_label("packed_trees_broadcast", trees.size()); }
    friend constexpr bool operator==(const packed_trees_broadcast&, const packed_trees_broadcast&) = default;
};

struct packed_trees_reduce {
    using serves = goals<goal::reduce>;
    std::vector<table> trees{};

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (at.size == 1) return out.copy({input, 0, at.blocks}, {output, 0, at.blocks});
        const detail::packed_pipeline<> pipeline(trees, {}, detail::packed_by_turns(trees.size(), at.blocks), rank);
        pipeline.emit({.sum = bough::scratch(0), .first_plane = rank == at.root ? 0u : 1u}, out);
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return detail::packed_natural_blocks(trees.size()); }
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        const auto runs = detail::packed_by_turns(trees.size(), at.blocks);
        return detail::packed_landing(trees, runs, rank) + detail::packed_combined(trees, runs, rank);
    }
    constexpr status check(const dimensions& at) const { return detail::check_packed_from_root(trees, at); }
    static constexpr bool may_hold = true; // no block waits for another one
    constexpr std::uint64_t hash() const noexcept { return detail::packed_hash(goal::reduce::kind, trees); }
    constexpr std::uint64_t identity() const noexcept { return hash() | 1u; }
    constexpr label text() const { return detail::packed_label("packed_trees_reduce", trees.size()); }
    friend constexpr bool operator==(const packed_trees_reduce&, const packed_trees_reduce&) = default;
};

struct packed_trees_allreduce {
    using serves = goals<goal::allreduce>;
    std::vector<table> up{}, down{};

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (at.size == 1) return out.copy({input, 0, at.blocks}, {output, 0, at.blocks});
        detail::packed_pipeline<>(up, down, detail::packed_by_turns(up.size(), at.blocks), rank).emit({}, out);
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return detail::packed_natural_blocks(up.size()); }
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return at.size == 1 ? 0 : detail::packed_landing(up, detail::packed_by_turns(up.size(), at.blocks), rank);
    }
    constexpr status check(const dimensions& at) const {
        if (up.size() != down.size()) return invalid_argument("trees: as many down as up");
        if (const status bad = detail::check_packed(up, at)) return bad;
        if (const status bad = detail::check_packed(down, at)) return bad;
        for (std::size_t t = 0; t != up.size(); ++t)
            if (up[t].root() != down[t].root())
                return invalid_argument("trees: a tree down has another root than the tree up");
        return {};
    }
    static constexpr bool may_hold = true; // no block waits for another one
    constexpr std::uint64_t hash() const noexcept {
        return detail::packed_hash(detail::packed_hash(goal::allreduce::kind, up), down);
    }
    constexpr std::uint64_t identity() const noexcept { return hash() | 1u; }
    constexpr label text() const { return detail::packed_label("packed_trees_allreduce", up.size()); }
    friend constexpr bool operator==(const packed_trees_allreduce&, const packed_trees_allreduce&) = default;
};

struct packed_trees_allgather {
    using serves = goals<goal::allgather>;
    std::vector<table> trees{};

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const block_t each = at.blocks / at.size;
        out.copy({input, rank * each, each}, {output, rank * each, each});
        if (at.size == 1) return;
        const detail::packed_pipeline<> pipeline({}, trees, detail::packed_by_root(trees, at), rank);
        pipeline.emit({}, out);
    }
    constexpr block_t natural_blocks(rank_t size) const { return detail::packed_natural_blocks(trees, size); }
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions& at) const { return detail::check_packed_from_all(trees, at); }
    constexpr std::uint64_t hash() const noexcept { return detail::packed_hash(goal::allgather::kind, trees); }
    constexpr std::uint64_t identity() const noexcept { return hash() | 1u; }
    constexpr label text() const { return detail::packed_label("packed_trees_allgather", trees.size()); }
    friend constexpr bool operator==(const packed_trees_allgather&, const packed_trees_allgather&) = default;
};

struct packed_trees_reduce_scatter {
    using serves = goals<goal::reduce_scatter>;
    std::vector<table> trees{};

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (at.size == 1) return out.copy({input, 0, at.blocks}, {output, 0, at.blocks});
        const detail::packed_pipeline<> pipeline(trees, {}, detail::packed_by_root(trees, at), rank);
        pipeline.emit({.sum = bough::scratch(0), .first_plane = 1}, out);
    }
    constexpr block_t natural_blocks(rank_t size) const { return detail::packed_natural_blocks(trees, size); }
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        const auto runs = detail::packed_by_root(trees, at);
        return detail::packed_landing(trees, runs, rank) + detail::packed_combined(trees, runs, rank);
    }
    constexpr status check(const dimensions& at) const { return detail::check_packed_from_all(trees, at); }
    static constexpr bool may_hold = true; // no block waits for another one
    constexpr std::uint64_t hash() const noexcept { return detail::packed_hash(goal::reduce_scatter::kind, trees); }
    constexpr std::uint64_t identity() const noexcept { return hash() | 1u; }
    constexpr label text() const { return detail::packed_label("packed_trees_reduce_scatter", trees.size()); }
    friend constexpr bool operator==(const packed_trees_reduce_scatter&, const packed_trees_reduce_scatter&) = default;
};

static_assert(Algorithm<packed_trees_allgather> && Algorithm<packed_trees_reduce_scatter>);
static_assert(Algorithm<packed_trees_broadcast> && Algorithm<packed_trees_reduce> && Algorithm<packed_trees_allreduce>);

} // namespace bough

#endif
