// SPDX-License-Identifier: BSL-1.0
// Levels: how p ranks become one group, tuple by tuple. Halving and doubling, recursive doubling
// and their relatives differ in their levels only, and here these are a value.
//
// At the start every rank is a group. A level makes one group of `radix` neighbouring groups; in
// the first `eliminated` tuples of radix + 1 groups, the last of them leaves: (groups - eliminated)
// / radix groups remain.
//   {.radix = 2}                     pairs: half the vector goes each way
//   {.radix = 2, .eliminated = t}    t triples, then pairs: 3-2 elimination, for an odd number of groups
//   {.radix = 1, .eliminated = r}    r pairs become one each: the fold onto a power of two
//   {.radix = 5}                     direct exchange among five: 4 rounds, 4/5 of the vector
// The bracket is the sequence of levels and nothing else, so neither the form nor the bytes change
// a bit of the result: neighbours combine in rank order; of f groups the lower f / 2 are op's left
// operand; a triple is a + (b + c).
#ifndef BOUGH_ALGORITHM_LEVELS_HPP
#define BOUGH_ALGORITHM_LEVELS_HPP

#include <bough/core/contract.hpp>
#include <bough/core/label.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/schedule/claims.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace bough::inline BOUGH_ABI {

// How a level moves the vector.
enum class level_form : std::uint8_t {
    // In parts: each rank of a tuple keeps one, and gets the others back in the mirrored allgather.
    halving,
    exchange, // whole: each rank of a tuple gets all
};

struct level {
    rank_t radix = 2;
    rank_t eliminated = 0;
    level_form form = level_form::halving;
    friend constexpr bool operator==(const level&, const level&) = default;

    // How many groups are left of `groups` after this level; 0 if they do not divide.
    constexpr rank_t left_of(rank_t groups) const noexcept {
        const bool elimination_known = eliminated == 0 || radix <= 2;
        if (radix == 0 || (radix == 1 && eliminated == 0) || !elimination_known) return 0;
        if (eliminated > groups / (std::uint64_t{radix} + 1) || (groups - eliminated) % radix != 0) return 0;
        return (groups - eliminated) / radix;
    }
};

// A sequence of levels, first the nearest neighbours. A structural value. 2^32 ranks need no more
// than 32 levels.
struct level_list {
    static constexpr std::size_t capacity = 32;
    std::array<level, capacity> entries{};
    std::uint32_t count = 0;

    constexpr level_list() = default;
    // Pre: no more than `capacity` levels.
    constexpr level_list(std::initializer_list<level> levels) {
        for (const level& l : levels) push_back(l);
    }
    constexpr void push_back(const level& l) {
        BOUGH_EXPECTS(count < capacity, "levels: more than any number of ranks needs");
        entries[count++] = l;
    }
    constexpr bool empty() const noexcept { return count == 0; }
    constexpr std::size_t size() const noexcept { return count; }
    constexpr const level& operator[](std::size_t i) const noexcept { return entries[i]; }
    constexpr const level* begin() const noexcept { return entries.data(); }
    constexpr const level* end() const noexcept { return entries.data() + count; }
    friend constexpr bool operator==(const level_list&, const level_list&) = default;

    // Are the groups of each level pairs?
    constexpr bool has_only_pairs() const noexcept {
        for (const level& l : *this)
            if (l.radix != 2 || l.eliminated != 0) return false;
        return true;
    }
    // Do they make one group of `ranks`?
    constexpr bool complete_for(rank_t ranks) const noexcept {
        for (const level& l : *this)
            if (ranks = l.left_of(ranks); ranks == 0) return false;
        return ranks == 1;
    }
    // Into how many parts they cut the vector.
    constexpr block_t parts() const noexcept {
        block_t cut = 1;
        for (const level& l : *this)
            if (l.form == level_form::halving) cut *= l.radix;
        return cut;
    }
    // The same levels, and so the same bracket, in another form.
    constexpr level_list in_form(level_form form) const noexcept {
        level_list copy = *this;
        for (std::uint32_t i = 0; i != count; ++i) copy.entries[i].form = form;
        return copy;
    }
    // The same levels, the first `halved` of them in the form of halving, the others in that of exchange.
    constexpr level_list halved_first(std::uint32_t halved) const noexcept {
        level_list copy = in_form(level_form::exchange);
        for (std::uint32_t i = 0; i != count && i != halved; ++i) copy.entries[i].form = level_form::halving;
        return copy;
    }
};

// The bracket class to claim: algorithms over the same levels, in any form, give the same bits.
constexpr bracket_class level_bracket(const level_list& levels) noexcept {
    std::uint64_t hash = 0;
    for (const level& l : levels)
        for (const rank_t number : {l.radix, l.eliminated})
            hash = (hash ^ number) * 0x9e37'79b9'7f4a'7c15u + (hash >> 29);
    return {bracket_family("levels"), hash};
}

// Rabenseifner's levels: pairs of the first 2r ranks fold onto a power of two, then pairs of groups.
constexpr level_list fold_levels(rank_t size) {
    level_list levels;
    const rank_t group = std::bit_floor(size);
    if (group != size) levels.push_back({.radix = 1, .eliminated = size - group});
    for (rank_t left = group; left > 1; left /= 2) levels.push_back({});
    return levels;
}

// Levels that suit any number of ranks without a model: the default of per_level.
//   even                  pairs
//   3                     direct exchange of thirds
//   odd                   as many triples as lead to a power of two, or else to three times one
// A reduce-scatter over them takes ceil(log2 p) rounds or one more, and exactly that many for p =
// 2^n and 3 * 2^n.
constexpr level_list steady_levels(rank_t size) {
    level_list levels;
    for (rank_t left = size; left > 1;) {
        level next;
        if (left == 3) {
            next.radix = 3;
        } else if (left % 2 != 0) {
            const rank_t power = std::bit_floor(left / 2);    // the largest power of two below left / 2
            const rank_t thrice = power / 2 * 3;              // if not that, three times one
            const bool reaches = power >= (left - 1) / 3 + 1; // with no more than left / 3 triples
            next.eliminated = left - 2 * (reaches ? power : thrice);
        }
        levels.push_back(next);
        left = next.left_of(left);
    }
    return levels;
}

namespace detail {

// The label name{2, 2-1, 5x}: each level's radix, less how many it eliminates; x: in the form of
// exchange.
constexpr label levels_label(const char* name, const level_list& levels) {
    label list;
    for (const level& l : levels) {
        if (list.size() != 0) list.append(", ");
        list.append(std::uint64_t{l.radix});
        if (l.eliminated != 0) list.append("-").append(std::uint64_t{l.eliminated});
        if (l.form == level_form::exchange) list.append("x");
    }
    return levels.empty() ? label(name) : label(name).field(list);
}

// The levels that an algorithm runs: those given, or steady_levels; all in the form of exchange, or
// each in its own form.
constexpr level_list chosen_levels(const level_list& said, level_form form, rank_t size) {
    const level_list levels = said.empty() ? steady_levels(size) : said;
    return form == level_form::exchange ? levels.in_form(form) : levels;
}

} // namespace detail
} // namespace bough

#endif
