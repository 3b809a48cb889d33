// SPDX-License-Identifier: BSL-1.0
// The steps of a rank where each of some trees carries its share of the blocks: up to its root, combined
// on the way, or down from it, or both.
//
// The first block of all trees are a chunk, as are the second, and so on. In turn t a rank passes chunk
// t - d on, where d is how many links of a tree lie before the rank: so a chunk goes one link further in
// each turn, and all trees carry one block of every chunk. A turn's steps stand in the order of the
// trees, upwards first, on all ranks: so the messages of two ranks match.
//
//   two trees of three ranks, 0 > 1 > 2 and 0 > 2 > 1, blocks a b (first chunk) c d (second)
//   turn 0   0 sends a to 1, b to 2
//   turn 1   0 sends c to 1, d to 2;   1 receives a, sends it to 2;   2 receives b, sends it to 1
//   turn 2   1 receives c, sends it to 2, receives b;   2 receives a, receives d, sends it to 1
#ifndef BOUGH_ALGORITHM_DETAIL_PACKED_PIPELINE_HPP
#define BOUGH_ALGORITHM_DETAIL_PACKED_PIPELINE_HPP

#include <bough/algorithm/detail/block_per_rank.hpp>
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
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// The blocks of a tree: first, first + every, and so on, below last.
struct packed_run {
    block_t first = 0, every = 1, last = 0;
    constexpr block_t count() const noexcept { return first < last ? (last - first + every - 1) / every : 0; }
};
// k trees share one vector: block b goes over tree b mod k.
constexpr std::vector<packed_run> packed_by_turns(std::size_t trees, block_t blocks) {
    const auto all = static_cast<block_t>(trees);
    std::vector<packed_run> made;
    for (block_t t = 0; t != all; ++t) made.push_back({t, all, blocks});
    return made;
}
// The trees with one root share the blocks of that rank.
constexpr std::vector<packed_run> packed_by_root(std::span<const table> trees, const dimensions& at) {
    const block_t each = at.blocks / at.size;
    std::vector<block_t> count(at.size, 0);
    std::vector<packed_run> made;
    for (const table& t : trees) made.push_back({t.root() * each + count[t.root()]++, 1, (t.root() + 1) * each});
    for (std::size_t t = 0; t != trees.size(); ++t) made[t].every = count[trees[t].root()];
    return made;
}

// Where a rank has what it passes on. The root of a tree has the sum in its output, and what comes down
// lands in the output.
struct packed_places {
    buffer given = output;         // what the root passes down
    buffer sum = output;           // what children sent, combined with its own, on other ranks
    std::uint32_t first_plane = 0; // child i lands in scratch plane first_plane + i
};

// A rank's part in each of the trees. `up` and `down` have as many trees, or one of them has none; there
// is a run for each.
template <int = 0>
class packed_pipeline {
public:
    constexpr packed_pipeline(std::span<const table> up, std::span<const table> down, std::vector<packed_run> runs,
                              rank_t rank)
        : up_(up), down_(down), runs_(std::move(runs)), rank_(rank) {
        for (std::size_t t = 0; t != runs_.size(); ++t) {
            std::uint32_t links = 0;
            if (!up.empty()) {
                links = depth(up[t]);
                up_turn_.push_back(links - depth_of(up[t]));
            }
            if (!down.empty()) down_turn_.push_back(links + depth_of(down[t]));
        }
    }

    constexpr void emit(const packed_places& at, StepSink auto& out) const {
        std::uint64_t turns = 0;
        for (const std::vector<std::uint32_t>* firsts : {&up_turn_, &down_turn_})
            for (std::size_t t = 0; t != firsts->size(); ++t)
                turns = std::max(turns, std::uint64_t{(*firsts)[t]} + runs_[t].count());
        for (std::uint64_t turn = 0; turn != turns; ++turn) {
            for (std::size_t t = 0; t != up_.size(); ++t)
                if (in_run(t, turn, up_turn_[t])) pass_up(up_[t], block_of(t, turn - up_turn_[t]), at, out);
            for (std::size_t t = 0; t != down_.size(); ++t)
                if (in_run(t, turn, down_turn_[t])) pass_down(down_[t], block_of(t, turn - down_turn_[t]), at, out);
        }
    }

private:
    constexpr bool in_run(std::size_t tree, std::uint64_t turn, std::uint32_t first) const {
        return turn >= first && turn - first < runs_[tree].count();
    }
    constexpr block_t block_of(std::size_t tree, std::uint64_t chunk) const {
        return runs_[tree].first + static_cast<block_t>(chunk) * runs_[tree].every;
    }
    constexpr std::uint32_t depth_of(const table& tree) const {
        std::uint32_t links = 0;
        for (rank_t r = rank_; tree.parent(r) != no_rank; r = tree.parent(r)) ++links;
        return links;
    }
    constexpr void pass_up(const table& tree, block_t b, const packed_places& at, StepSink auto& out) const {
        const bool is_root = tree.parent(rank_) == no_rank;
        const buffer sum = is_root ? output : at.sum;
        slice have{input, b, 1};
        for (rank_t i = 0; i != tree.child_count(rank_); ++i) {
            const rank_t child = tree.child(rank_, i);
            const slice landed = have.in(scratch(at.first_plane + i));
            out.receive(child, landed);
            if (child < rank_)
                out.combine(landed, have, have.in(sum));
            else
                out.combine(have, landed, have.in(sum));
            have = have.in(sum);
        }
        if (!is_root) out.send(tree.parent(rank_), have);
    }
    constexpr void pass_down(const table& tree, block_t b, const packed_places& at, StepSink auto& out) const {
        const bool is_root = tree.parent(rank_) == no_rank;
        const slice block{is_root ? at.given : output, b, 1};
        if (!is_root) out.receive(tree.parent(rank_), block);
        for (rank_t i = 0; i != tree.child_count(rank_); ++i) out.send(tree.child(rank_, i), block);
    }

    std::span<const table> up_;
    std::span<const table> down_;
    std::vector<packed_run> runs_;
    rank_t rank_;
    std::vector<std::uint32_t> up_turn_, down_turn_; // the turn of a tree's first block
};

// The scratch blocks of such a rank: what its children send it, and what it combines, which a root does
// in its output.
constexpr block_t packed_landing(std::span<const table> up, std::span<const packed_run> runs, rank_t rank) {
    block_t sum = 0;
    for (std::size_t t = 0; t != up.size(); ++t) sum += up[t].child_count(rank) * runs[t].count();
    return sum;
}
constexpr block_t packed_combined(std::span<const table> up, std::span<const packed_run> runs, rank_t rank) {
    block_t sum = 0;
    for (std::size_t t = 0; t != up.size(); ++t)
        if (up[t].child_count(rank) != 0 && up[t].root() != rank) sum += runs[t].count();
    return sum;
}

// Eight chunks: a long vector takes less than twice as long as the busiest link needs, as trees of a
// small group are not deep.
constexpr block_t packed_natural_blocks(std::size_t trees) noexcept {
    return 8 * static_cast<block_t>(trees == 0 ? 1 : trees);
}
// The same for each rank, of the trees with that rank as root: as many as the rank that has most.
constexpr block_t packed_natural_blocks(std::span<const table> trees, rank_t size) {
    std::vector<std::size_t> count(size, 0);
    std::size_t most = 0;
    for (const table& t : trees)
        if (t.root() < size) most = std::max(most, ++count[t.root()]);
    return size * packed_natural_blocks(most);
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
constexpr status check_packed_from_all(std::span<const table> trees, const dimensions& at) {
    if (const status bad = check_packed(trees, at)) return bad;
    std::vector<std::size_t> count(at.size, 0);
    for (const table& t : trees) ++count[t.root()];
    if (std::find(count.begin(), count.end(), 0u) != count.end())
        return invalid_argument("trees: every rank must be the root of one at least");
    return check_blocks_per_rank(at);
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
