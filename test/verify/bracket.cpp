// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/verify/bracket.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace bough;
using bough::detail::brackets;

namespace {

constexpr bool equal_brackets_are_one() {
    brackets b(4);
    const std::uint32_t low = b.combine(b.leaf(0), b.leaf(1));
    const std::uint32_t high = b.combine(b.leaf(2), b.leaf(3));
    return b.combine(b.leaf(0), b.leaf(1)) == low && b.combine(low, high) == b.combine(low, high) && low != high &&
           b.combine(low, high) != b.combine(high, low) &&
           b.combine(low, high) != b.combine(b.combine(low, b.leaf(2)), b.leaf(3));
}
static_assert(equal_brackets_are_one());

constexpr bool knows_order_and_depth() {
    brackets b(4);
    const std::uint32_t low = b.combine(b.leaf(0), b.leaf(1));
    const std::uint32_t high = b.combine(b.leaf(2), b.leaf(3));
    const std::uint32_t whole = b.combine(low, high);
    const std::uint32_t swapped = b.combine(high, low);
    const std::uint32_t gap = b.combine(b.leaf(0), b.leaf(2));
    return b.in_order(b.leaf(3)) && b.in_order(whole) && !b.in_order(swapped) && !b.in_order(gap) &&
           !b.in_order(b.combine(gap, b.leaf(3))) && b.depth(b.leaf(0)) == 0 && b.depth(low) == 1 &&
           b.depth(whole) == 2 && b.depth(b.combine(low, b.leaf(2))) == 2;
}
static_assert(knows_order_and_depth());

constexpr bool knows_who_is_in() {
    brackets b(4);
    const std::uint32_t low = b.combine(b.leaf(0), b.leaf(1));
    const std::uint32_t gap = b.combine(b.leaf(3), b.leaf(0));
    const std::uint32_t rest = b.combine(b.leaf(1), b.leaf(2));
    return b.covers(low, 0, 2) && !b.covers(low, 0, 3) && !b.covers(gap, 0, 4) &&
           b.covers(b.combine(gap, rest), 0, 4) && b.odd_one_out(low, 0, 4) == 2 && b.odd_one_out(rest, 0, 4) == 0 &&
           b.odd_one_out(gap, 0, 4) == 1 && b.odd_one_out(low, 1, 2) == 0 && b.shared(low, rest) == 1 &&
           b.shared(gap, rest) == no_rank && b.shared(gap, low) == 0;
}
static_assert(knows_who_is_in());

constexpr bool sees_repeats() {
    brackets b(4);
    const std::uint32_t low = b.combine(b.leaf(0), b.leaf(1));
    const std::uint32_t twice = b.combine(low, b.leaf(1));
    return !b.repeats(low) && b.repeats(twice) && !b.in_order(twice) && b.covers(twice, 0, 2) &&
           b.repeats(b.combine(twice, b.leaf(2))) && b.repeats(b.combine(b.leaf(3), b.leaf(3)));
}
static_assert(sees_repeats());

} // namespace

TEST_CASE("random brackets, against sets and text") {
    constexpr rank_t size = 9;
    brackets b(size);
    struct known {
        std::string text;
        std::multiset<rank_t> ranks;
        std::vector<rank_t> left_to_right;
        std::uint32_t depth;
    };
    std::map<std::uint32_t, known> nodes;
    std::map<std::string, std::uint32_t> by_text;
    std::set<std::uint64_t> hashes;
    std::vector<std::uint32_t> all;
    for (rank_t r = 0; r != size; ++r) {
        nodes[b.leaf(r)] = {std::to_string(r), {r}, {r}, 0};
        by_text[std::to_string(r)] = b.leaf(r);
        all.push_back(b.leaf(r));
    }
    std::uint64_t state = bough_test::seed();
    const auto pick = [&] {
        state = bough_test::mixed(state);
        return all[state % all.size()];
    };
    for (int trial = 0; trial != 20'000; ++trial) {
        const std::uint32_t left = pick();
        const std::uint32_t right = pick();
        if (nodes[left].left_to_right.size() + nodes[right].left_to_right.size() > 12) continue;
        known made = nodes[left];
        made.text = '(' + made.text + ' ' + nodes[right].text + ')';
        made.ranks.insert(nodes[right].ranks.begin(), nodes[right].ranks.end());
        made.left_to_right.insert(made.left_to_right.end(), nodes[right].left_to_right.begin(),
                                  nodes[right].left_to_right.end());
        made.depth = std::max(made.depth, nodes[right].depth) + 1;
        const std::uint32_t node = b.combine(left, right);
        const auto [at, is_new] = by_text.emplace(made.text, node);
        REQUIRE(at->second == node); // one number for one text
        if (!is_new) continue;
        REQUIRE(nodes.count(node) == 0);             // and one text for one number
        REQUIRE(hashes.insert(b.hash(node)).second); // 64 bits: a clash among 20 000 would be a fault of the mixing
        const std::set<rank_t> distinct(made.ranks.begin(), made.ranks.end());
        REQUIRE(b.repeats(node) == (distinct.size() != made.ranks.size()));
        REQUIRE(b.depth(node) == made.depth);
        bool in_order = true;
        for (std::size_t i = 1; i != made.left_to_right.size(); ++i)
            in_order &= made.left_to_right[i] == made.left_to_right[i - 1] + 1;
        REQUIRE(b.in_order(node) == in_order);
        const rank_t first = *distinct.begin();
        const rank_t last = *distinct.rbegin() + 1;
        REQUIRE(b.covers(node, first, last) == (distinct.size() == last - first));
        REQUIRE_FALSE(b.covers(node, first, last + 1));
        nodes[node] = made;
        all.push_back(node);
    }
    REQUIRE(all.size() > 1'000);
}
