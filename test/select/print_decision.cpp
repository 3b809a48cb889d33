// SPDX-License-Identifier: BSL-1.0
// What a decision was asked for, in words.
#include "support/catch.hpp"
#include <bough/schedule/claims.hpp>
#include <bough/select/candidates.hpp>
#include <bough/select/print_decision.hpp>

#include <string>

using namespace bough;

TEST_CASE("requirements in words: each by itself, and all together") {
    const requirements bracket = bracket_class{bracket_family("of a test"), 3};
    CHECK(to_string(requirements{}).empty());
    CHECK(to_string(order_preserving) == "rank order");
    CHECK(to_string(rank_consistent) == "the same bits on every rank");
    CHECK(to_string(any_size) == "any number of ranks");
    CHECK(to_string(bracket) == "one bracket class");
    CHECK(to_string(same_bits_for_any_partition) == "the same bits for any partition");
    CHECK(to_string(bracket | any_size) == "any number of ranks and one bracket class");
    const std::string all = "rank order and the same bits on every rank and any number of ranks and one bracket class "
                            "and the same bits for any partition";
    CHECK(to_string(order_preserving | rank_consistent | any_size | bracket | same_bits_for_any_partition) == all);
}
