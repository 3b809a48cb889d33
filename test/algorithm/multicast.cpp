// SPDX-License-Identifier: BSL-1.0
#include "proof.hpp"
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/multicast/tree.hpp>
#include <bough/core/freeze.hpp>
#include <bough/tree/depth.hpp>
#include <bough/verify/verify.hpp>

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

using namespace bough;
using test::proven_everywhere;

namespace {

// Every second rank, the highest first.
constexpr std::vector<rank_t> every_second(rank_t size) {
    std::vector<rank_t> members;
    for (rank_t r = size; r-- != 0;)
        if (r % 2 == 0) members.push_back(r);
    return members;
}

template <auto Source, rank_t Root = 0, block_t Blocks = 1>
constexpr auto over = [](rank_t size) {
    return plan_multicast(Source, every_second(size), {.size = size, .root = Root % size, .blocks = Blocks});
};
static_assert(proven_everywhere<over<binomial{}>>());
static_assert(proven_everywhere<over<binomial{.orientation = orientation::high}, 3>>());
static_assert(proven_everywhere<over<fnomial{.degree = 3}, 4, 3>>());
static_assert(proven_everywhere<over<kary{.arity = 2}, 1>>());
static_assert(proven_everywhere<over<chain{}, 0, 4>>());
static_assert(proven_everywhere<over<flat{}, 6>>());
static_assert(proven_everywhere<over<ordered<fnomial>{{.degree = 3}}>>());

// The picture of the header.
template <rank_t R>
constexpr auto steps_of = freeze<[] {
    return plan_multicast(binomial{}, {6, 0, 5}, {7, 2}).schedule_of(R).steps;
}>();
static_assert(steps_of<2> == std::array{send_step(0, {input, 0, 1}), send_step(6, {input, 0, 1})});
static_assert(steps_of<0> == std::array{receive_step(2, {output, 0, 1}), send_step(5, {output, 0, 1})});
static_assert(steps_of<5> == std::array{receive_step(0, {output, 0, 1})});
static_assert(steps_of<1>.size() == 0);
static_assert(verify(plan_multicast(binomial{}, {6, 0, 5}, {7, 2})).traits.rounds == 2);

// The root may be listed or not.
static_assert(plan_multicast(chain{}, {3, 1}, {4, 0}).schedule_of(3) ==
              plan_multicast(chain{}, {3, 0, 1}, {4, 0}).schedule_of(3));

constexpr status checked(std::vector<rank_t> members) {
    return check_plan(tree_multicast{binomial{}, std::move(members)}, {.size = 4});
}
static_assert(!checked({}) && !checked({1, 2, 3}) && !checked({3, 0}));
static_assert(checked({1, 4}).code == errc::invalid_argument && checked({1, 4}).peer == 4);
static_assert(checked({1, 3, 1}).code == errc::invalid_argument && checked({1, 3, 1}).peer == 1);
static_assert(std::string_view(checked({1, 4}).argument) == "members: one is not a rank of the group");
static_assert(std::string_view(checked({2, 2}).argument) == "members: a rank is listed twice");
static_assert(checked({no_rank}).peer == no_rank && checked({no_rank}));

// The goal knows who must get something: a broadcast to the wrong members is no multicast.
struct misled : tree_multicast<binomial> {
    constexpr goal::multicast goal() const { return {{1, 2}}; }
};
static_assert(verify(plan_multicast(misled{{binomial{}, {1, 3}}}, {.size = 4})).fault == fault::write_to_output);
static_assert(verify(plan_multicast(misled{{binomial{}, {1, 3}}}, {.size = 4})).rank == 3);

// The order of the list is part of what the ranks must agree on.
static_assert(tree_multicast{chain{}, {1, 2, 3}}.hash() != tree_multicast{chain{}, {1, 3, 2}}.hash());
static_assert(tree_multicast{chain{}, {1, 2}} == tree_multicast{chain{}, {1, 2}});

} // namespace

TEST_CASE("multicast: every tree, every root, subsets of up to 64 ranks") {
    for (rank_t size = 1; size <= 64; ++size)
        for (rank_t root = 0; root != size; ++root) {
            if (size > 20 && !bough_test::sampled(size * 64 + root, 4)) continue;
            // Ranks root + 1, root + 4, ... modulo the size: some before the root, some behind it, sometimes the root.
            std::vector<rank_t> members;
            for (rank_t v = 1; v <= size; v += 3) members.push_back((root + v) % size);
            const bool lists_root = size % 3 == 1;
            const auto others = static_cast<rank_t>(members.size()) - (lists_root ? 1 : 0);
            const dimensions among{.size = others + 1, .root = 0, .blocks = 2};
            test::for_each_source(among, [&](const char* name, const auto& source, bool) {
                CAPTURE(name, size, root);
                const auto plan = plan_multicast(source, members, {.size = size, .root = root, .blocks = 2});
                const verdict proof = verify(plan);
                REQUIRE(proof);
                CHECK(proof.traits.messages == 2 * others);
                CHECK(proof.traits.hops == depth(bind_tree(source, among)));
                CHECK(proof.traits.scratch_max == 0);
                // What the participants do is a broadcast among themselves.
                const plan_traits broadcast = verify(plan_broadcast(source, among)).traits;
                CHECK(proof.traits.rounds == broadcast.rounds);
                CHECK(proof.traits.volume_max == broadcast.volume_max);
                std::size_t idle = 0;
                for (rank_t r = 0; r != size; ++r) idle += plan.schedule_of(r).size() == 0 ? 1 : 0;
                CHECK(idle == size - (others == 0 ? 0 : others + 1));
            });
        }
}

TEST_CASE("multicast: a table's size is that of the participants") {
    const table five{tree{chain{}, 5}};
    CHECK_FALSE(check_plan(tree_multicast<table>{five, {1, 2, 3, 4}}, {.size = 9}));
    CHECK(check_plan(tree_multicast<table>{five, {1, 2, 3}}, {.size = 9}).code == errc::invalid_argument);
}
