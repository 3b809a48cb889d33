// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/core/plain_list.hpp>
#include <bough/model/folded_ranks.hpp>

#include <cstddef>
#include <vector>

using namespace bough;
using model::folded_ranks;

// The example of the header: what 5 sends to 3 is what 7 sends to 5.
static_assert([] {
    const folded_ranks by_shift(8, 2, false);
    const model::channel found = by_shift.channel_of(5, 3);
    return found.from == 7 && found.to == 5 && by_shift.stands_for_others(5) && by_shift.members() == 2 &&
           by_shift.groups() == 4;
}());

namespace {

// Every channel is one to a rank that is visited, moved as a whole; and ranks see their peers alike.
void check_moves(const folded_ranks& moving, rank_t size) {
    std::vector<std::size_t> moved_here(size, 0);
    rank_t visited = 0;
    for (rank_t r = 0; r != size; ++r) visited += moving.stands_for_others(r) ? 1u : 0u;
    CHECK(visited == moving.members());
    for (rank_t from = 0; from != size; ++from) {
        CHECK(moving.stands_for_others(moving.stands_for(from)));
        CHECK(moving.moved(from, 0) == from);
        for (rank_t by = 0; by != moving.groups(); ++by) ++moved_here[moving.moved(from, by)];
        for (rank_t to = 0; to != size; ++to) {
            const model::channel found = moving.channel_of(from, to);
            REQUIRE(found.to == moving.stands_for(to));
            REQUIRE(moving.stands_for(found.from) == moving.stands_for(from));
            REQUIRE(moving.seen_from(found.to, found.from) == moving.seen_from(to, from));
            if (moving.stands_for_others(to)) REQUIRE((found.from == from && found.to == to));
            for (rank_t by = 0; by != moving.groups(); ++by)
                REQUIRE(moving.seen_from(moving.moved(from, by), moving.moved(to, by)) == moving.seen_from(from, to));
        }
    }
    CHECK(moved_here == std::vector<std::size_t>(size, moving.groups())); // each move is a permutation
}

} // namespace

TEST_CASE("folded ranks: what is moved stays as far apart", "[model][folded_ranks]") {
    for (const bool by_xor : {false, true})
        for (const rank_t members : {1u, 2u, 4u, 8u, 16u}) check_moves(folded_ranks(16, members, by_xor), 16);
    for (const rank_t members : {1u, 2u, 3u, 4u, 6u, 12u}) check_moves(folded_ranks(12, members, false), 12);
    const std::vector<rank_t> dealt{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}, mixed{2, 0, 0, 1, 2, 1};
    for (const bool by_xor : {false, true})
        check_moves(folded_ranks(detail::plain_list<rank_t>(dealt.begin(), dealt.end()), 3, by_xor), 12);
    check_moves(folded_ranks(detail::plain_list<rank_t>(mixed.begin(), mixed.end()), 2, false), 6);
}

TEST_CASE("folded ranks: a walk visits all ranks, or those of one group", "[model][folded_ranks]") {
    const folded_ranks by_shift(8, 2, false);
    const model::detail::visited_ranks<true> some(&by_shift), all(nullptr);
    const model::detail::visited_ranks<false> none_folds(nullptr);
    CHECK(some.count(8) == 2);
    CHECK(all.count(8) == 8);
    CHECK(none_folds.count(8) == 8);
    for (rank_t r = 0; r != 8; ++r) {
        CHECK(some.has(r) == by_shift.stands_for_others(r));
        CHECK((all.has(r) && none_folds.has(r)));
        CHECK(some.stands_for(r) == by_shift.stands_for(r));
        CHECK((all.stands_for(r) == r && none_folds.stands_for(r) == r));
    }
    CHECK((some.channel_of(5, 3).from == 7 && some.channel_of(5, 3).to == 5));
    CHECK((all.channel_of(5, 3).from == 5 && all.channel_of(5, 3).to == 3));
}
