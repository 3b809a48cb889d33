// SPDX-License-Identifier: BSL-1.0
// Brackets: the symbolic values with which `verify` computes. A bracket says which contributions
// were combined with which, and in which order.
//
// Leaf r is the contribution of rank r; a node is op(left, right). Equal brackets are one node
// (they are hash-consed), so the number of a node identifies the bracket. Equal numbers mean equal
// bits, for any op.
#ifndef BOUGH_VERIFY_BRACKET_HPP
#define BOUGH_VERIFY_BRACKET_HPP

#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

inline constexpr std::uint32_t no_bracket = 0xffff'ffffu;

// Mixes two 64-bit values into one (the finaliser of splitmix64 on an asymmetric sum).
constexpr std::uint64_t mix(std::uint64_t left, std::uint64_t right) noexcept {
    std::uint64_t h = left * 0x9e37'79b9'7f4a'7c15u + right + 0x632b'e59b'd9b4'e019u;
    h = (h ^ (h >> 30)) * 0xbf58'476d'1ce4'e5b9u;
    h = (h ^ (h >> 27)) * 0x94d0'49bb'1331'11ebu;
    return h ^ (h >> 31);
}

// A bracket, and what is known of it.
struct bracket_node {
    std::uint32_t left = no_bracket, right = no_bracket;
    std::uint32_t ranges = 0, range_count = 0; // its ranks, as ranges: sorted, disjoint, not adjacent
    std::uint32_t depth = 0;
    bool in_order = false, repeats = false;
    std::uint64_t hash = 0;
};
// The ranks [first, last).
struct rank_range {
    rank_t first = 0, last = 0;
};

class brackets {
public:
    // What it remembers, besides the number of ranks.
    struct books {
        plain_list<bracket_node> nodes{};
        plain_list<rank_range> ranges{};
        plain_list<std::uint32_t> table{}; // open addressing; its size is a power of two
    };
    explicit constexpr brackets(rank_t size) : leaves_(size) {
        books_.table.assign(64, no_bracket);
        books_.nodes.reserve(std::size_t{2} * size);
        books_.ranges.reserve(std::size_t{2} * size);
        for (rank_t r = 0; r != size; ++r) {
            books_.nodes.push_back({.left = no_bracket,
                                    .right = no_bracket,
                                    .ranges = r,
                                    .range_count = 1,
                                    .depth = 0,
                                    .in_order = true,
                                    .repeats = false,
                                    .hash = mix(0, r)});
            books_.ranges.push_back({r, r + 1});
        }
    }

    constexpr books& remembered() noexcept { return books_; }
    constexpr const books& remembered() const noexcept { return books_; }

    constexpr std::uint32_t leaf(rank_t rank) const noexcept { return rank; }

    // The bracket op(left, right). repeats(node) tells whether a rank is counted twice.
    constexpr std::uint32_t combine(std::uint32_t left, std::uint32_t right) {
        const bracket_node* const nodes = books_.nodes.data();
        std::uint32_t* const table = books_.table.data();
        const std::size_t mask = books_.table.size() - 1;
        const std::uint64_t hash = mix(nodes[left].hash, nodes[right].hash);
        auto slot = static_cast<std::size_t>(hash & mask);
        for (; table[slot] != no_bracket; slot = (slot + 1) & mask)
            if (nodes[table[slot]].left == left && nodes[table[slot]].right == right) return table[slot];
        const auto made = static_cast<std::uint32_t>(books_.nodes.size());
        table[slot] = made;
        books_.nodes.push_back(join(left, right, hash));
        if ((books_.nodes.size() - leaves_) * 2 > books_.table.size()) grow();
        return made;
    }

    // All that is known of a bracket at once.
    constexpr const bracket_node& known(std::uint32_t b) const noexcept { return books_.nodes.data()[b]; }
    constexpr std::uint64_t hash(std::uint32_t b) const noexcept { return known(b).hash; }
    constexpr std::uint32_t depth(std::uint32_t b) const noexcept { return known(b).depth; }
    // Are the leaves consecutive ranks, from left to right?
    constexpr bool in_order(std::uint32_t b) const noexcept { return known(b).in_order; }
    // Is some rank counted more than once?
    constexpr bool repeats(std::uint32_t b) const noexcept { return known(b).repeats; }
    constexpr bool covers(std::uint32_t b, rank_t first, rank_t last) const noexcept {
        return covers(known(b), first, last);
    }
    constexpr bool covers(const bracket_node& n, rank_t first, rank_t last) const noexcept {
        const rank_range& only = books_.ranges.data()[n.ranges];
        return n.range_count == 1 && only.first == first && only.last == last;
    }
    // A rank of [first, last) that is not in b, or a rank in b that is outside [first, last).
    constexpr rank_t odd_one_out(std::uint32_t b, rank_t first, rank_t last) const noexcept {
        const bracket_node& n = books_.nodes[b];
        rank_t expected = first;
        for (std::uint32_t i = n.ranges; i != n.ranges + n.range_count; ++i) {
            if (books_.ranges[i].first != expected) return std::min(books_.ranges[i].first, expected);
            expected = books_.ranges[i].last;
        }
        return std::min(expected, last);
    }
    // The lowest rank that is in both; no_rank if there is none.
    constexpr rank_t shared(std::uint32_t a, std::uint32_t b) const noexcept {
        const bracket_node& l = books_.nodes[a];
        const bracket_node& r = books_.nodes[b];
        for (std::uint32_t i = 0, j = 0; i != l.range_count && j != r.range_count;) {
            const rank_range& x = books_.ranges[l.ranges + i];
            const rank_range& y = books_.ranges[r.ranges + j];
            if (x.first < y.last && y.first < x.last) return std::max(x.first, y.first);
            x.last <= y.first ? ++i : ++j;
        }
        return no_rank;
    }

private:
    constexpr bracket_node join(std::uint32_t left, std::uint32_t right, std::uint64_t hash) {
        const bracket_node& l = books_.nodes.data()[left];
        const bracket_node& r = books_.nodes.data()[right];
        bracket_node made{.left = left,
                          .right = right,
                          .ranges = static_cast<std::uint32_t>(books_.ranges.size()),
                          .range_count = 1,
                          .depth = (l.depth < r.depth ? r.depth : l.depth) + 1,
                          .in_order = false,
                          .repeats = l.repeats || r.repeats,
                          .hash = hash};
        // Room for all of them, so that no pointer moves.
        books_.ranges.resize(made.ranges + std::size_t{l.range_count} + r.range_count, rank_range{});
        rank_range* const ranges = books_.ranges.data();
        const rank_range *i = ranges + l.ranges, *j = ranges + r.ranges;
        const rank_range *const i_end = i + l.range_count, *const j_end = j + r.range_count;
        made.in_order = l.in_order && r.in_order && i->last == j->first;
        rank_range* last = ranges + made.ranges;
        *last = i->first <= j->first ? *i++ : *j++;
        while (i != i_end || j != j_end) {
            const rank_range& next = j == j_end || (i != i_end && i->first <= j->first) ? *i++ : *j++;
            if (next.first > last->last)
                *++last = next;
            else if (next.first < last->last)
                made.repeats = true, last->last = next.last < last->last ? last->last : next.last;
            else
                last->last = next.last;
        }
        made.range_count = static_cast<std::uint32_t>(last + 1 - (ranges + made.ranges));
        books_.ranges.resize(std::size_t{made.ranges} + made.range_count);
        if (made.repeats) made.in_order = false;
        return made;
    }

    constexpr void grow() {
        books_.table.assign(books_.table.size() * 2, no_bracket);
        const bracket_node* const nodes = books_.nodes.data();
        std::uint32_t* const table = books_.table.data();
        const std::size_t mask = books_.table.size() - 1;
        for (std::size_t n = leaves_; n != books_.nodes.size(); ++n) {
            auto slot = static_cast<std::size_t>(nodes[n].hash & mask);
            while (table[slot] != no_bracket) slot = (slot + 1) & mask;
            table[slot] = static_cast<std::uint32_t>(n);
        }
    }

    books books_;
    std::size_t leaves_ = 0;
};

} // namespace bough::detail

#endif
