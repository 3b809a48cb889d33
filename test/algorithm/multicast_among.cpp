// SPDX-License-Identifier: BSL-1.0
// A multicast by any broadcast: proved for every subset of few ranks, and for some of many; its price is that of the broadcast.
#include "support/catch.hpp"
#include <bough/algorithm/broadcast/circulant.hpp>
#include <bough/algorithm/broadcast/double_tree.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/multicast/among.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/walk.hpp>
#include <bough/schedule/any_algorithm.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/verify/verify.hpp>

#include <string>
#include <vector>

using namespace bough;

namespace {

constexpr model::alpha_beta_gamma network{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25};

std::vector<rank_t> subset(rank_t size, unsigned pick) {
    std::vector<rank_t> members;
    for (rank_t r = size; r-- != 0;)
        if ((pick >> r & 1) != 0) members.push_back(r);
    return members;
}
rank_t participants_of(const std::vector<rank_t>& members, rank_t root) {
    rank_t others = 0;
    for (const rank_t m : members) others += m != root;
    return others + 1;
}

template <class B>
void check_broadcast(const B& broadcast, block_t blocks) {
    for (rank_t p = 1; p <= 7; ++p)
        for (rank_t from = 0; from != p; ++from)
            for (unsigned pick = 0; pick != 1u << p; ++pick) {
                const multicast_among among{broadcast, subset(p, pick)};
                const dimensions at{.size = p, .root = from, .blocks = blocks};
                const rank_t k = participants_of(among.members, from);
                if (broadcast.check({.size = k, .root = 0, .blocks = blocks})) continue;
                const auto plan = plan_multicast(among, at);
                INFO("p " << p << ", root " << from << ", pick " << pick << ", " << blocks << " blocks");
                REQUIRE(verify(plan));
                // What it costs is what the broadcast costs.
                const auto alone = plan_broadcast(broadcast, {.size = k, .root = 0, .blocks = blocks});
                REQUIRE(model::walk(plan, network, 4096).makespan_ns == model::walk(alone, network, 4096).makespan_ns);
            }
}

} // namespace

static_assert(Algorithm<multicast_among<circulant_broadcast>>);
static_assert(verify(plan_multicast(multicast_among{circulant_broadcast{}, {6, 0, 5}},
                                    {.size = 7, .root = 2, .blocks = 3})));

TEST_CASE("multicast_among: proved for every subset and root, with the price of the broadcast") {
    for (const block_t blocks : {1u, 3u}) {
        check_broadcast(circulant_broadcast{}, blocks);
        check_broadcast(double_tree_broadcast{}, blocks);
        check_broadcast(tree_broadcast{chain{}}, blocks);
        check_broadcast(any_algorithm(tree_broadcast{fnomial{3}}), blocks);
    }
}

TEST_CASE("multicast_among: over a tree it sends what tree_multicast sends") {
    const std::vector<rank_t> members{6, 0, 5, 3};
    for (const block_t blocks : {1u, 4u}) {
        const dimensions at{.size = 8, .root = 2, .blocks = blocks};
        const auto by_tree = plan_multicast(fnomial{3}, members, at);
        const auto by_broadcast = plan_multicast(multicast_among{tree_broadcast{fnomial{3}}, members}, at);
        for (rank_t r = 0; r != 8; ++r) CHECK(by_tree.schedule_of(r) == by_broadcast.schedule_of(r));
    }
}

TEST_CASE("multicast_among: what is wrong with a list is named, and labels tell the broadcast") {
    const auto bad = [](std::vector<rank_t> members) {
        return multicast_among{circulant_broadcast{}, std::move(members)}.check({.size = 4, .blocks = 1});
    };
    CHECK_FALSE(bad({3, 1}));
    CHECK(std::string(bad({4}).argument) == "members: one is not a rank of the group");
    CHECK(bad({1, 1}).peer == 1);
    CHECK(std::string(multicast_among{circulant_broadcast{}, {}}.text().c_str()) ==
          "multicast_among{circulant_broadcast}");
    CHECK(multicast_among{circulant_broadcast{}, {1}}.hash() != multicast_among{circulant_broadcast{}, {2}}.hash());
}
