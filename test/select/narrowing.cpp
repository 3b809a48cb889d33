// SPDX-License-Identifier: BSL-1.0
// The choice for an op whose vectors are shorter where all contributions are combined at once (problem::narrowing).
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/by_owner.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/standard/allreduce.hpp>

#include <algorithm>

using namespace bough;

namespace {

constexpr model::alpha_beta_gamma paper{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25};

} // namespace

TEST_CASE("choose: an op that combines many at once lets its vector travel narrow, where that is cheaper",
          "[select][choose]") {
    const dimensions at{.size = 8}; // so all blocks have one length
    const auto list = [&](const problem& what) { return standard_candidates<goal::allreduce>(at, what); };
    const auto has_owner = [](const candidate_list& from) {
        return std::any_of(from.list.begin(), from.list.end(),
                           [](const candidate& c) { return combines_in_series(c.algorithm); });
    };
    const problem plain{.bytes = 1u << 21, .element_bytes = 4};
    problem narrow = plain;
    narrow.narrowing = 2;
    CHECK_FALSE(has_owner(list(plain)));
    CHECK(has_owner(list(narrow)));
    const decision d = choose(list(narrow), at, narrow, paper, {.price_all = true});
    REQUIRE(d);
    CHECK(d.winner().what.algorithm == any_algorithm(by_owner_allreduce{}));
    // Its price is that of half the bytes. All others cost what they cost without it.
    const problem half{.bytes = 1u << 20, .element_bytes = 2};
    CHECK(problem_for(by_owner_allreduce{}, narrow) ==
          problem{.bytes = half.bytes, .element_bytes = 2, .narrowing = 2});
    CHECK(d.winner().predicted_ns == price_of(paper, half, plan_allreduce(by_owner_allreduce{}, at)));
    const decision without = choose(list(plain), at, plain, paper, {.price_all = true});
    REQUIRE(without.prospects.size() + 1 == d.prospects.size());
    for (const prospect& p : without.prospects) {
        CAPTURE(p.what.text().c_str());
        CHECK(std::count(d.prospects.begin(), d.prospects.end(), p) == 1);
    }
    // A short vector costs messages, not bytes.
    problem few = narrow;
    few.bytes = 64;
    CHECK_FALSE(combines_in_series(choose(list(few), at, few, paper).winner().what.algorithm));
    // Bytes that are no whole number of narrow elements are cut off; an element keeps one byte.
    CHECK(problem_for(by_owner_allreduce{}, {.bytes = 7, .element_bytes = 1, .narrowing = 4}).bytes == 1);
    CHECK(problem_for(by_owner_allreduce{}, {.bytes = 7, .element_bytes = 1, .narrowing = 4}).element_bytes == 1);
    CHECK(problem_for(recursive_doubling{}, narrow) == narrow);
    // Of those that others need in rank order, and of many ranks.
    CHECK(choose(list(narrow), at, narrow, paper, {.needed = order_preserving}).winner().what.algorithm ==
          any_algorithm(by_owner_allreduce{}));
    CHECK_FALSE(combines_in_series(
        choose(list(narrow), at, narrow, paper, {.needed = same_bits_for_any_partition}).winner().what.algorithm));
    CHECK_FALSE(has_owner(standard_candidates<goal::allreduce>({.size = 1000}, narrow)));
}
