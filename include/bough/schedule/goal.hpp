// SPDX-License-Identifier: BSL-1.0
// Goals: what a collective promises, block by block. `verify` proves a plan against its goal, and nothing else.
//
// A goal is an empty type with
//   kind                        its number in call signatures; never reused
//   combines                    does it need an op?
//   in_place                    may input and output be the same memory?
//   holds(at, rank, block)      does the input of `rank` contain `block` at the start?
//   result(at, rank, block)     whose contributions the output of `rank` must contain at the end, each exactly once
#ifndef BOUGH_SCHEDULE_GOAL_HPP
#define BOUGH_SCHEDULE_GOAL_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>

#include <cstdint>

namespace bough {

// The contributions of the ranks [first, last); empty: nothing is required.
struct contributions {
    rank_t first = 0;
    rank_t last = 0;
    constexpr bool empty() const noexcept { return first == last; }
    friend constexpr bool operator==(const contributions&, const contributions&) = default;
};

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

// Nobody leaves before everybody has entered: an allreduce of tokens without bytes, where counting a rank twice is fine.
struct barrier {
    static constexpr std::uint8_t kind = 4;
    static constexpr bool combines = true;
    static constexpr bool in_place = true;
    static constexpr bool idempotent = true;
    static constexpr bool holds(const dimensions&, rank_t, block_t) noexcept { return true; }
    static constexpr contributions result(const dimensions& at, rank_t, block_t) noexcept { return {0, at.size}; }
    friend constexpr bool operator==(const barrier&, const barrier&) = default;
};

} // namespace goal

// May a contribution be counted more than once?
template <class Goal>
inline constexpr bool allows_repeats_v = requires {
    requires Goal::idempotent;
};

} // namespace bough

#endif
