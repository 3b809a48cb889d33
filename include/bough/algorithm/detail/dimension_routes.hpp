// SPDX-License-Identifier: BSL-1.0
// dimension_routes: how blocks travel through a grid, one dimension after the other, and all that
// take the same step in one message.
//
// A hop is a step in one dimension that some block takes. Ranks do the hops of one dimension, then
// those of the next one. Dimensions with few hops come first, so that few copies of an allgather's
// block are on their way; of equal ones the last, in which box_offsets() changes least often: then
// blocks that travel together are neighbours. In a ring, offsets that differ by its extent are the
// same hop, and those that are a multiple of it are none.
#ifndef BOUGH_ALGORITHM_DETAIL_DIMENSION_ROUTES_HPP
#define BOUGH_ALGORITHM_DETAIL_DIMENSION_ROUTES_HPP

#include <bough/concepts/step_sink.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/schedule/neighbourhood.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// A block that takes a hop: where its sender has it, and where the next rank puts it.
struct carried_block {
    block_t block = 0;
    buffer from{}, into{};
};

template <int>
class basic_dimension_routes {
public:
    // Pre: `around` is a grid, and its check() is ok. It outlives this object.
    constexpr explicit basic_dimension_routes(const neighbourhood& around)
        : around_(around), offsets_(around.grid().offsets) {
        const grid_neighbours& grid = around.grid();
        for (grid_offset& o : offsets_)
            for (std::uint32_t d = 0; d != grid.extents.dimensions; ++d)
                if (const auto extent = static_cast<std::int32_t>(grid.extents.extent[d]); !grid.ends[d])
                    o.by[d] = (o.by[d] % extent + extent) % extent;
        for (std::uint32_t d = 0; d != grid.extents.dimensions; ++d) stages_.push_back({d, steps_in(d)});
        std::sort(stages_.begin(), stages_.end(), [](const stage& a, const stage& b) {
            return a.steps.size() != b.steps.size() ? a.steps.size() < b.steps.size() : a.dimension > b.dimension;
        });
        for (std::uint32_t k = 0; k != offsets_.size(); ++k) sorted_.push_back(k);
        std::sort(sorted_.begin(), sorted_.end(), [this](std::uint32_t a, std::uint32_t b) {
            for (const stage& s : stages_)
                if (at(a, s) != at(b, s)) return at(a, s) < at(b, s);
            return a < b;
        });
    }

    // Calls f(stage, step) for each hop, in order.
    template <class F>
    constexpr void for_hops(F&& f) const {
        for (std::uint32_t i = 0; i != stages_.size(); ++i)
            for (const std::int32_t step : stages_[i].steps) f(i, step);
    }
    // The rank one hop further, or back; no_rank: it would lie beyond an end.
    constexpr rank_t hop(rank_t rank, std::uint32_t i, std::int32_t step, std::int32_t sign) const noexcept {
        grid_offset by;
        by.by[stages_[i].dimension] = step;
        return around_.moved(rank, by, sign);
    }

    // What a rank sends in a hop of an alltoall: the blocks of which this is the next step.
    constexpr std::vector<carried_block> alltoall(rank_t sender, std::uint32_t i, std::int32_t step) const {
        std::vector<carried_block> made;
        for (const std::uint32_t k : sorted_) {
            if (at(k, stages_[i]) != step) continue;
            const rank_t source = source_of(sender, k, i);
            if (source == no_rank || around_.moved(source, offsets_[k], 1) == no_rank) continue;
            made.push_back({around_.first_block(source) + k, has_come(k, i) ? scratch(0) : input,
                            has_steps_after(k, i) ? scratch(0) : output});
        }
        return in_order(std::move(made));
    }
    // The same of an allgather: a block for each way that begins with the same steps.
    constexpr std::vector<carried_block> allgather(rank_t sender, std::uint32_t i, std::int32_t step) const {
        std::vector<carried_block> made;
        for (std::size_t n = 0; n != sorted_.size();) {
            const std::uint32_t first = sorted_[n];
            bool is_last = false, is_needed = false, is_for_sender = false;
            const rank_t source = at(first, stages_[i]) == step ? source_of(sender, first, i) : no_rank;
            for (; n != sorted_.size() && same_steps(sorted_[n], first, i + 1); ++n) {
                if (source == no_rank || around_.moved(source, offsets_[sorted_[n]], 1) == no_rank) continue;
                is_needed = true;
                is_last |= !has_steps_after(sorted_[n], i);
            }
            if (!is_needed) continue;
            for (const std::uint32_t k : sorted_)
                is_for_sender |= same_steps(k, first, i) && at(k, stages_[i]) == 0 && !has_steps_after(k, i);
            made.push_back({source,
                            !has_come(first, i) ? input
                            : is_for_sender     ? output
                                                : scratch(0),
                            is_last ? output : scratch(0)});
        }
        return in_order(std::move(made));
    }
    // Does place k send to the rank itself?
    constexpr bool stays(std::uint32_t k) const noexcept { return offsets_[k] == grid_offset{}; }

private:
    struct stage {
        std::uint32_t dimension = 0;
        std::vector<std::int32_t> steps{}; // ascending, without 0
    };

    static constexpr std::vector<carried_block> in_order(std::vector<carried_block> blocks) {
        std::sort(blocks.begin(), blocks.end(),
                  [](const carried_block& a, const carried_block& b) { return a.block < b.block; });
        return blocks;
    }
    constexpr std::vector<std::int32_t> steps_in(std::uint32_t dimension) const {
        std::vector<std::int32_t> made;
        for (const grid_offset& o : offsets_)
            if (o.by[dimension] != 0) made.push_back(o.by[dimension]);
        std::sort(made.begin(), made.end());
        made.erase(std::unique(made.begin(), made.end()), made.end());
        return made;
    }
    constexpr std::int32_t at(std::uint32_t k, const stage& s) const noexcept { return offsets_[k].by[s.dimension]; }
    // Has a block of place k taken a step before stage i?
    constexpr bool has_come(std::uint32_t k, std::uint32_t i) const noexcept {
        return std::any_of(stages_.begin(), stages_.begin() + i, [&](const stage& s) { return at(k, s) != 0; });
    }
    constexpr bool has_steps_after(std::uint32_t k, std::uint32_t i) const noexcept {
        return std::any_of(stages_.begin() + i + 1, stages_.end(), [&](const stage& s) { return at(k, s) != 0; });
    }
    constexpr bool same_steps(std::uint32_t a, std::uint32_t b, std::uint32_t stages) const noexcept {
        return std::all_of(stages_.begin(), stages_.begin() + stages,
                           [&](const stage& s) { return at(a, s) == at(b, s); });
    }
    // Where a block of place k comes from if it is at `sender` before stage i; no_rank: from beyond
    // an end.
    constexpr rank_t source_of(rank_t sender, std::uint32_t k, std::uint32_t i) const noexcept {
        grid_offset come;
        for (std::uint32_t s = 0; s != i; ++s) come.by[stages_[s].dimension] = at(k, stages_[s]);
        return around_.moved(sender, come, -1);
    }

    const neighbourhood& around_;
    std::vector<grid_offset> offsets_; // as hops
    std::vector<stage> stages_;
    std::vector<std::uint32_t> sorted_; // places, by their steps in the order of the stages
};
using dimension_routes = basic_dimension_routes<0>;

// Pushes a message of these blocks; those that are neighbours at both ends are one part. In an
// output, neighbours by number are not neighbours in memory. Nothing if there are none.
template <class Send>
constexpr void push_message(const std::vector<carried_block>& blocks, Send&& send) {
    for (std::size_t first = 0; first != blocks.size();) {
        const carried_block& part = blocks[first];
        std::size_t last = first + 1;
        while (last != blocks.size() && part.from != output && part.into != output && blocks[last].from == part.from &&
               blocks[last].into == part.into && blocks[last].block == blocks[last - 1].block + 1)
            ++last;
        send(part, static_cast<block_t>(last - first), last != blocks.size());
        first = last;
    }
}

// Pushes all messages of a rank. carried(sender, stage, step) lists the blocks of a hop.
constexpr void push_hops(const dimension_routes& routes, rank_t rank, const auto& carried, StepSink auto& out) {
    routes.for_hops([&](std::uint32_t i, std::int32_t step) {
        const rank_t to = routes.hop(rank, i, step, 1), from = routes.hop(rank, i, step, -1);
        if (to != no_rank)
            detail::push_message(carried(rank, i, step), [&](const carried_block& b, block_t count, bool more) {
                const slice had{b.from, b.block, count};
                more ? out.send_part(to, had) : out.send(to, had);
            });
        if (from != no_rank)
            detail::push_message(carried(from, i, step), [&](const carried_block& b, block_t count, bool more) {
                const slice come{b.into, b.block, count};
                more ? out.receive_part(from, come) : out.receive(from, come);
            });
    });
}

} // namespace bough::detail

#endif
