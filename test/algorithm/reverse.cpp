// SPDX-License-Identifier: BSL-1.0
#include "proof.hpp"
#include "support/catch.hpp"
#include "support/plans.hpp"
#include <bough/algorithm/reverse.hpp>
#include <bough/testing/plan_archetype.hpp>

#include <algorithm>
#include <cstddef>

using namespace bough;
using test::proven_everywhere;

namespace {

template <auto Source, rank_t Root = 0, block_t Blocks = 1>
constexpr auto backwards = [](rank_t size) {
    return plan_reduce(reverse(tree_broadcast{Source}), {.size = size, .root = Root % size, .blocks = Blocks});
};
static_assert(proven_everywhere<backwards<binomial{}>>());
static_assert(proven_everywhere<backwards<binomial{.orientation = orientation::high}, 1>>());
static_assert(proven_everywhere<backwards<fnomial{.degree = 3}, 2, 3>>());
static_assert(proven_everywhere<backwards<kary{.arity = 2}>>());
static_assert(proven_everywhere<backwards<chain{}, 0, 2>>());
static_assert(proven_everywhere<backwards<flat{}>>());
static_assert(proven_everywhere<backwards<ordered<fnomial>{{.degree = 3}}, 4>>());

// A broadcast that sends several blocks in one message.
static_assert(proven<verify(plan_reduce(reverse(bough::testing::algorithm_archetype::make()),
                                        {.size = 5, .root = 2, .blocks = 3}))>());

// A broadcast that is whole on one path and in halves on another: rank 1 gets both blocks at once, passes them on one by
// one, and to rank 3 the second only.
struct ragged {
    constexpr void emit(const dimensions&, rank_t rank, StepSink auto& out) const {
        const slice both{rank == 0 ? input : output, 0, 2}, low{output, 0, 1}, high{output, 1, 1};
        if (rank == 0) {
            out.send(1, both);
            out.send(3, {input, 0, 1});
        } else if (rank == 1) {
            out.receive(0, both);
            out.send(2, low);
            out.send(3, high);
            out.send(2, high);
        } else if (rank == 2) {
            out.receive(1, low);
            out.receive(1, high);
        } else {
            out.receive(0, low);
            out.receive(1, high);
        }
    }
    constexpr block_t natural_blocks(rank_t) const { return 2; }
    constexpr block_t scratch(const dimensions&, rank_t) const { return 0; }
    constexpr status check(const dimensions&) const { return {}; }
    friend constexpr bool operator==(const ragged&, const ragged&) = default;
};
static_assert(proven<verify(plan_broadcast(ragged{}, {.size = 4}))>());
static_assert(proven<verify(plan_reduce(reverse(ragged{}), {.size = 4}))>());

// A broadcast whose messages have parts, the last of them the first block; rank 1 passes on what it got in one piece.
struct in_parts {
    constexpr void emit(const dimensions&, rank_t rank, StepSink auto& out) const {
        const slice high{rank == 0 ? input : output, 1, 2}, low{rank == 0 ? input : output, 0, 1};
        if (rank != 2) {
            if (rank == 1) {
                out.receive_part(0, high);
                out.receive(0, low);
            }
            out.send_part(rank + 1, high);
            out.send(rank + 1, low);
        } else {
            out.receive_part(1, high);
            out.receive(1, low);
        }
    }
    constexpr block_t natural_blocks(rank_t) const { return 3; }
    constexpr block_t scratch(const dimensions&, rank_t) const { return 0; }
    constexpr status check(const dimensions&) const { return {}; }
    friend constexpr bool operator==(const in_parts&, const in_parts&) = default;
};
static_assert(proven<verify(plan_broadcast(in_parts{}, {.size = 3}))>());
static_assert(proven<verify(plan_reduce(reverse(in_parts{}), {.size = 3}))>());
static_assert(verify(plan_reduce(reverse(in_parts{}), {.size = 3})).traits.messages == 2);

// A broadcast that forgets block 0 is wrong, and so is its reverse: block 0 never arrives anywhere.
struct half {
    constexpr void emit(const dimensions&, rank_t rank, StepSink auto& out) const {
        if (rank == 0)
            out.send(1, {input, 1, 1});
        else
            out.receive(0, {output, 1, 1});
    }
    constexpr block_t natural_blocks(rank_t) const { return 2; }
    constexpr block_t scratch(const dimensions&, rank_t) const { return 0; }
    constexpr status check(const dimensions&) const { return {}; }
    friend constexpr bool operator==(const half&, const half&) = default;
};
static_assert(verify(plan_broadcast(half{}, {.size = 2})).fault == fault::missing_result);
static_assert(verify(plan_reduce(reverse(half{}), {.size = 2})).fault == fault::missing_result);

} // namespace

TEST_CASE("reverse(tree_broadcast) is tree_reduce, step by step") {
    for (const rank_t size : {1u, 2u, 3u, 7u, 8u, 13u, 27u, 40u})
        for (rank_t root = 0; root < size; root += 1 + size / 5)
            test::for_each_source({.size = size, .root = root, .blocks = 1},
                                  [&](const char* name, const auto& source, bool) {
                                      const dimensions at{.size = size, .root = root, .blocks = 1};
                                      const auto reduce = plan_reduce(source, at);
                                      const auto reversed = plan_reduce(reverse(tree_broadcast{source}), at);
                                      CAPTURE(name, size, root);
                                      for (rank_t r = 0; r != size; ++r) {
                                          REQUIRE(reduce.schedule_of(r) == reversed.schedule_of(r));
                                          REQUIRE(reduce.scratch(r) == reversed.scratch(r));
                                      }
                                      for (const std::uint32_t landing : {1u, 2u}) {
                                          const auto few = plan_reduce(tree_reduce{source, landing}, at);
                                          const auto back = plan_reduce(reverse(tree_broadcast{source}, landing), at);
                                          for (rank_t r = 0; r != size; ++r) {
                                              REQUIRE(few.schedule_of(r) == back.schedule_of(r));
                                              REQUIRE(few.scratch(r) == back.scratch(r));
                                          }
                                      }
                                  });
}

TEST_CASE("with several blocks it does the same work in another order") {
    for (const rank_t size : {2u, 3u, 7u, 13u, 27u})
        for (const block_t blocks : {0u, 2u, 5u}) {
            const dimensions at{.size = size, .root = size / 2, .blocks = blocks};
            test::for_each_source(at, [&](const char* name, const auto& source, bool) {
                const auto reduce = plan_reduce(source, at);
                const auto reversed = plan_reduce(reverse(tree_broadcast{source}), at);
                CAPTURE(name, size, blocks);
                for (rank_t r = 0; r != size; ++r) {
                    const schedule forward = reduce.schedule_of(r);
                    const schedule backward = reversed.schedule_of(r);
                    REQUIRE(forward.size() == backward.size());
                    REQUIRE(std::is_permutation(forward.begin(), forward.end(), backward.begin()));
                }
                verdict one = verify(reduce);
                verdict other = verify(reversed);
                REQUIRE(one);
                other.traits.rounds = one.traits.rounds; // pipelines may fill differently
                REQUIRE(one == other);
            });
        }
}
