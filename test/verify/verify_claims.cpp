// SPDX-License-Identifier: BSL-1.0
// Claims that are not true, one of each kind, and that verify_claims finds each.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/census.hpp>
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/alltoall/pairwise.hpp>
#include <bough/algorithm/by_owner.hpp>
#include <bough/algorithm/scan/recursive_doubling.hpp>
#include <bough/schedule/any_algorithm.hpp>
#include <bough/tree/kary.hpp>
#include <bough/verify/verify_claims.hpp>

#include <string>

using namespace bough;

namespace {

// Every rank has a bracket of its own, and says that all have one.
struct sworn_census : inexact_census {
    constexpr bool rank_consistent(const dimensions&) const noexcept { return true; }
};
// A scan's ranks get different results.
struct sworn_scan : recursive_doubling_scan {
    constexpr bool rank_consistent(const dimensions&) const noexcept { return true; }
};
// Where input and output are one memory, a combine waits until its operand has been sent; if the message stays with its sender
// until the peer's combine is done, both wait for ever.
struct sworn_to_hold : recursive_doubling {
    static constexpr bool may_hold = true;
};
struct sworn_to_order : tree_allreduce<kary> {
    constexpr bool keeps_rank_order(const dimensions&) const noexcept { return true; }
};
struct sworn_to_doubling : tree_allreduce<kary> {
    constexpr bracket_class bracket(const dimensions& at) const { return recursive_doubling{}.bracket(at); }
};
struct sworn_to_symmetry : recursive_doubling {
    static constexpr bool symmetric = true;
};
// Groups of two, in halves of which the second does something else; or of different sizes.
struct sworn_to_pairs : pairwise_alltoall {
    static constexpr bool symmetric = false;
    constexpr rank_t alike_group(const dimensions&, rank_t rank) const noexcept { return rank / 2; }
};
struct sworn_to_groups : tree_allreduce<kary> {
    constexpr rank_t alike_group(const dimensions&, rank_t rank) const noexcept { return rank / 2; }
};
struct sworn_to_series : recursive_doubling {
    static constexpr bool combines_in_series = true;
};
struct of_another_goal : recursive_doubling {
    using serves = goals<goal::barrier>;
};

constexpr auto of_allreduce = [](const auto& a, rank_t size) {
    return verify_claims(plan_allreduce(a, {.size = size}));
};

} // namespace

static_assert(of_allreduce(sworn_census{}, 3).untrue == claim::same_bits);
static_assert(of_allreduce(inexact_census{}, 3).untrue == claim::none);

TEST_CASE("claims: ranks that do not get the same bits", "[schedule][claims]") {
    for (rank_t p = 3; p <= 17; ++p) {
        CAPTURE(p);
        CHECK(of_allreduce(sworn_census{}, p).untrue == claim::same_bits);
        CHECK(of_allreduce(inexact_census{}, p));
        CHECK(verify_claims(plan_scan(sworn_scan{}, {.size = p})).untrue == claim::same_bits);
        CHECK(verify_claims(plan_scan(recursive_doubling_scan{}, {.size = p})));
        // The proof of the plan alone finds it, too, also if the algorithm's type is not known.
        CHECK(verify(plan_allreduce(sworn_census{}, {.size = p})).fault == fault::different_bits);
        CHECK(verify(plan_allreduce(any_algorithm(sworn_census{}), {.size = p})).fault == fault::different_bits);
        CHECK(verify(plan_allreduce(any_algorithm(inexact_census{}), {.size = p})));
        CHECK(verify(plan_scan(any_algorithm(sworn_scan{}), {.size = p})).fault == fault::different_bits);
        CHECK(verify(plan_scan(any_algorithm(recursive_doubling_scan{}), {.size = p})));
    }
    CHECK(of_allreduce(sworn_census{}, 1));
}

TEST_CASE("claims: symmetry by shifting, and by exclusive or", "[schedule][claims]") {
    for (rank_t p = 2; p <= 17; ++p) {
        CAPTURE(p);
        CHECK(verify_claims(plan_alltoall(pairwise_alltoall{}, {.size = p})));
        const bool power = (p & (p - 1)) == 0; // then all ranks exchange, with the rank xor 2^k
        CHECK(of_allreduce(sworn_to_symmetry{}, p).untrue == (power ? claim::none : claim::symmetric));
        if (!power) CHECK(of_allreduce(sworn_to_symmetry{}, p).rank < p);
    }
}

TEST_CASE("claims: groups that do alike, and that do not", "[schedule][claims]") {
    for (rank_t p = 2; p <= 16; ++p) {
        CAPTURE(p);
        const claim_verdict pairs = verify_claims(plan_alltoall(sworn_to_pairs{}, {.size = p}));
        CHECK(pairs.untrue == (p % 2 == 0 ? claim::none : claim::alike)); // one group has one rank only
        if (p > 2) CHECK(of_allreduce(sworn_to_groups{{kary{2}}}, p).untrue == claim::alike);
        if (p == 6) CHECK(of_allreduce(sworn_to_groups{{kary{2}}}, p).rank == 2);
    }
}

TEST_CASE("claims: messages that may not stay where they landed", "[schedule][claims]") {
    for (rank_t p = 2; p <= 17; ++p) {
        CAPTURE(p);
        CHECK(of_allreduce(sworn_to_hold{}, p).untrue == claim::may_hold);
        CHECK(of_allreduce(recursive_doubling{}, p));
    }
}

TEST_CASE("claims: verify alone finds false rank order and false equal bits, and whose result it is",
          "[schedule][claims]") {
    const verdict order = verify(plan_allreduce(sworn_to_order{{kary{2}}}, {.size = 7}));
    CHECK(order.fault == fault::not_in_rank_order);
    CHECK(order.rank == 0);
    CHECK(verify(plan_allreduce(tree_allreduce<kary>{kary{2}}, {.size = 7})).traits.needs_commutative);
    const verdict bits = verify(plan_allreduce(sworn_census{}, {.size = 5}));
    CHECK(bits.fault == fault::different_bits);
    CHECK(bits.rank == 1);
    CHECK(verify(plan_allreduce(inexact_census{}, {.size = 5})));
    CHECK(verify(plan_allreduce(inexact_census{}, {.size = 5}), {.same_bits = true}).fault == fault::different_bits);
    CHECK(verify(plan_allreduce(tree_allreduce<kary>{kary{2}}, {.size = 7}), {.in_rank_order = true}).fault ==
          fault::not_in_rank_order);
}

TEST_CASE("claims: a bracket class that is another algorithm's", "[schedule][claims]") {
    const dimensions at{.size = 8};
    CHECK(verify_claims(plan_allreduce(recursive_doubling{}, at), plan_allreduce(recursive_doubling{}, at)));
    CHECK(verify_claims(plan_allreduce(recursive_doubling{}, at), plan_allreduce(tree_allreduce<kary>{kary{2}}, at)));
    CHECK(verify_claims(plan_allreduce(recursive_doubling{}, at), plan_allreduce(sworn_to_doubling{{kary{2}}}, at))
              .untrue == claim::bracket);
}

TEST_CASE("claims: combines that are no series, or one of too few operands", "[schedule][claims]") {
    CHECK(of_allreduce(sworn_to_series{}, 1));
    CHECK(of_allreduce(sworn_to_series{}, 2)); // one combine of two is a series
    for (const rank_t p : {3u, 4u, 7u, 8u}) {
        CAPTURE(p);
        const claim_verdict found = of_allreduce(sworn_to_series{}, p);
        CHECK(found.untrue == claim::series);
        CHECK(found.rank < p);
    }
    for (rank_t p = 1; p != 9; ++p) CHECK(of_allreduce(by_owner_allreduce{}, p));
}

TEST_CASE("claims: each has a sentence", "[schedule][claims]") {
    for (int c = 0; c <= static_cast<int>(claim::alike); ++c)
        CHECK(std::string(describe(static_cast<claim>(c))).find("unknown") == std::string::npos);
}

TEST_CASE("claims: rank order, and the goals", "[schedule][claims]") {
    CHECK(of_allreduce(sworn_to_order{{kary{2}}}, 7).untrue == claim::rank_order);
    const auto p = plan<goal::allreduce, any_algorithm>(of_another_goal{}, {.size = 7});
    CHECK(verify_claims(p).untrue == claim::serves);
}
