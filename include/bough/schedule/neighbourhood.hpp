// SPDX-License-Identifier: BSL-1.0
// neighbourhood: which ranks send to which in a neighbourhood collective. Every rank has all of it.
//
//   neighbourhood around = grid_neighbours{.extents = {8, 8}, .offsets = star_offsets(2)};   // schedule/stencil.hpp
//   neighbourhood around = graph_neighbours{.destinations = {{1, 2}, {0}, {}}};              rank 0 sends to 1 and 2
//   gather_neighbourhood(comm, sources, destinations)       of what each rank says of its own (bough/neighbourhood.hpp)
//
// A rank has places for its neighbours, those that it sends to and those that it receives from:
//   grid    as many as there are offsets, of either kind. What leaves from place k arrives in place k, offsets[k]
//           further. A place whose neighbour would lie beyond an end of the grid has none
//   graph   one for each destination, in the order in which they are listed, and one for each source: as listed, or,
//           if no sources are given, from the lowest rank on. The same rank may be listed several times; what leaves
//           first then arrives first
// Blocks of an alltoall are numbered by the rank that they come from, then by its places.
#ifndef BOUGH_SCHEDULE_NEIGHBOURHOOD_HPP
#define BOUGH_SCHEDULE_NEIGHBOURHOOD_HPP

#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/status.hpp>
#include <bough/schedule/stencil.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// A graph of ranks: destinations[r] are the ranks that rank r sends to. If sources are given,
// sources[r] are those that it receives from; they must fit.
struct graph_neighbours {
    std::vector<std::vector<rank_t>> destinations{};
    std::vector<std::vector<rank_t>> sources{};
};

class neighbourhood {
public:
    neighbourhood() = default; // of no ranks
    constexpr neighbourhood(grid_neighbours grid) : is_grid_(true), grid_(std::move(grid)) {
        hash_ = 0x67'7269'64;
        for (std::uint32_t d = 0; d != grid_.extents.dimensions; ++d) mix(grid_.extents.extent[d]), mix(grid_.ends[d]);
        for (const grid_offset& o : grid_.offsets)
            for (const std::int32_t by : o.by) mix(static_cast<std::uint32_t>(by));
        flaw_ = flaw_of_grid();
    }
    constexpr neighbourhood(const graph_neighbours& graph) {
        flaw_ = flaw_of_lists(graph);
        if (!flaw_) list(graph);
        if (!flaw_) flaw_ = take_sources(graph);
        hash_ = 0x67'7261'7068 + first_.size();
        for (const rank_t to : to_) mix(to);
        for (const block_t first : first_) mix(first);
        for (const block_t b : arriving_) mix(b);
    }

    constexpr bool is_grid() const noexcept { return is_grid_; }
    constexpr const grid_neighbours& grid() const noexcept { return grid_; } // empty if it is a graph
    // What is wrong with it, or with it for a group of so many ranks, if anything. status::peer:
    // the rank.
    constexpr status check(rank_t size) const noexcept {
        if (flaw_) return flaw_;
        if (!is_grid_)
            return first_.size() == std::size_t{size} + 1
                       ? status{}
                       : invalid_argument("neighbours: a graph of another number of ranks than the group has");
        if (grid_.extents.dimensions == 0 || !grid_.extents.serve(size))
            return invalid_argument("neighbours: the product of the extents is not the number of ranks");
        if (grid_.offsets.size() > (no_block - 1) / size) return too_many();
        return {};
    }

    // The members below require that check(size) is ok, and a rank or a place that there is.

    // How many places a rank has to send from, and to receive in.
    constexpr block_t sends(rank_t rank) const noexcept {
        return is_grid_ ? static_cast<block_t>(grid_.offsets.size()) : first_[rank + 1] - first_[rank];
    }
    constexpr block_t receives(rank_t rank) const noexcept {
        return is_grid_ ? static_cast<block_t>(grid_.offsets.size()) : first_in_[rank + 1] - first_in_[rank];
    }
    // The rank that a place sends to, or that it receives from; no_rank: there is none.
    constexpr rank_t destination(rank_t rank, block_t place) const noexcept {
        return is_grid_ ? moved(rank, grid_.offsets[place], 1) : to_[first_[rank] + place];
    }
    constexpr rank_t source(rank_t rank, block_t place) const noexcept {
        return is_grid_ ? moved(rank, grid_.offsets[place], -1) : owner(arriving(rank, place));
    }
    // The block of an alltoall that leaves from place 0 of a rank; the others follow.
    constexpr block_t first_block(rank_t rank) const noexcept {
        return is_grid_ ? rank * static_cast<block_t>(grid_.offsets.size()) : first_[rank];
    }
    // The block of an alltoall that arrives in a place; no_block: none.
    constexpr block_t arriving(rank_t rank, block_t place) const noexcept {
        if (!is_grid_) return arriving_[first_in_[rank] + place];
        const rank_t from = moved(rank, grid_.offsets[place], -1);
        return from == no_rank ? no_block : first_block(from) + place;
    }
    // The rank that a block of an alltoall comes from.
    constexpr rank_t owner(block_t block) const noexcept {
        if (is_grid_) return block / static_cast<block_t>(grid_.offsets.size());
        const auto after = std::upper_bound(first_.begin(), first_.end(), block);
        return static_cast<rank_t>(after - first_.begin() - 1);
    }
    // How many blocks an alltoall has, on all ranks together; some of a grid with ends go nowhere.
    constexpr block_t blocks(rank_t size) const noexcept {
        return is_grid_ ? size * static_cast<block_t>(grid_.offsets.size()) : static_cast<block_t>(to_.size());
    }
    // A rank so much further, or back, if `sign` is -1; no_rank: it would lie beyond an end.
    constexpr rank_t moved(rank_t rank, const grid_offset& offset, std::int32_t sign) const noexcept {
        rank_t weight = 1, made = 0;
        for (std::uint32_t d = 0; d != grid_.extents.dimensions; ++d) {
            const auto extent = static_cast<std::int64_t>(grid_.extents.extent[d]);
            std::int64_t at = static_cast<std::int64_t>(rank / weight) % extent + sign * std::int64_t{offset.by[d]};
            if (grid_.ends[d] && (at < 0 || at >= extent)) return no_rank;
            at %= extent;
            made += static_cast<rank_t>(at < 0 ? at + extent : at) * weight;
            weight *= grid_.extents.extent[d];
        }
        return made;
    }

    static constexpr block_t no_block = ~block_t{0};
    // Of all that ranks must agree on.
    constexpr std::uint64_t hash() const noexcept { return hash_; }
    friend constexpr bool operator==(const neighbourhood&, const neighbourhood&) = default;

private:
    constexpr void mix(std::uint64_t x) noexcept {
        hash_ = (hash_ ^ x) * 0x9e37'79b9'7f4a'7c15u;
        hash_ ^= hash_ >> 29;
    }
    static constexpr status too_many() noexcept {
        return invalid_argument("neighbours: more blocks than a block_t counts");
    }
    static constexpr status at_rank(const char* sentence, rank_t rank) noexcept {
        status bad = invalid_argument(sentence);
        bad.peer = rank;
        return bad;
    }

    constexpr status flaw_of_grid() const noexcept {
        for (const grid_offset& o : grid_.offsets)
            for (std::uint32_t d = grid_.extents.dimensions; d != grid_extents::most; ++d)
                if (o.by[d] != 0) return invalid_argument("neighbours: an offset has more dimensions than the grid");
        return {};
    }
    static constexpr status flaw_of_lists(const graph_neighbours& graph) noexcept {
        const std::size_t ranks = graph.destinations.size();
        if (!graph.sources.empty() && graph.sources.size() != ranks)
            return invalid_argument("neighbours: there are not as many lists of sources as of destinations");
        if (ranks >= no_rank) return too_many();
        std::size_t blocks = 0;
        for (std::size_t r = 0; r != ranks; ++r) {
            for (const rank_t to : graph.destinations[r])
                if (to >= ranks)
                    return at_rank("neighbours: a destination is not a rank of the group", static_cast<rank_t>(r));
            if ((blocks += graph.destinations[r].size()) >= no_block) return too_many();
        }
        return {};
    }
    // Lists what each rank sends, and what it receives, from the lowest rank on.
    constexpr void list(const graph_neighbours& graph) {
        const std::size_t ranks = graph.destinations.size();
        first_.assign(ranks + 1, 0);
        first_in_.assign(ranks + 1, 0);
        for (std::size_t r = 0; r != ranks; ++r) {
            first_[r + 1] = first_[r] + static_cast<block_t>(graph.destinations[r].size());
            for (const rank_t to : graph.destinations[r]) to_.push_back(to), ++first_in_[to + 1];
        }
        for (std::size_t r = 0; r != ranks; ++r) first_in_[r + 1] += first_in_[r];
        arriving_.assign(to_.size(), 0);
        std::vector<block_t> next(first_in_.begin(), first_in_.end() - 1);
        for (block_t b = 0; b != to_.size(); ++b) arriving_[next[to_[b]]++] = b;
    }
    // Puts what a rank receives into the order in which it lists its sources.
    constexpr status take_sources(const graph_neighbours& graph) {
        for (std::size_t r = 0; r != graph.sources.size(); ++r) {
            const std::vector<rank_t>& from = graph.sources[r];
            const block_t first = first_in_[r];
            const auto bad = [r] { // which is the case, too, if it names a rank that there is not
                return at_rank("neighbours: what this rank says of its sources is not what they say of it",
                               static_cast<rank_t>(r));
            };
            if (from.size() != first_in_[r + 1] - first) return bad();
            std::vector<std::pair<rank_t, block_t>> listed; // source and place
            for (block_t k = 0; k != from.size(); ++k) listed.emplace_back(from[k], k);
            std::sort(listed.begin(), listed.end());
            const std::vector<block_t> sorted(arriving_.data() + first, arriving_.data() + first_in_[r + 1]);
            for (std::size_t i = 0; i != listed.size(); ++i) {
                if (owner(sorted[i]) != listed[i].first) return bad();
                arriving_[first + listed[i].second] = sorted[i];
            }
        }
        return {};
    }

    std::uint64_t hash_ = 0;
    bool is_grid_ = false;
    status flaw_{};
    grid_neighbours grid_{};
    // Of a graph: of each rank, its first block, and the first of those that arrive at it.
    std::vector<block_t> first_{}, first_in_{};
    std::vector<rank_t> to_{};        // by block: its destination
    std::vector<block_t> arriving_{}; // by rank and place
};

} // namespace bough

#endif
