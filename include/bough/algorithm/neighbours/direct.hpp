// SPDX-License-Identifier: BSL-1.0
// Neighbourhood collectives, straight: every block goes from its source to its destination in a
// message of its own.
//
//   plan_neighbour_alltoall(direct_neighbours{}, around, {.size = 64})    around: a neighbourhood
//   plan_neighbour_allgather(direct_neighbours{}, around, {.size = 64})
//
// Ranks       those of the neighbourhood; the root does not matter
// Rounds      grid: as many as there are offsets, all ranks in step. Graph: nearest ranks first, as
//             ranks are numbered, so that not all begin with the same one
// Traffic     a message for each place that a rank sends from; the least that there can be. An
//             allgather sends a rank that is listed twice one message
// Scratch     none
// Time        alpha_beta_gamma: t (alpha + beta b) for t neighbours, b bytes for each
// Determinism nothing is combined
// Pre         neighbour_allgather: a block for each rank. neighbour_alltoall: a block for each rank
//             and place that it sends from; they may differ in length, also be empty
// Errors      check(): the neighbourhood is not one of this group; blocks
// Source      MPI 3.0, section 7.6; distances as in pairwise exchange
//
// Picture, ring of 5, offsets -1 and +1, alltoall:  round 1  r -> r-1   round 2  r -> r+1
#ifndef BOUGH_ALGORITHM_NEIGHBOURS_DIRECT_HPP
#define BOUGH_ALGORITHM_NEIGHBOURS_DIRECT_HPP

#include <bough/algorithm/detail/neighbour_blocks.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/neighbourhood.hpp>
#include <bough/schedule/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

// A message of one rank to, or from, a neighbour.
struct neighbour_message {
    std::uint64_t turn = 0; // equal at both ends
    rank_t peer = no_rank;
    block_t place = 0;
};

// The messages of a rank, in turn, without those to itself. `once`: one for each peer.
template <int = 0>
constexpr std::vector<neighbour_message> neighbour_messages(const neighbourhood& around, rank_t size, rank_t rank,
                                                            bool sends, bool once) {
    std::vector<neighbour_message> made;
    for (block_t k = 0; k != (sends ? around.sends(rank) : around.receives(rank)); ++k) {
        const rank_t peer = sends ? around.destination(rank, k) : around.source(rank, k);
        if (peer == no_rank || peer == rank) continue;
        const rank_t to = sends ? peer : rank, from = sends ? rank : peer;
        made.push_back({around.is_grid() ? k : (std::uint64_t{to} + size - from) % size, peer, k});
    }
    // Those to one peer stay in the order of their blocks.
    const auto block_of = [&](const neighbour_message& m) { return sends ? m.place : around.arriving(rank, m.place); };
    if (once) {
        std::sort(made.begin(), made.end(), [&](const neighbour_message& a, const neighbour_message& b) {
            return a.peer != b.peer ? a.peer < b.peer : a.turn < b.turn;
        });
        const auto same = [](const neighbour_message& a, const neighbour_message& b) { return a.peer == b.peer; };
        made.erase(std::unique(made.begin(), made.end(), same), made.end());
    }
    std::sort(made.begin(), made.end(), [&](const neighbour_message& a, const neighbour_message& b) {
        return a.turn != b.turn ? a.turn < b.turn : block_of(a) < block_of(b);
    });
    return made;
}

// Calls f(message, sends) for the messages of a rank: in each turn first what it sends.
template <class F>
constexpr void for_neighbour_messages(const neighbourhood& around, rank_t size, rank_t rank, bool once, F&& f) {
    const auto out = detail::neighbour_messages(around, size, rank, true, once);
    const auto in = detail::neighbour_messages(around, size, rank, false, once);
    for (std::size_t i = 0, j = 0; i != out.size() || j != in.size();) {
        const bool sends = j == in.size() || (i != out.size() && out[i].turn <= in[j].turn);
        f(sends ? out[i++] : in[j++], sends);
    }
}

} // namespace detail

// Of direct_neighbours, for neighbour_allgather: the block of the rank in a message to each neighbour.
struct direct_neighbour_allgather {
    using serves = goals<goal::neighbour_allgather>;
    neighbourhood neighbours{};

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (detail::is_its_own_neighbour(neighbours, rank)) out.copy({input, rank, 1}, {output, rank, 1});
        detail::for_neighbour_messages(neighbours, at.size, rank, true, [&](const auto& m, bool sends) {
            sends ? out.send(m.peer, {input, rank, 1}) : out.receive(m.peer, {output, m.peer, 1});
        });
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions& at) const noexcept {
        return detail::check_block_per_rank_of(neighbours, at);
    }
    constexpr bough::goal::neighbour_allgather goal() const { return {neighbours}; }
    constexpr std::uint64_t identity() const {
        return bracket_family("direct_neighbour_allgather") ^ neighbours.hash();
    }
    static constexpr bool any_size = false;
    constexpr label text() const { return label("direct_neighbour_allgather"); }
    friend constexpr bool operator==(const direct_neighbour_allgather&, const direct_neighbour_allgather&) = default;
};

// Of direct_neighbours, for neighbour_alltoall: each block in a message of its own.
struct direct_neighbour_alltoall {
    using serves = goals<goal::neighbour_alltoall>;
    neighbourhood neighbours{};

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const block_t first = neighbours.first_block(rank);
        for (block_t k = 0; k != neighbours.sends(rank); ++k)
            if (neighbours.destination(rank, k) == rank) out.copy({input, first + k, 1}, {output, first + k, 1});
        detail::for_neighbour_messages(neighbours, at.size, rank, false, [&](const auto& m, bool sends) {
            sends ? out.send(m.peer, {input, first + m.place, 1})
                  : out.receive(m.peer, {output, neighbours.arriving(rank, m.place), 1});
        });
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return detail::blocks_of(neighbours, size); }
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions& at) const noexcept {
        return detail::check_block_per_place(neighbours, at);
    }
    constexpr bough::goal::neighbour_alltoall goal() const { return {neighbours}; }
    constexpr std::uint64_t identity() const { return bracket_family("direct_neighbour_alltoall") ^ neighbours.hash(); }
    static constexpr bool any_size = false;
    constexpr label text() const { return label("direct_neighbour_alltoall"); }
    friend constexpr bool operator==(const direct_neighbour_alltoall&, const direct_neighbour_alltoall&) = default;
};

// The family.
struct direct_neighbours {
    constexpr direct_neighbour_allgather algorithm_for(const goal::neighbour_allgather& of) const {
        return {of.neighbours};
    }
    constexpr direct_neighbour_alltoall algorithm_for(const goal::neighbour_alltoall& of) const {
        return {of.neighbours};
    }
    constexpr label text() const { return label("direct_neighbours"); }
    friend constexpr bool operator==(const direct_neighbours&, const direct_neighbours&) = default;
};

} // namespace bough

#endif
