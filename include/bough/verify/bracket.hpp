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

class brackets {
public:
    explicit constexpr brackets(rank_t size) : table_(64, no_bracket), leaves_(size) {
        nodes_.reserve(std::size_t{2} * size);
        ranges_.reserve(std::size_t{2} * size);
        for (rank_t r = 0; r != size; ++r) {
            nodes_.push_back({.left = no_bracket,
                              .right = no_bracket,
                              .ranges = r,
                              .range_count = 1,
                              .depth = 0,
                              .in_order = true,
                              .repeats = false,
                              .hash = mix(0, r)});
            ranges_.push_back({r, r + 1});
        }
    }

    constexpr std::uint32_t leaf(rank_t rank) const noexcept { return rank; }

    // The bracket op(left, right). repeats(node) tells whether a rank is counted twice.
    constexpr std::uint32_t combine(std::uint32_t left, std::uint32_t right) {
        const node* const nodes = nodes_.data();
        std::uint32_t* const table = table_.data();
        const std::size_t mask = table_.size() - 1;
        const std::uint64_t hash = mix(nodes[left].hash, nodes[right].hash);
        auto slot = static_cast<std::size_t>(hash & mask);
        for (; table[slot] != no_bracket; slot = (slot + 1) & mask)
            if (nodes[table[slot]].left == left && nodes[table[slot]].right == right) return table[slot];
        const auto made = static_cast<std::uint32_t>(nodes_.size());
        table[slot] = made;
        nodes_.push_back(join(left, right, hash));
        if ((nodes_.size() - leaves_) * 2 > table_.size()) grow();
        return made;
    }

    constexpr std::uint64_t hash(std::uint32_t b) const noexcept { return nodes_[b].hash; }
    constexpr std::uint32_t depth(std::uint32_t b) const noexcept { return nodes_[b].depth; }
    // Are the leaves consecutive ranks, from left to right?
    constexpr bool in_order(std::uint32_t b) const noexcept { return nodes_[b].in_order; }
    // Is some rank counted more than once?
    constexpr bool repeats(std::uint32_t b) const noexcept { return nodes_[b].repeats; }
    constexpr bool covers(std::uint32_t b, rank_t first, rank_t last) const noexcept {
        const node& n = nodes_[b];
        return n.range_count == 1 && ranges_[n.ranges].first == first && ranges_[n.ranges].last == last;
    }
    // A rank of [first, last) that is not in b, or a rank in b that is outside [first, last).
    constexpr rank_t odd_one_out(std::uint32_t b, rank_t first, rank_t last) const noexcept {
        const node& n = nodes_[b];
        rank_t expected = first;
        for (std::uint32_t i = n.ranges; i != n.ranges + n.range_count; ++i) {
            if (ranges_[i].first != expected) return std::min(ranges_[i].first, expected);
            expected = ranges_[i].last;
        }
        return std::min(expected, last);
    }
    // The lowest rank that is in both; no_rank if there is none.
    constexpr rank_t shared(std::uint32_t a, std::uint32_t b) const noexcept {
        const node& l = nodes_[a];
        const node& r = nodes_[b];
        for (std::uint32_t i = 0, j = 0; i != l.range_count && j != r.range_count;) {
            const range& x = ranges_[l.ranges + i];
            const range& y = ranges_[r.ranges + j];
            if (x.first < y.last && y.first < x.last) return std::max(x.first, y.first);
            x.last <= y.first ? ++i : ++j;
        }
        return no_rank;
    }

private:
    struct range {
        rank_t first = 0, last = 0;
    };
    struct node {
        std::uint32_t left = no_bracket, right = no_bracket;
        std::uint32_t ranges = 0, range_count = 0; // its ranks, as ranges: sorted, disjoint, not adjacent
        std::uint32_t depth = 0;
        bool in_order = false, repeats = false;
        std::uint64_t hash = 0;
    };

    constexpr node join(std::uint32_t left, std::uint32_t right, std::uint64_t hash) {
        const node& l = nodes_.data()[left];
        const node& r = nodes_.data()[right];
        node made{.left = left,
                  .right = right,
                  .ranges = static_cast<std::uint32_t>(ranges_.size()),
                  .range_count = 1,
                  .depth = (l.depth < r.depth ? r.depth : l.depth) + 1,
                  .in_order = false,
                  .repeats = l.repeats || r.repeats,
                  .hash = hash};
        // Room for all of them, so that no pointer moves.
        ranges_.resize(made.ranges + std::size_t{l.range_count} + r.range_count, range{});
        range* const ranges = ranges_.data();
        const range *i = ranges + l.ranges, *j = ranges + r.ranges;
        const range *const i_end = i + l.range_count, *const j_end = j + r.range_count;
        made.in_order = l.in_order && r.in_order && i->last == j->first;
        range* last = ranges + made.ranges;
        *last = i->first <= j->first ? *i++ : *j++;
        while (i != i_end || j != j_end) {
            const range& next = j == j_end || (i != i_end && i->first <= j->first) ? *i++ : *j++;
            if (next.first > last->last)
                *++last = next;
            else if (next.first < last->last)
                made.repeats = true, last->last = next.last < last->last ? last->last : next.last;
            else
                last->last = next.last;
        }
        made.range_count = static_cast<std::uint32_t>(last + 1 - (ranges + made.ranges));
        ranges_.resize(std::size_t{made.ranges} + made.range_count);
        if (made.repeats) made.in_order = false;
        return made;
    }

    constexpr void grow() {
        table_.assign(table_.size() * 2, no_bracket);
        const node* const nodes = nodes_.data();
        std::uint32_t* const table = table_.data();
        const std::size_t mask = table_.size() - 1;
        for (std::size_t n = leaves_; n != nodes_.size(); ++n) {
            auto slot = static_cast<std::size_t>(nodes[n].hash & mask);
            while (table[slot] != no_bracket) slot = (slot + 1) & mask;
            table[slot] = static_cast<std::uint32_t>(n);
        }
    }

    plain_list<node> nodes_;
    plain_list<range> ranges_;
    plain_list<std::uint32_t> table_; // open addressing; its size is a power of two
    std::size_t leaves_ = 0;
};

} // namespace bough::detail

#endif
