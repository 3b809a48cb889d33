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
