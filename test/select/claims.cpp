// SPDX-License-Identifier: BSL-1.0
// Every claim of every algorithm is true, and equal bracket classes mean equal brackets.
#include "everything.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/allreduce/halving_doubling.hpp>
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/tree/kary.hpp>
#include <bough/verify/verify_claims.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace bough;

static_assert(verify_claims(plan_allreduce(recursive_doubling{}, {.size = 13})));
static_assert(!claims_of(recursive_doubling{}, {.size = 13}).symmetric);
static_assert(bracket_family("ring") != bracket_family("rings") && bracket_family("ring") != 0);
static_assert(!bracket_class{}.claimed());

TEST_CASE("claims: every claim of every algorithm is true", "[select][claims]") {
    std::uint64_t number = 0;
    for (rank_t p = 1; p <= 64; ++p)
        test::for_each_goal({.size = p}, [&]<class Goal>(Goal, const candidate_list& all) {
            for (const candidate& c : all.list) {
                if (p > 17 && !bough_test::sampled(++number, 12)) continue;
                const dimensions at = test::with_blocks(c, {.size = p});
                if (c.algorithm.check(at)) continue;
                const claim_verdict found = verify_claims(plan<Goal, any_algorithm>(c.algorithm, at));
                INFO(c.text().c_str() << " over " << p << " ranks, kind " << int{Goal::kind} << ": claim "
                                      << static_cast<int>(found.untrue) << ", rank " << found.rank << ", fault "
                                      << static_cast<int>(found.proof.fault));
                CHECK(found);
            }
        });
}

TEST_CASE("claims: of one collective, equal bracket classes give equal brackets", "[select][claims]") {
    std::uint64_t pairs = 0;
    for (rank_t p = 1; p <= 64; p += p < 20 || bough_test::all() ? 1 : 7)
        test::for_each_goal({.size = p}, [&]<class Goal>(Goal, const candidate_list& all) {
            if constexpr (Goal::combines) {
                std::vector<std::pair<bracket_class, std::uint64_t>> seen;
                std::vector<std::string> names;
                for (const candidate& c : all.list) {
                    const dimensions at = test::with_blocks(c, {.size = p});
                    if (c.algorithm.check(at)) continue;
                    const bracket_class claimed = c.algorithm.claims(at).bracket;
                    if (!claimed.claimed()) continue;
                    const verdict v = verify(plan<Goal, any_algorithm>(c.algorithm, at));
                    for (std::size_t i = 0; i != seen.size(); ++i) {
                        if (!(seen[i].first == claimed)) continue;
                        ++pairs;
                        INFO(c.text().c_str()
                             << " and " << names[i] << " over " << p << " ranks, kind " << int{Goal::kind});
                        CHECK(seen[i].second == v.traits.bracket);
                    }
                    seen.emplace_back(claimed, v.traits.bracket);
                    names.push_back(c.text().c_str());
                }
            }
        });
    CHECK(pairs > 50);
}

TEST_CASE("claims: short and long vectors may have the same bits, for every size", "[select][claims]") {
    for (rank_t p = 1; p <= 64; ++p) {
        const dimensions at{.size = p};
        const auto bracket_of = [&](const auto& algorithm) {
            return verify(plan_allreduce(algorithm, at)).traits.bracket;
        };
        CAPTURE(p);
        CHECK(claims_of(recursive_doubling{}, at).bracket == claims_of(halving_doubling_allreduce{}, at).bracket);
        CHECK(bracket_of(recursive_doubling{}) == bracket_of(halving_doubling_allreduce{}));
    }
}

namespace {

// Recursive doubling, with a claim too many.
template <int Lie>
struct liar : recursive_doubling {
    static constexpr bool symmetric = Lie == 1;
    using serves = std::conditional_t<Lie == 2, goals<goal::barrier>, goals<goal::allreduce>>;
    static constexpr bool may_hold = Lie == 3;
};
struct disorderly : tree_allreduce<kary> {
    constexpr bool keeps_rank_order(const dimensions&) const { return true; }
};

} // namespace

TEST_CASE("claims: an untrue one is found", "[select][claims]") {
    const auto untrue = [](const auto& a) { return verify_claims(plan_allreduce(a, {.size = 7})).untrue; };
    CHECK(untrue(liar<0>{}) == claim::none);
    CHECK(untrue(liar<1>{}) == claim::symmetric);
    CHECK(untrue(disorderly{{kary{2}}}) == claim::rank_order);
    const auto p = plan<goal::allreduce, any_algorithm>(liar<2>{}, {.size = 7});
    CHECK(verify_claims(p).untrue == claim::serves);
}
