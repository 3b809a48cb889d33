// SPDX-License-Identifier: BSL-1.0
// The verdict on the words of joining ranks: whoever confesses, or is accused by most, and what each rank says of it.
#include "support/catch.hpp"
#include <bough/transport/join_room/verdict.hpp>

#include <array>
#include <span>

using namespace bough;
using namespace bough::detail;

namespace {

join_word waits_for(rank_t peer) { return {.state = join_word::meeting, .peer = peer}; }
join_word ready() { return {.state = join_word::ready}; }
join_word failed(const status& why) {
    join_word w{.state = join_word::finished};
    w.set(why);
    return w;
}
template <std::size_t N>
status said_by(rank_t me, const std::array<join_word, N>& all, const status& mine = {}) {
    return verdict_of(std::span<const join_word>(all), me, mine);
}

static_assert(is_confession(errc::no_resources, 3, 3) && is_confession(errc::no_resources, no_rank, 3));
static_assert(!is_confession(errc::no_resources, 2, 3) && !is_confession(errc::ok, 3, 3));
static_assert(!is_confession(errc::peer_aborted, 3, 3), "it is about another rank");
static_assert(!is_confession(errc::deadline, no_rank, 3), "somebody did not come");
static_assert(is_confession(errc::deadline, 3, 3));

} // namespace

TEST_CASE("join verdict: nobody has failed") {
    const std::array all{ready(), waits_for(0), ready()};
    for (rank_t me = 0; me != 3; ++me) CHECK_FALSE(said_by(me, all));
    const status mine{.code = errc::deadline, .peer = 1};
    CHECK(said_by(0, all, mine) == mine); // what it has itself stays
}

TEST_CASE("join verdict: a rank that confesses has failed, whatever the others say") {
    const status own{.code = errc::no_resources, .peer = no_rank};
    const status blames{.code = errc::deadline, .peer = 1};
    const std::array all{failed(blames), ready(), failed(own), failed(blames)};
    for (const rank_t me : {0u, 1u, 3u}) {
        const status said = said_by(me, all);
        CAPTURE(me);
        CHECK(said.code == errc::peer_aborted);
        CHECK(said.cause == errc::no_resources);
        CHECK(said.peer == 2);
    }
    CHECK(said_by(2, all, own) == own);
}

TEST_CASE("join verdict: of those that are accused, the one with most accusers; of equals the lowest") {
    const auto accuses = [](rank_t whom) { return failed({.code = errc::deadline, .peer = whom}); };
    const std::array two_to_one{accuses(3), accuses(4), accuses(4), ready(), ready()};
    const std::array equal{accuses(4), accuses(3), ready(), ready(), ready()};
    const std::array one_waits{accuses(3), accuses(4), waits_for(4), ready(), ready()};
    const std::array two_wait{accuses(3), waits_for(4), waits_for(4), ready(), ready()};
    for (const rank_t me : {0u, 1u, 2u}) {
        CAPTURE(me);
        CHECK(said_by(me, two_to_one).peer == 4);
        CHECK(said_by(me, equal).peer == 3);
        CHECK(said_by(me, one_waits).peer == 4);
        CHECK(said_by(me, two_wait).peer == 4);
        CHECK(said_by(me, two_to_one).code == errc::deadline);
    }
}

TEST_CASE("join verdict: the accused is told who accuses it, and why") {
    const std::array all{ready(), failed({.code = errc::protocol_error, .peer = 2}), ready()};
    const status said = said_by(2, all);
    CHECK(said.code == errc::peer_aborted);
    CHECK(said.cause == errc::protocol_error);
    CHECK(said.peer == 1);
    const std::array passed_on{ready(), failed({.code = errc::peer_aborted, .cause = errc::op_threw, .peer = 2}),
                               ready()};
    CHECK(said_by(2, passed_on).cause == errc::op_threw); // the first cause, not the last
    CHECK(said_by(0, passed_on).cause == errc::op_threw);
}

TEST_CASE("join verdict: a rank keeps its own status where that says more") {
    const std::array all{failed({.code = errc::deadline, .peer = 2}), ready(), ready()};
    status mine{.code = errc::invalid_argument, .peer = 2, .argument = "what the words have no room for"};
    CHECK(said_by(1, all, mine) == mine);
    mine.peer = no_rank; // not about the accused
    CHECK(said_by(1, all, mine).code == errc::deadline);
    CHECK(said_by(1, all, mine).peer == 2);
}
