// SPDX-License-Identifier: BSL-1.0
// Packed trees: any trees, proved for any number of blocks; what their check() refuses.
#include "claims.hpp"
#include "proof.hpp"
#include "support/catch.hpp"
#include "support/mutants.hpp"
#include <bough/algorithm/packed_trees.hpp>
#include <bough/algorithm/reverse.hpp>
#include <bough/core/random.hpp>
#include <bough/schedule/any_algorithm.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/tree.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace bough;

namespace {

// Three trees from one root, and three with a root each.
constexpr std::vector<table> from(rank_t root, rank_t size) {
    return {table(tree(binomial{}, size, root)), table(tree(chain{}, size, root)), table(tree(flat{}, size, root))};
}
constexpr std::vector<table> from_several(rank_t size, bool turned) {
    std::vector<table> made{table(tree(binomial{}, size, 0)), table(tree(chain{}, size, size / 2)),
                            table(tree(flat{}, size, size - 1))};
    if (turned) made[0] = table(tree(chain{}, size, 0)), made[1] = table(tree(flat{}, size, size / 2));
    return made;
}

template <block_t Blocks>
constexpr auto broadcast_of = [](rank_t size) {
    return plan_broadcast(packed_trees_broadcast{from(size / 3, size)},
                          {.size = size, .root = size / 3, .blocks = Blocks});
};
template <block_t Blocks>
constexpr auto reduce_of = [](rank_t size) {
    return plan_reduce(packed_trees_reduce{from(size / 3, size)}, {.size = size, .root = size / 3, .blocks = Blocks});
};
template <block_t Blocks>
constexpr auto allreduce_of = [](rank_t size) {
    return plan_allreduce(packed_trees_allreduce{from_several(size, false), from_several(size, true)},
                          {.size = size, .blocks = Blocks});
};
// Two trees for each rank; one more for rank 0.
constexpr std::vector<table> from_all(rank_t size) {
    std::vector<table> made;
    for (rank_t root = 0; root != size; ++root) {
        made.push_back(table(tree(binomial{}, size, root)));
        made.push_back(table(tree(chain{}, size, root)));
    }
    made.push_back(table(tree(flat{}, size, 0)));
    return made;
}
template <block_t Each>
constexpr auto allgather_of = [](rank_t size) {
    return plan_allgather(packed_trees_allgather{from_all(size)}, {.size = size, .blocks = Each * size});
};
template <block_t Each>
constexpr auto reduce_scatter_of = [](rank_t size) {
    return plan_reduce_scatter(packed_trees_reduce_scatter{from_all(size)}, {.size = size, .blocks = Each * size});
};
static_assert(test::proven_for<broadcast_of<4>, 1, 5, 7>());
static_assert(test::proven_for<reduce_of<4>, 1, 5, 7>());
static_assert(test::proven_for<allreduce_of<4>, 1, 5, 7>());
static_assert(test::proven_for<allgather_of<3>, 1, 4>());
static_assert(test::proven_for<reduce_scatter_of<3>, 1, 4>());

// A random tree: the parent of each rank is one that was drawn before.
table random_tree(random_sequence& random, rank_t size, rank_t root) {
    std::vector<rank_t> parents(size, no_rank), drawn(1, root);
    for (rank_t r = 0; r != size; ++r)
        if (r != root) drawn.insert(drawn.begin() + 1 + static_cast<std::ptrdiff_t>(random.below(drawn.size())), r);
    for (std::size_t i = 1; i != drawn.size(); ++i)
        parents[drawn[i]] = drawn[static_cast<std::size_t>(random.below(i))];
    return table::from_parents(parents);
}

} // namespace

TEST_CASE("packed trees: random ones are proved, with their claims, for any number of blocks") {
    random_sequence random(7, 0x7061'636b, 0);
    for (rank_t p = 1; p != 8; ++p)
        for (const block_t n : {0u, 1u, 3u, 10u})
            for (std::size_t trees = 1; trees != 5; ++trees) {
                const rank_t root = static_cast<rank_t>(random.below(p));
                CAPTURE(p, root, n, trees);
                const dimensions at{.size = p, .root = root, .blocks = n};
                std::vector<table> rooted, up, down;
                for (std::size_t t = 0; t != trees; ++t) {
                    rooted.push_back(random_tree(random, p, root));
                    const rank_t here = static_cast<rank_t>(random.below(p));
                    up.push_back(random_tree(random, p, here));
                    down.push_back(random_tree(random, p, here));
                }
                const plan_traits there = test::prove_with_claims(plan_broadcast(packed_trees_broadcast{rooted}, at));
                CHECK(there.volume == std::uint64_t{p - 1} * n);
                const plan_traits back = test::prove_with_claims(plan_reduce(packed_trees_reduce{rooted}, at));
                CHECK(back.volume == there.volume);
                CHECK(back.combines == there.volume);
                const plan_traits both = test::prove_with_claims(plan_allreduce(packed_trees_allreduce{up, down}, at));
                CHECK(both.volume == 2 * there.volume);
                CHECK(both.combines == there.volume);
                CHECK(both.rank_consistent);
                if (n == 0) continue;
                std::vector<table> all;
                for (rank_t r = 0; r != p; ++r)
                    for (std::uint64_t t = 1 + random.below(trees); t != 0; --t)
                        all.push_back(random_tree(random, p, r));
                const dimensions each{.size = p, .blocks = n * p};
                const plan_traits out = test::prove_with_claims(plan_allgather(packed_trees_allgather{all}, each));
                CHECK(out.volume == std::uint64_t{p - 1} * n * p);
                const plan_traits in =
                    test::prove_with_claims(plan_reduce_scatter(packed_trees_reduce_scatter{all}, each));
                CHECK(in.volume == out.volume);
                CHECK(in.combines == out.volume);
            }
}

TEST_CASE("packed trees: the reversed allgather is a reduce_scatter, too") {
    for (const rank_t p : {1u, 2u, 5u}) {
        const dimensions at{.size = p, .blocks = 3 * p};
        const plan_traits turned =
            test::prove_with_claims(plan_reduce_scatter(reverse(packed_trees_allgather{from_all(p)}), at));
        CHECK(turned.volume == verify(plan_reduce_scatter(packed_trees_reduce_scatter{from_all(p)}, at)).traits.volume);
    }
}

TEST_CASE("packed trees: n / k chunks and the depth of the trees are the rounds, where no rank sends twice") {
    // Two chains around a ring, in opposite directions: a rank sends a block each way in a turn.
    const auto ring = [](bool left) {
        std::vector<rank_t> parents(5, no_rank);
        for (rank_t r = 1; r != 5; ++r) parents[r] = left ? r - 1 : (r + 1) % 5;
        return table::from_parents(parents);
    };
    const plan_traits there =
        verify(plan_broadcast(packed_trees_broadcast{{ring(true), ring(false)}}, {.size = 5, .blocks = 20})).traits;
    CHECK(there.rounds >= 10 + 3);
    CHECK(there.rounds <= 2 * (10 + 3));
    CHECK(packed_trees_broadcast{{ring(true), ring(false)}}.natural_blocks(5) == 16);
}

TEST_CASE("packed trees: no mutant passes for one") {
    for (const rank_t p : {2u, 5u}) {
        const dimensions at{.size = p, .root = p / 3, .blocks = 4};
        CHECK(test::spoil(plan_broadcast(packed_trees_broadcast{from(p / 3, p)}, at)) != 0);
        CHECK(test::spoil(plan_reduce(packed_trees_reduce{from(p / 3, p)}, at)) != 0);
        CHECK(test::spoil(plan_allreduce(packed_trees_allreduce{from_several(p, false), from_several(p, true)}, at)) !=
              0);
        const dimensions each{.size = p, .blocks = 3 * p};
        CHECK(test::spoil(plan_allgather(packed_trees_allgather{from_all(p)}, each)) != 0);
        CHECK(test::spoil(plan_reduce_scatter(packed_trees_reduce_scatter{from_all(p)}, each)) != 0);
    }
}

TEST_CASE("packed trees: what is no packing is refused, with a sentence") {
    const auto why = [](const status& bad) { return std::string(bad.argument == nullptr ? "" : bad.argument); };
    const dimensions at{.size = 4};
    CHECK(why(packed_trees_broadcast{}.check(at)) == "trees: at least one");
    CHECK(why(packed_trees_reduce{}.check(at)) == "trees: at least one");
    CHECK(why(packed_trees_allreduce{}.check(at)) == "trees: at least one");
    CHECK(why(packed_trees_broadcast{from(0, 5)}.check(at)) == "trees: they were made for another number of ranks");
    CHECK(why(packed_trees_reduce{from(1, 4)}.check(at)) == "root: the trees were made for another one");
    CHECK(why(packed_trees_broadcast{from(1, 4)}.check(at)) == "root: the trees were made for another one");
    CHECK_FALSE(packed_trees_broadcast{from(1, 4)}.check({.size = 4, .root = 1}));
    const std::vector<rank_t> no_tree{no_rank, 2, 1, 0};
    CHECK(why(packed_trees_broadcast{{table::from_parents(no_tree)}}.check(at)) == "edges: a rank is its own ancestor");
    CHECK(why(packed_trees_allreduce{from(0, 4), {}}.check(at)) == "trees: as many down as up");
    CHECK(why(packed_trees_allreduce{from(0, 4), from(1, 4)}.check(at)) ==
          "trees: a tree down has another root than the tree up");
    CHECK_FALSE(packed_trees_allreduce{from(0, 4), from(0, 4)}.check({.size = 4, .root = 3})); // no root to match
    CHECK(why(packed_trees_allgather{}.check(at)) == "trees: at least one");
    CHECK(why(packed_trees_reduce_scatter{from_several(4, false)}.check(at)) ==
          "trees: every rank must be the root of one at least");
    CHECK_FALSE(packed_trees_allgather{from_all(4)}.check(at));
    for (const block_t blocks : {0u, 3u, 6u})
        CHECK(why(packed_trees_allgather{from_all(4)}.check({.size = 4, .blocks = blocks})) ==
              "blocks: must be a multiple of the number of ranks");
    CHECK_FALSE(packed_trees_reduce_scatter{from_all(4)}.check({.size = 4, .blocks = 8}));
    CHECK(packed_trees_allgather{from_all(4)}.natural_blocks(4) == 4 * 8 * 3); // eight chunks of rank 0
}

TEST_CASE("packed trees: different trees are different algorithms") {
    const any_algorithm a = packed_trees_broadcast{from(0, 4)}, b = packed_trees_broadcast{{from(0, 4)[1]}};
    CHECK(a == any_algorithm(packed_trees_broadcast{from(0, 4)}));
    CHECK_FALSE(a == b);
    CHECK(a.hash() != b.hash());
    CHECK(a.identity() != b.identity());
    CHECK(a.identity() != any_algorithm(packed_trees_reduce{from(0, 4)}).identity());
    CHECK(std::string(any_algorithm(packed_trees_allgather{from_all(3)}).text().c_str()) ==
          "packed_trees_allgather{7 trees}");
    CHECK(any_algorithm(packed_trees_allgather{from_all(3)}).identity() !=
          any_algorithm(packed_trees_reduce_scatter{from_all(3)}).identity());
    CHECK(std::string(a.text().c_str()) == "packed_trees_broadcast{3 trees}");
    CHECK(std::string(b.text().c_str()) == "packed_trees_broadcast{1 tree}");
    CHECK(std::string(any_algorithm(packed_trees_reduce{from(0, 4)}).text().c_str()) == "packed_trees_reduce{3 trees}");
    std::vector<table> order = from(0, 4); // the order in which a rank serves its children counts
    const std::vector<rank_t> star{no_rank, 0, 0, 0}, served{1, 2, 3};
    order[2] = table::from_parents(star, served);
    CHECK(any_algorithm(packed_trees_broadcast{order}).hash() != a.hash());
}
