// SPDX-License-Identifier: BSL-1.0
// The steps of a rank where block b of a vector goes over tree b mod k of k trees: up to a root,
// combined on the way, or down from it, or both.
//
// The blocks b, b + 1, ... b + k - 1 of k trees are a chunk. In turn t a rank passes chunk t - d on,
// where d is how many links of a tree lie before the rank: so a chunk goes one link further in each
// turn, and all trees carry one block of every chunk. A turn's steps stand in the order of the
// trees, upwards first, on all ranks: so the messages of two ranks match.
//
//   two trees of three ranks, 0 > 1 > 2 and 0 > 2 > 1, blocks a b (first chunk) c d (second)
//   turn 0   0 sends a to 1, b to 2
//   turn 1   0 sends c to 1, d to 2;   1 receives a, sends it to 2;   2 receives b, sends it to 1
//   turn 2   1 receives c, sends it to 2, receives b;   2 receives a, receives d, sends it to 1
#ifndef BOUGH_ALGORITHM_DETAIL_PACKED_PIPELINE_HPP
#define BOUGH_ALGORITHM_DETAIL_PACKED_PIPELINE_HPP

#include <bough/concepts/plan.hpp>
#include <bough/concepts/step_sink.hpp>
#include <bough/core/label.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/status.hpp>
#include <bough/tree/depth.hpp>
#include <bough/tree/table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Where a rank has what it passes on.
struct packed_places {
    buffer down = output;          // blocks that come down, or that the root has
    buffer sum = output;           // what children sent, combined with its own
    std::uint32_t first_plane = 0; // child i lands in scratch plane first_plane + i
};

// A rank's part in each of the trees. `up` and `down` have as many trees, or one of them has none.
template <int = 0>
class packed_pipeline {
public:
    constexpr packed_pipeline(std::span<const table> up, std::span<const table> down, rank_t rank)
        : up_(up), down_(down), rank_(rank) {
        const std::size_t trees = std::max(up.size(), down.size());
        for (std::size_t t = 0; t != trees; ++t) {
            std::uint32_t links = 0;
            if (!up.empty()) {
                links = depth(up[t]);
                up_turn_.push_back(links - depth_of(up[t]));
            }
            if (!down.empty()) down_turn_.push_back(links + depth_of(down[t]));
        }
    }

    constexpr void emit(block_t blocks, const packed_places& at, StepSink auto& out) const {
        const auto trees = static_cast<block_t>(std::max(up_.size(), down_.size()));
        std::uint32_t last = 0;
        for (const std::uint32_t t : up_turn_) last = std::max(last, t);
        for (const std::uint32_t t : down_turn_) last = std::max(last, t);
        const std::uint64_t turns = std::uint64_t{last} + (blocks + trees - 1) / trees;
        for (std::uint64_t turn = 0; turn != turns; ++turn) {
            const auto block_of = [&](std::uint32_t first, block_t tree) { // blocks: it has none in this turn
                const std::uint64_t block = turn < first ? blocks : (turn - first) * trees + tree;
                return static_cast<block_t>(std::min(block, std::uint64_t{blocks}));
            };
            for (block_t t = 0; t != static_cast<block_t>(up_.size()); ++t)
                if (const block_t b = block_of(up_turn_[t], t); b != blocks) pass_up(up_[t], b, at, out);
            for (block_t t = 0; t != static_cast<block_t>(down_.size()); ++t)
                if (const block_t b = block_of(down_turn_[t], t); b != blocks) pass_down(down_[t], b, at, out);
        }
    }

private:
    constexpr std::uint32_t depth_of(const table& tree) const {
        std::uint32_t links = 0;
        for (rank_t r = rank_; tree.parent(r) != no_rank; r = tree.parent(r)) ++links;
        return links;
    }
    constexpr void pass_up(const table& tree, block_t b, const packed_places& at, StepSink auto& out) const {
        slice have{input, b, 1};
        for (rank_t i = 0; i != tree.child_count(rank_); ++i) {
            const rank_t child = tree.child(rank_, i);
            const slice landed = have.in(scratch(at.first_plane + i));
            out.receive(child, landed);
            if (child < rank_)
                out.combine(landed, have, have.in(at.sum));
            else
                out.combine(have, landed, have.in(at.sum));
            have = have.in(at.sum);
        }
        if (tree.parent(rank_) != no_rank) out.send(tree.parent(rank_), have);
    }
    constexpr void pass_down(const table& tree, block_t b, const packed_places& at, StepSink auto& out) const {
        const slice block{at.down, b, 1};
        if (tree.parent(rank_) != no_rank) out.receive(tree.parent(rank_), block);
        for (rank_t i = 0; i != tree.child_count(rank_); ++i) out.send(tree.child(rank_, i), block);
    }

    std::span<const table> up_;
    std::span<const table> down_;
    rank_t rank_;
    std::vector<std::uint32_t> up_turn_, down_turn_; // the turn of a tree's first block
};

// How many of the blocks go over tree t.
constexpr block_t packed_share(block_t blocks, std::size_t t, std::size_t trees) noexcept {
    const auto all = static_cast<block_t>(trees);
    return blocks / all + (static_cast<block_t>(t) < blocks % all ? 1 : 0);
}
// How many blocks a rank's children send it, and of how many blocks they do.
constexpr block_t packed_landing(std::span<const table> up, block_t blocks, rank_t rank) noexcept {
    block_t sum = 0;
    for (std::size_t t = 0; t != up.size(); ++t) sum += up[t].child_count(rank) * packed_share(blocks, t, up.size());
    return sum;
}
constexpr block_t packed_combined(std::span<const table> up, block_t blocks, rank_t rank) noexcept {
    block_t sum = 0;
    for (std::size_t t = 0; t != up.size(); ++t)
        if (up[t].child_count(rank) != 0) sum += packed_share(blocks, t, up.size());
    return sum;
}

// Eight chunks: a long vector takes less than twice as long as the busiest link needs, as trees of a
// small group are not deep.
constexpr block_t packed_natural_blocks(std::size_t trees) noexcept {
    return 8 * static_cast<block_t>(trees == 0 ? 1 : trees);
}
constexpr label packed_label(const char* name, std::size_t trees) {
    return label(name).field(label().append(std::uint64_t{trees}).append(trees == 1 ? " tree" : " trees"));
}

// What is wrong with such trees for a group, if anything.
constexpr status check_packed(std::span<const table> trees, const dimensions& at) {
    if (trees.empty()) return invalid_argument("trees: at least one");
    for (const table& t : trees) {
        if (const status bad = t.check()) return bad;
        if (t.size() != at.size) return invalid_argument("trees: they were made for another number of ranks");
    }
    return {};
}
constexpr status check_packed_from_root(std::span<const table> trees, const dimensions& at) {
    if (const status bad = check_packed(trees, at)) return bad;
    for (const table& t : trees)
        if (t.root() != at.root) return invalid_argument("root: the trees were made for another one");
    return {};
}

// A hash of all trees, which the schedules of two ranks do not show.
constexpr std::uint64_t packed_hash(std::uint64_t h, std::span<const table> trees) noexcept {
    const auto mix = [&](std::uint64_t x) { h = (h ^ x) * 0x9e37'79b9'7f4a'7c15u, h ^= h >> 29; };
    mix(trees.size());
    for (const table& t : trees)
        for (rank_t r = 0; r != t.size(); ++r)
            for (const rank_t c : t.children(r)) mix(std::uint64_t{r} << 32 | c);
    return h;
}

} // namespace bough::detail

#endif
