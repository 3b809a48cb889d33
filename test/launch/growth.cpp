// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/launch/growth.hpp>

#include <cstdint>
#include <vector>

using namespace bough;
using namespace bough::detail;

namespace {

// What members agree on that have these errors.
std::uint64_t word_of(const std::vector<errc>& errors) {
    std::uint64_t word = growth_word({});
    for (const errc code : errors) word &= growth_word({.code = code});
    return word;
}

} // namespace

TEST_CASE("growth: members that have no error agree on that, and any error differs from it") {
    CHECK(word_of({errc::ok, errc::ok}) == growth_word({}));
    for (int code = 1; code <= static_cast<int>(last_errc); ++code)
        CHECK(word_of({errc::ok, static_cast<errc>(code)}) != growth_word({}));
}

TEST_CASE("growth: the cause is an error of a member's own, and not what others made of it") {
    CHECK(cause_in(word_of({errc::op_threw})) == errc::op_threw);
    CHECK(cause_in(word_of({errc::peer_dead, errc::op_threw, errc::peer_aborted})) == errc::op_threw);
    CHECK(cause_in(word_of({errc::deadline, errc::op_threw})) == errc::op_threw); // which only waited for that one
    CHECK(cause_in(word_of({errc::deadline, errc::invalid_argument})) == errc::invalid_argument);
    CHECK(cause_in(word_of({errc::deadline, errc::ok})) == errc::deadline);
    CHECK(cause_in(word_of({errc::peer_dead, errc::group_poisoned})) == errc::cancelled);
}

TEST_CASE("growth: a rank of the new group is told by its number in the old one") {
    const std::vector<rank_t> members{0, 1}, known_as{0, 2}; // world rank 2 is rank 1 now
    CHECK(number_before(0, members, known_as) == 0);
    CHECK(number_before(1, members, known_as) == 2);
    CHECK(number_before(2, members, known_as) == no_rank); // a joiner
    CHECK(number_before(no_rank, members, known_as) == no_rank);
}

TEST_CASE("growth: members keep their numbers where there is room, and the others get the lowest that are free") {
    std::vector<rank_t> members, vacant{7}; // what was there is gone
    const auto grown = [&](std::vector<rank_t> kept, rank_t size) {
        number_grown(kept, size, members, vacant);
        return members;
    };
    using list = std::vector<rank_t>;
    CHECK(grown({0, 1, 2}, 5) == list{0, 1, 2});
    CHECK(vacant == list{3, 4});
    CHECK(grown({0, 2}, 3) == list{0, 2});
    CHECK(vacant == list{1});
    CHECK(grown({0, 3}, 3) == list{0, 1}); // there is no rank 3 among three
    CHECK(vacant == list{2});
    CHECK(grown({5, 1, 4, 9}, 4) == list{0, 1, 2, 3});
    CHECK(vacant.empty());
    CHECK(grown({3}, 1) == list{0});
    CHECK(vacant.empty());
    CHECK(grown({8, 7, 6}, 6) == list{0, 1, 2});
    CHECK(vacant == list{3, 4, 5});
}
