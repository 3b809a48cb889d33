// SPDX-License-Identifier: BSL-1.0
// Every plan, for 1 to 256 ranks: proved by verify, and its traits against closed formulas and a walk of its tree.
// Optimised: there are thousands of plans.
#include "scratch_used.hpp"
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/sample.hpp"
#include <bough/schedule/print.hpp>
#include <bough/testing/tree_laws.hpp>
#include <bough/tree/depth.hpp>
#include <bough/verify/verify.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

using namespace bough;

namespace {

// The dimensions that this run tries. Large ones are rare in a quick run, and not all in a full one: the cost of a
// proof is proportional to ranks times blocks.
template <class F>
void for_each_case(F f) {
    std::uint64_t number = 0;
    for (rank_t size = 1; size <= 256; ++size) {
        std::vector<rank_t> roots;
        if (size <= 64)
            for (rank_t r = 0; r != size; ++r) roots.push_back(r);
        else
            roots = {0, 1, size / 2, size - 1};
        for (const rank_t root : roots)
            for (const block_t blocks : {0u, 1u, size - 1, size, size + 1, 101u}) {
                const std::uint64_t weight = std::uint64_t{size} * (blocks + 1);
                const std::uint64_t keep_one_in = 1 + weight / (bough_test::all() ? 200 : 10);
                if (bough_test::mixed(bough_test::seed() ^ bough_test::mixed(++number)) % keep_one_in == 0)
                    f(dimensions{.size = size, .root = root, .blocks = blocks}, number);
            }
    }
}

template <Plan P>
verdict prove(const P& plan) {
    const verdict proof = verify(plan);
    CAPTURE(to_string(proof));
    REQUIRE(proof);
    // What passes without buffers passes with them: the same values, and no more rounds.
    for (const std::uint32_t slots : {1u, 3u}) {
        verdict buffered = verify(plan, {.eager_slots = slots});
        REQUIRE(buffered);
        buffered.traits.rounds = proof.traits.rounds;
        REQUIRE(buffered == proof);
    }
    // What an algorithm claims is true: rank order, and that its messages may stay with their senders until combined.
    if (keeps_rank_order(plan.algorithm(), plan.at())) REQUIRE_FALSE(proof.traits.needs_commutative);
    if constexpr (may_hold_v<std::remove_cvref_t<decltype(plan.algorithm())>>) {
        verdict held = verify(plan, {.hold = true});
        REQUIRE(held);
        held.traits.rounds = proof.traits.rounds;
        REQUIRE(held == proof);
    }
    // Scratch is what is declared, on every rank: no more (or verify fails), no less.
    if (plan.size() * plan.blocks() < 5'000) {
        std::uint64_t most = 0;
        for (rank_t r = 0; r != plan.size(); ++r) {
            const std::uint64_t used = test::scratch_used(plan, r);
            REQUIRE(used == plan.scratch(r));
            most = std::max(most, used);
        }
        REQUIRE(proof.traits.scratch_max == most);
    }
    return proof;
}

rank_t ceil_log(rank_t base, rank_t size) {
    rank_t log = 0;
    for (std::uint64_t power = 1; power < size; power *= base) ++log;
    return log;
}

// Figures of a tree, by a walk.
struct figures {
    rank_t children_max = 0;
    rank_t peers_max = 0;
    rank_t combine_depth = 0; // of the bracket: own value, then the children in receive order
};
template <Tree T>
figures walk(const T& tree) {
    std::vector<rank_t> order{tree.root()}, depth_of(tree.size(), 0);
    figures found;
    for (std::size_t i = 0; i != order.size(); ++i)
        for (rank_t c = 0; c != tree.child_count(order[i]); ++c) order.push_back(tree.child(order[i], c));
    for (std::size_t i = order.size(); i-- != 0;) {
        const rank_t r = order[i];
        const rank_t children = tree.child_count(r);
        for (rank_t c = children; c-- != 0;) depth_of[r] = std::max(depth_of[r], depth_of[tree.child(r, c)]) + 1;
        found.children_max = std::max(found.children_max, children);
        found.peers_max = std::max(found.peers_max, children + (r == tree.root() ? 0 : 1));
    }
    found.combine_depth = depth_of[tree.root()];
    return found;
}

template <class S>
rank_t binomial_rounds(const S&, rank_t) {
    return no_rank;
}
rank_t binomial_rounds(const binomial&, rank_t size) { return ceil_log(2, size); }

template <class S>
rank_t most_rounds(const S&, rank_t) {
    return no_rank;
}
rank_t most_rounds(const fnomial& f, rank_t size) { return (f.degree - 1) * ceil_log(f.degree, size); }
rank_t most_rounds(const degree_k& d, rank_t size) { return d.k * ceil_log(d.k + 1, size); }

template <class S>
void check_source(const dimensions& at, const S& source, bool keeps_order) {
    const auto& tree = bind_tree(source, at);
    const figures of_tree = walk(tree);
    const bool moves = at.blocks != 0 && at.size != 1;
    const bool in_order = bough::testing::check_rank_order(tree, true).law == bough::testing::tree_law::none;
    const std::uint64_t edges = std::uint64_t{at.size - 1} * at.blocks;
    const rank_t hops = at.blocks == 0 ? 0 : depth(tree);
    REQUIRE((!keeps_order || in_order));
    REQUIRE(keeps_rank_order(tree_reduce{source}, at) == keeps_order);
    REQUIRE(keeps_rank_order(tree_allreduce{source}, at) == keeps_order);

    const plan_traits reduce = prove(plan_reduce(source, at)).traits;
    CHECK(reduce.messages == edges);
    CHECK(reduce.volume == edges);
    CHECK(reduce.combines == edges);
    CHECK(reduce.volume_max == (moves ? at.blocks : 0));
    CHECK(reduce.combines_max == std::uint64_t{of_tree.children_max} * at.blocks);
    CHECK(reduce.peers_max == (moves ? of_tree.peers_max : 0));
    CHECK(reduce.hops == hops);
    CHECK(reduce.depth == (moves ? of_tree.combine_depth : 0));
    CHECK(reduce.needs_commutative == (moves && !in_order));
    CHECK(reduce.position_invariant);
    CHECK_FALSE(reduce.needs_idempotent);
    CHECK((reduce.bracket != 0) == moves);

    const plan_traits broadcast = prove(plan_broadcast(source, at)).traits;
    CHECK(broadcast.messages == edges);
    CHECK(broadcast.volume == edges);
    CHECK(broadcast.volume_max == std::uint64_t{of_tree.children_max} * at.blocks);
    CHECK(broadcast.combines == 0);
    CHECK(broadcast.scratch_max == 0);
    CHECK(broadcast.bracket == 0);
    CHECK(broadcast.hops == hops);
    CHECK_FALSE(broadcast.needs_commutative);

    const plan_traits allreduce = prove(plan_allreduce(source, at)).traits;
    CHECK(allreduce.messages == 2 * edges);
    CHECK(allreduce.volume == 2 * edges);
    CHECK(allreduce.combines == edges);
    CHECK(allreduce.hops == 2 * hops);
    CHECK(allreduce.depth == reduce.depth);
    CHECK(allreduce.rank_consistent);
    CHECK(allreduce.bracket == reduce.bracket); // the same bits
    CHECK(allreduce.needs_commutative == reduce.needs_commutative);

    const plan_traits reversed = prove(plan_reduce(reverse(tree_broadcast{source}), at)).traits;
    CHECK(reversed.bracket == reduce.bracket);
    CHECK(reversed.volume == reduce.volume);
    CHECK(reversed.scratch_max == reduce.scratch_max);

    const plan_traits narrow = prove(plan_reduce(tree_reduce{source, 1}, at)).traits;
    CHECK(narrow.bracket == reduce.bracket);
    CHECK(narrow.scratch_max <= 2 * at.blocks);
    CHECK(prove(plan_allreduce(tree_allreduce{source, 2}, at)).traits.bracket == reduce.bracket);

    if (at.blocks != 1) return;
    if (const rank_t rounds = binomial_rounds(source, at.size); rounds != no_rank) {
        CHECK(reduce.rounds == rounds);
        CHECK(broadcast.rounds == rounds);
        CHECK(allreduce.rounds == 2 * rounds);
    }
    CHECK(reduce.rounds <= most_rounds(source, at.size));
    CHECK(broadcast.rounds <= most_rounds(source, at.size));
    CHECK(reversed == reduce);
}

} // namespace

TEST_CASE("trees: every plan is proved, and its traits are what its tree says") {
    for_each_case([](const dimensions& at, std::uint64_t number) {
        std::uint64_t source_number = 0;
        test::for_each_source(at, [&](const char* name, const auto& source, bool keeps_order) {
            // A small case tries every source, a large one every fourth.
            if (at.size * at.blocks > 2'000 && (number + ++source_number) % 4 != 0) return;
            CAPTURE(name, at.size, at.root, at.blocks);
            check_source(at, source, keeps_order);
        });
    });
}

TEST_CASE("recursive doubling") {
    for_each_case([](const dimensions& at, std::uint64_t) {
        CAPTURE(at.size, at.root, at.blocks);
        const plan_traits traits = prove(plan_allreduce(recursive_doubling{}, at)).traits;
        const rank_t group = std::bit_floor(at.size);
        const rank_t extra = at.size - group;
        const rank_t exchanges = ceil_log(2, group);
        // Without data nothing has to wait for anything, so a round less may do.
        if (at.blocks != 0) CHECK(traits.rounds == exchanges + (extra == 0 ? 0 : 2));
        CHECK(traits.messages == group * exchanges + 2 * extra);
        CHECK(traits.volume == traits.messages * at.blocks);
        CHECK(traits.combines == (std::uint64_t{group} * exchanges + extra) * at.blocks);
        CHECK(traits.depth == (at.blocks == 0 ? 0 : ceil_log(2, at.size)));
        CHECK(traits.rank_consistent);
        CHECK(traits.position_invariant);
        CHECK_FALSE(traits.needs_commutative); // for any size, and the root does not matter
        CHECK(traits.scratch_max == (at.size == 1 ? 0 : at.blocks));
    });
}

TEST_CASE("dissemination") {
    for (rank_t size = 1; size <= 256; ++size) {
        CAPTURE(size);
        const plan_traits traits = prove(plan_barrier(dissemination{}, {.size = size})).traits;
        CHECK(traits.rounds == ceil_log(2, size));
        CHECK(traits.messages == size * ceil_log(2, size));
        CHECK(traits.needs_idempotent == !std::has_single_bit(size));
        CHECK(traits.hops == ceil_log(2, size));
    }
    for (const rank_t ports : {2u, 3u, 4u, 7u})
        for (rank_t size = 1; size <= 100; ++size) {
            CAPTURE(ports, size);
            const plan_traits traits = prove(plan_barrier(dissemination{ports}, {.size = size})).traits;
            CHECK(traits.hops == ceil_log(ports + 1, size));
            CHECK(traits.messages <= std::uint64_t{size} * ports * ceil_log(ports + 1, size));
        }
    for (rank_t size = 2; size <= 32; ++size) { // each rank tells all others
        const plan_traits traits = prove(plan_barrier(dissemination{size - 1}, {.size = size})).traits;
        CHECK(traits.hops == 1);
        CHECK(traits.messages == std::uint64_t{size} * (size - 1));
        CHECK_FALSE(traits.needs_idempotent); // nothing comes twice
    }
    CHECK(dissemination{0}.check({.size = 3}).code == errc::invalid_argument);
}
