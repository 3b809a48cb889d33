// SPDX-License-Identifier: BSL-1.0
// What leaves one rank: copies that are in short supply, and words that are said later.
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include "transport/rdma/scripted_writer.hpp"
#include <bough/transport/rdma/region_writes.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace bough;
using bough_test::network;
using ticket = detail::fabric_ticket;

namespace {

struct writer : bough_test::lone_core {
    std::vector<std::byte> bytes = std::vector<std::byte>(10);

    explicit writer(rank_t ranks = 3) : lone_core(1000, ranks) {
        net.goes_out = [](const network::write&) { return false; };
    }
    bool write(rank_t to) { return core.writes.write_copy(to, core.writes.place_of(to, 0), bytes, {}, ticket::data); }
};

} // namespace

TEST_CASE("region_writes: one peer gets half of the copies, and a lost one gives its share back") {
    writer one;
    int to_1 = 0, to_2 = 0;
    for (; one.write(1); ++to_1) {
    }
    for (; one.write(2); ++to_2) {
    }
    CHECK((to_1 == 16 && to_2 == 16));
    CHECK(one.core.presence.lose(1));
    one.core.writes.lose(1);
    for (; one.write(2); ++to_2) {
    }
    CHECK(to_2 >= 24);
    CHECK(one.core.writes.are_flying(1)); // these may never end
    const std::size_t before = one.net.written.size();
    one.core.writes.written(*one.net.written[0].op); // one does
    CHECK(one.net.written.size() == before);
    CHECK_FALSE(one.write(2)); // and the limit is lower again
}

TEST_CASE("region_writes: peers that take nothing leave a copy to each other peer") {
    writer one{5};
    for (const rank_t to : {1u, 2u})
        while (one.write(to)) {
        }
    CHECK((one.write(3) && one.write(4)));
    CHECK_FALSE(one.write(3));
    one.core.writes.written(*one.net.written[32].op); // rank 3 goes on
    CHECK(one.write(3));
}

TEST_CASE("region_writes: a word that the device refuses is due until it is said") {
    writer one;
    one.net.refuses = [](rank_t) { return true; };
    CHECK_FALSE(one.core.writes.say(1, ticket::answer, 5));
    CHECK((one.core.writes.owes(1, ticket::answer) && !one.core.writes.owes(2, ticket::answer)));
    CHECK(one.core.writes.is_stalled());
    one.core.writes.resume();
    one.net.refuses = [](rank_t) { return false; };
    CHECK(one.core.writes.say(1, ticket::answer, 5));
    CHECK_FALSE((one.core.writes.owes(1, ticket::answer) || one.core.writes.is_stalled()));
    CHECK((one.net.written.back().kind == ticket::answer && one.net.written.back().word == 5));
}

TEST_CASE("region_writes: a word for which there is no memory is due until it is said") {
    writer one;
    for (int copies = 0; copies != 32; ++copies) REQUIRE(one.core.writes.say(2, ticket::question, 1));
    bough_test::until_failure = 0;
    bool is_said = true;
    CHECK_NOTHROW(is_said = one.core.writes.say(1, ticket::answer, 5));
    bough_test::until_failure = -1;
    CHECK_FALSE(is_said);
    CHECK((one.core.writes.owes(1, ticket::answer) && one.core.writes.is_stalled()));
    CHECK(one.core.writes.say(1, ticket::answer, 5));
    CHECK_FALSE(one.core.writes.owes(1, ticket::answer));
}

TEST_CASE("region_writes: a lost rank is owed nothing but that its last word was heard") {
    writer one;
    for (const auto word : {ticket::question, ticket::answer, ticket::bye, ticket::bye_heard})
        one.core.writes.owe(1, word);
    CHECK(one.core.presence.lose(1));
    one.core.writes.lose(1);
    for (const auto word : {ticket::question, ticket::answer, ticket::bye}) CHECK_FALSE(one.core.writes.owes(1, word));
    CHECK(one.core.writes.owes(1, ticket::bye_heard));
}

TEST_CASE("region_writes: the first copy that has not left is found by its number") {
    writer one;
    for (const rank_t to : {1u, 2u, 1u}) CHECK(one.write(to));
    CHECK(one.core.writes.accepted() == 3);
    CHECK((one.core.writes.first_copy(1, 9) == 1 && one.core.writes.first_copy(2, 9) == 2));
    one.core.writes.written(*one.net.written[0].op);
    CHECK(one.core.writes.first_copy(1, 9) == 3);
    one.core.writes.written(*one.net.written[2].op);
    CHECK(one.core.writes.first_copy(1, 9) == 9);
    CHECK(one.core.writes.has_copies());
    one.core.writes.written(*one.net.written[1].op);
    CHECK_FALSE(one.core.writes.has_copies());
}
