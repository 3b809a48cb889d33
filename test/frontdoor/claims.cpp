// SPDX-License-Identifier: BSL-1.0
// A caller's tree or algorithm that claims what is not so is an error at its first use; and each front door takes the models of its
// concepts with the least rights. Compiled alone: it proves plans at first use.
#define BOUGH_VERIFY_PLANS 1
#include "support/catch.hpp"
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/gather.hpp>
#include <bough/multicast.hpp>
#include <bough/reduce.hpp>
#include <bough/scatter.hpp>
#include <bough/testing/op_archetype.hpp>
#include <bough/testing/plan_archetype.hpp>
#include <bough/testing/tree_archetype.hpp>
#include <bough/testing/tree_laws.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/fnomial.hpp>

#include <array>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

using namespace bough;

namespace {

using comm_type = communicator<in_process::endpoint>;

// Even ranks are a chain; each odd rank hangs from the even one before it, and is served first.
struct caterpillar {
    constexpr rank_t parent(rank_t v, rank_t) const { return v == 0 ? no_rank : v % 2 == 1 ? v - 1 : v - 2; }
    constexpr rank_t child_count(rank_t v, rank_t n) const {
        return v % 2 == 1 ? 0 : (v + 2 < n ? 1u : 0u) + (v + 1 < n ? 1u : 0u);
    }
    constexpr rank_t child(rank_t v, rank_t, rank_t i) const { return v + 1 + i; }
    constexpr status check() const { return {}; }
    constexpr bool rank_ordered() const { return true; } // it is not
    friend constexpr bool operator==(const caterpillar&, const caterpillar&) = default;
};
struct modest_caterpillar : caterpillar {
    constexpr bool rank_ordered() const { return false; }
};
static_assert(testing::check_shape(caterpillar{}, 7).law == testing::tree_law::children_are_adjacent);
static_assert(tree_reduce<caterpillar>{}.check_claims({.size = 7}).code == errc::invalid_argument);
static_assert(!tree_reduce<caterpillar>{}.check_claims({.size = 7, .root = 1})); // claims nothing there
static_assert(!tree_allreduce<ordered<binomial>>{}.check_claims({.size = 7, .root = 4}));

// Two algorithms with one name: equal, though they are not.
struct either {
    rank_t degree = 2;
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        tree_allreduce<fnomial>{{.degree = degree}}.emit(at, rank, out);
    }
    constexpr block_t natural_blocks(rank_t) const { return 1; }
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return tree_allreduce<fnomial>{{.degree = degree}}.scratch(at, rank);
    }
    constexpr status check(const dimensions&) const { return {}; }
    friend constexpr bool operator==(const either&, const either&) { return true; }
};
// Combines in rank order, and every rank on its own.
struct sworn_to_hold : recursive_doubling {
    static constexpr bool may_hold = true;
};

constexpr auto join = [](int a, int b) { return 10 * a + b; }; // not known to commute

// What f(comm) says on each of so many ranks.
template <class F>
std::vector<status> on_all(rank_t size, F f) {
    std::vector<status> said(size);
    in_process{size}.run([&](auto transport) {
        comm_type comm(std::move(transport));
        said[comm.rank()] = f(comm);
    });
    return said;
}
bool all_name(const std::vector<status>& said, const std::string& text) {
    for (const status& s : said)
        if (s.code != errc::invalid_argument || std::string(s.argument).find(text) == std::string::npos) return false;
    return true;
}
bool all_well(const std::vector<status>& said) {
    for (const status& s : said)
        if (s) return false;
    return true;
}

} // namespace

TEST_CASE("claims: a false one is an error on every rank, at the first use and at the next", "[frontdoor]") {
    for (int use = 0; use != 2; ++use) {
        CHECK(all_name(on_all(7,
                              [&](comm_type& comm) {
                                  status s;
                                  int x = 1;
                                  for (int k = 0; k <= use; ++k)
                                      reduce(comm, std::span(&x, 1), join, root{0}, caterpillar{}, s);
                                  return s;
                              }),
                       "rank_ordered"));
        CHECK(all_name(on_all(7,
                              [&](comm_type& comm) {
                                  int x = 1;
                                  operation started = start_allreduce(comm, x, join, caterpillar{});
                                  status s;
                                  started.wait(s);
                                  return s;
                              }),
                       "rank_ordered"));
    }
    CHECK(all_name(on_all(5,
                          [&](comm_type& comm) {
                              status s;
                              (void)allreduce(comm, 1, plus{}, sworn_to_hold{}, s);
                              return s;
                          }),
                   "may_hold"));
    CHECK(all_name(on_all(5,
                          [&](comm_type& comm) {
                              status s;
                              (void)allreduce(comm, 1, plus{}, either{2}, s);
                              if (!s) (void)allreduce(comm, 1, plus{}, either{3}, s);
                              return s;
                          }),
                   "=="));
}

TEST_CASE("claims: what is not claimed is not asked for", "[frontdoor]") {
    CHECK(all_well(on_all(7, [&](comm_type& comm) {
        status s;
        const int sum = allreduce(comm, 1, plus{}, modest_caterpillar{}, s);
        if (!s && sum != 7) s.code = errc::protocol_error;
        return s;
    })));
}

TEST_CASE("each front door takes the models with the least rights", "[frontdoor]") {
    CHECK(all_well(on_all(5, [&](comm_type& comm) {
        const testing::tree_shape_archetype star{testing::make_archetype{}};
        const rank_t me = comm.rank();
        status s;
        bool right = true;
        const auto look = [&](bool good) { right &= good && !s; };
        look(allreduce(comm, 1, plus{}, star, s) == 5);
        look(reduce(comm, 1, plus{}, root{2}, star, s) == (me == 2 ? 5 : 1));
        const testing::op_archetype compose(3);
        look(allreduce(comm, testing::element_archetype(2, me), compose, s).scale() == 32);
        look(broadcast(comm, me, root{3}, star, s) == 3);
        look(broadcast(comm, me, root{3}, testing::algorithm_archetype::make(), s) == 3);
        std::array<rank_t, 5> all{};
        rank_t mine = me;
        gather(comm, std::span(&mine, 1), all, root{1}, star, s);
        look(me != 1 || all == std::array<rank_t, 5>{0, 1, 2, 3, 4});
        scatter(comm, all, std::span(&mine, 1), root{1}, star, s);
        look(mine == me);
        const std::array<rank_t, 2> members{0, 4};
        int told = me == 2 ? 9 : 0;
        multicast(comm, std::span(&told, 1), members, root{2}, testing::tree_shape_archetype(star), s);
        look(told == (me % 2 == 0 ? 9 : 0));
        if (!right && !s) s.code = errc::protocol_error;
        return s;
    })));
}
