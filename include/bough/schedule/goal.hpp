// SPDX-License-Identifier: BSL-1.0
// Goals: what a collective promises, block by block. `verify` proves a plan against its goal, and
// nothing else.
//
// A goal is a type, empty unless the promise depends on more than dimensions, with
//   kind                        its number in call signatures, never reused: 1 reduce, 2 allreduce,
//                               3 broadcast, 4 barrier, 5 gather, 6 scatter, 7 multicast, 8 scan,
//                               9 exscan, 10 reduce_scatter, 11 allgather, 12 alltoall, 13
//                               multicasts, 14 neighbour_allgather, 15 neighbour_alltoall
//   combines                    does it need an op?
//   in_place                    may input and output be the same memory?
//   holds(at, rank, block)      does the input of `rank` contain `block` at the start?
//   result(at, rank, block)     whose contributions the output of `rank` must contain at the end, each
//                               exactly once
#ifndef BOUGH_SCHEDULE_GOAL_HPP
#define BOUGH_SCHEDULE_GOAL_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/schedule/neighbourhood.hpp>
#include <bough/tree/multicast_request.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace bough::inline BOUGH_ABI {

// The contributions of the ranks [first, last); empty: nothing is required.
struct contributions {
    rank_t first = 0;
    rank_t last = 0;
    constexpr bool empty() const noexcept { return first == last; }
    friend constexpr bool operator==(const contributions&, const contributions&) = default;
};

// Whose a block is where every rank has as many: of k size blocks rank r has the k from r k on.
constexpr rank_t owner_of(const dimensions& at, block_t block) noexcept {
    return at.blocks == natural_blocks || at.blocks < at.size ? block : block / (at.blocks / at.size);
}

namespace goal {

// Every rank has the whole vector; the root gets op over all of them.
struct reduce {
    static constexpr std::uint8_t kind = 1;
    static constexpr bool combines = true;
    static constexpr bool in_place = true;
    static constexpr bool holds(const dimensions&, rank_t, block_t) noexcept { return true; }
    static constexpr contributions result(const dimensions& at, rank_t rank, block_t) noexcept {
        return rank == at.root ? contributions{0, at.size} : contributions{};
    }
    friend constexpr bool operator==(const reduce&, const reduce&) = default;
};

// As reduce, and every rank gets the result.
struct allreduce {
    static constexpr std::uint8_t kind = 2;
    static constexpr bool combines = true;
    static constexpr bool in_place = true;
    static constexpr bool holds(const dimensions&, rank_t, block_t) noexcept { return true; }
    static constexpr contributions result(const dimensions& at, rank_t, block_t) noexcept { return {0, at.size}; }
    friend constexpr bool operator==(const allreduce&, const allreduce&) = default;
};

// The root has the vector; every other rank gets it.
struct broadcast {
    static constexpr std::uint8_t kind = 3;
    static constexpr bool combines = false;
    static constexpr bool in_place = true;
    static constexpr bool holds(const dimensions& at, rank_t rank, block_t) noexcept { return rank == at.root; }
    static constexpr contributions result(const dimensions& at, rank_t rank, block_t) noexcept {
        return rank == at.root ? contributions{} : contributions{at.root, at.root + 1};
    }
    friend constexpr bool operator==(const broadcast&, const broadcast&) = default;
};

// No rank leaves before all ranks have entered. This is an allreduce of tokens without bytes, where
// a rank may be counted twice.
struct barrier {
    static constexpr std::uint8_t kind = 4;
    static constexpr bool combines = true;
    static constexpr bool in_place = true;
    static constexpr bool idempotent = true;
    static constexpr bool holds(const dimensions&, rank_t, block_t) noexcept { return true; }
    static constexpr contributions result(const dimensions& at, rank_t, block_t) noexcept { return {0, at.size}; }
    friend constexpr bool operator==(const barrier&, const barrier&) = default;
};

// Block b is the contribution of rank b; the root gets all of them.
struct gather {
    static constexpr std::uint8_t kind = 5;
    static constexpr bool combines = false;
    static constexpr bool in_place = true;
    static constexpr bool holds(const dimensions&, rank_t rank, block_t block) noexcept { return block == rank; }
    static constexpr contributions result(const dimensions& at, rank_t rank, block_t block) noexcept {
        return rank == at.root ? contributions{block, block + 1} : contributions{};
    }
    friend constexpr bool operator==(const gather&, const gather&) = default;
};

// The root has the vector; rank b gets block b, the root its own too.
struct scatter {
    static constexpr std::uint8_t kind = 6;
    static constexpr bool combines = false;
    static constexpr bool in_place = true;
    static constexpr bool holds(const dimensions& at, rank_t rank, block_t) noexcept { return rank == at.root; }
    static constexpr contributions result(const dimensions& at, rank_t rank, block_t block) noexcept {
        return rank == block ? contributions{at.root, at.root + 1} : contributions{};
    }
    friend constexpr bool operator==(const scatter&, const scatter&) = default;
};

// The root has the vector; the members get it. Other ranks take no part.
struct multicast {
    static constexpr std::uint8_t kind = 7;
    static constexpr bool combines = false;
    static constexpr bool in_place = true;
    std::vector<rank_t> members{}; // ascending; whether the root is among them does not matter

    static constexpr bool holds(const dimensions& at, rank_t rank, block_t) noexcept { return rank == at.root; }
    constexpr contributions result(const dimensions& at, rank_t rank, block_t) const noexcept {
        const bool gets = rank != at.root && std::binary_search(members.begin(), members.end(), rank);
        return gets ? contributions{at.root, at.root + 1} : contributions{};
    }
    friend constexpr bool operator==(const multicast&, const multicast&) = default;
};

// Many multicasts at once: block k belongs to multicast k. The root of multicast k has it; the
// members get it.
struct multicasts {
    static constexpr std::uint8_t kind = 13;
    static constexpr bool combines = false;
    static constexpr bool in_place = true;
    std::vector<multicast_request> wanted{}; // members ascending

    constexpr bool holds(const dimensions&, rank_t rank, block_t block) const noexcept {
        return block < wanted.size() && rank == wanted[block].root;
    }
    constexpr contributions result(const dimensions&, rank_t rank, block_t block) const noexcept {
        if (block >= wanted.size() || rank == wanted[block].root) return {};
        const multicast_request& w = wanted[block];
        const bool gets = std::binary_search(w.members.begin(), w.members.end(), rank);
        return gets ? contributions{w.root, w.root + 1} : contributions{};
    }
    friend constexpr bool operator==(const multicasts&, const multicasts&) = default;
};

// Rank r gets op over the ranks 0 to r.
struct scan {
    static constexpr std::uint8_t kind = 8;
    static constexpr bool combines = true;
    static constexpr bool in_place = true;
    static constexpr bool holds(const dimensions&, rank_t, block_t) noexcept { return true; }
    static constexpr contributions result(const dimensions&, rank_t rank, block_t) noexcept { return {0, rank + 1}; }
    friend constexpr bool operator==(const scan&, const scan&) = default;
};

// Rank r gets op over the ranks below r. Rank 0 gets nothing; its output is not looked at.
struct exscan {
    static constexpr std::uint8_t kind = 9;
    static constexpr bool combines = true;
    static constexpr bool in_place = true;
    static constexpr bool holds(const dimensions&, rank_t, block_t) noexcept { return true; }
    static constexpr contributions result(const dimensions&, rank_t rank, block_t) noexcept { return {0, rank}; }
    friend constexpr bool operator==(const exscan&, const exscan&) = default;
};

// Every rank has the whole vector; a rank gets its blocks (owner_of) of op over all of them.
struct reduce_scatter {
    static constexpr std::uint8_t kind = 10;
    static constexpr bool combines = true;
    static constexpr bool in_place = true;
    static constexpr bool holds(const dimensions&, rank_t, block_t) noexcept { return true; }
    static constexpr contributions result(const dimensions& at, rank_t rank, block_t block) noexcept {
        return rank == owner_of(at, block) ? contributions{0, at.size} : contributions{};
    }
    friend constexpr bool operator==(const reduce_scatter&, const reduce_scatter&) = default;
};

// A block is the contribution of its owner (owner_of); every rank gets all of them.
struct allgather {
    static constexpr std::uint8_t kind = 11;
    static constexpr bool combines = false;
    static constexpr bool in_place = true;
    static constexpr bool holds(const dimensions& at, rank_t rank, block_t block) noexcept {
        return rank == owner_of(at, block);
    }
    static constexpr contributions result(const dimensions& at, rank_t, block_t block) noexcept {
        return {owner_of(at, block), owner_of(at, block) + 1};
    }
    friend constexpr bool operator==(const allgather&, const allgather&) = default;
};

// The vector is a matrix of size x size blocks, row by row: block i * size + j goes from rank i to
// rank j. A rank's input is its row, and its output is its column. These have only one block in
// common, so there is no in-place form.
struct alltoall {
    static constexpr std::uint8_t kind = 12;
    static constexpr bool combines = false;
    static constexpr bool in_place = false;
    static constexpr bool holds(const dimensions& at, rank_t rank, block_t block) noexcept {
        return block / at.size == rank;
    }
    static constexpr contributions result(const dimensions& at, rank_t rank, block_t block) noexcept {
        return block % at.size == rank ? contributions{block / at.size, block / at.size + 1} : contributions{};
    }
    friend constexpr bool operator==(const alltoall&, const alltoall&) = default;
};

// Block b is the contribution of rank b; a rank gets those of the ranks from which it receives.
struct neighbour_allgather {
    static constexpr std::uint8_t kind = 14;
    static constexpr bool combines = false;
    static constexpr bool in_place = false;
    neighbourhood neighbours{};

    static constexpr bool holds(const dimensions&, rank_t rank, block_t block) noexcept { return block == rank; }
    constexpr contributions result(const dimensions&, rank_t rank, block_t block) const noexcept {
        for (block_t k = 0; k != neighbours.receives(rank); ++k)
            if (neighbours.source(rank, k) == block) return {block, block + 1};
        return {};
    }
    friend constexpr bool operator==(const neighbour_allgather&, const neighbour_allgather&) = default;
};

// Each rank has a block for each place that it sends from. It arrives at the rank and in the place that the
// neighbourhood says. Those of a place without a neighbour go nowhere.
struct neighbour_alltoall {
    static constexpr std::uint8_t kind = 15;
    static constexpr bool combines = false;
    static constexpr bool in_place = false;
    neighbourhood neighbours{};

    constexpr bool holds(const dimensions&, rank_t rank, block_t block) const noexcept {
        return neighbours.owner(block) == rank;
    }
    constexpr contributions result(const dimensions&, rank_t rank, block_t block) const noexcept {
        const rank_t from = neighbours.owner(block);
        if (neighbours.destination(from, block - neighbours.first_block(from)) != rank) return {};
        return {from, from + 1};
    }
    friend constexpr bool operator==(const neighbour_alltoall&, const neighbour_alltoall&) = default;
};

} // namespace goal

// A list of goals: what an algorithm serves.
template <class... Goal>
struct goals {
    template <class G>
    static constexpr bool contain = (std::is_same_v<G, Goal> || ...);
};
// Does an algorithm serve a goal? An algorithm that says nothing (it has no member type `serves`)
// is assumed to serve every goal that it is given.
template <class A, class Goal>
inline constexpr bool serves_v = [] {
    if constexpr (requires { typename A::serves; })
        return A::serves::template contain<Goal>;
    else
        return true;
}();

// May a contribution be counted more than once?
template <class Goal>
inline constexpr bool allows_repeats_v = requires {
    requires Goal::idempotent;
};

} // namespace bough

#endif
