// SPDX-License-Identifier: BSL-1.0
// How ranks of remote writes meet and part, word by word.
#include "support/catch.hpp"
#include "transport/rdma/scripted_writer.hpp"
#include <bough/transport/rdma/region_partings.hpp>

#include <cstdint>

using namespace bough;
using bough_test::scripted_writer;
using ticket = detail::fabric_ticket;

namespace {

struct parter : bough_test::lone_core {
    detail::fabric_partings<scripted_writer> partings{core};
};
constexpr std::uint64_t grace_ns = 1'000'000;

} // namespace

TEST_CASE("region_partings: a rank is missing until it has said hello and was greeted") {
    parter one;
    for (const rank_t r : {1u, 2u}) one.core.writes.owe(r, ticket::hello);
    one.partings.hear(1, ticket::hello);
    CHECK((one.partings.has_met(1) && !one.partings.has_met(2)));
    CHECK(one.partings.missing() == 1); // it was not greeted
    one.net.refuses = [](rank_t to) { return to == 2; };
    one.partings.greet();
    CHECK(one.partings.missing() == 2);
    one.partings.hear(2, ticket::hello);
    CHECK(one.partings.missing() == 2);
    one.net.refuses = [](rank_t) { return false; };
    one.partings.greet();
    CHECK(one.partings.missing() == 3);
    CHECK(one.net.written.size() == 2);
}

TEST_CASE("region_partings: a peer that has said bye has ended when all its writes have landed") {
    parter one;
    CHECK_FALSE(one.partings.has_ended(1, 0));
    one.lands(1, ticket::bye, 3);
    one.partings.hear(1, ticket::bye);
    CHECK(one.net.written.back().kind == ticket::bye_heard);
    CHECK((!one.partings.has_ended(1, 2) && one.partings.has_ended(1, 3)));
}

TEST_CASE("region_partings: a rank that leaves waits until its bye was said and heard, and all is out") {
    parter one;
    one.net.goes_out = [](const bough_test::network::write&) { return false; };
    const auto is_done = [&] { return one.partings.is_done(1, detail::steady_now_ns(), grace_ns); };
    one.partings.say_bye(1, true, 4); // a long put is not under way
    CHECK((one.net.written.empty() && one.core.writes.owes(1, ticket::bye)));
    one.partings.hear(1, ticket::bye_heard);
    CHECK_FALSE(is_done());
    one.partings.say_bye(1, false, 4);
    CHECK((one.net.written.back().kind == ticket::bye && one.net.written.back().word == 4));
    CHECK_FALSE(is_done());
    one.core.writes.written(*one.net.written.back().op);
    CHECK(is_done());
}

TEST_CASE("region_partings: a rank that leaves waits for no dead peer, and not long for one that has left") {
    parter one;
    one.net.goes_out = [](const bough_test::network::write&) { return false; };
    const auto is_done = [&](rank_t r, std::uint64_t later_ns) {
        return one.partings.is_done(r, detail::steady_now_ns() + later_ns, grace_ns);
    };
    for (const rank_t r : {1u, 2u}) one.partings.say_bye(r, false, 0);
    one.core.presence.suspect(1);
    CHECK_FALSE(is_done(1, 0)); // it may yet be heard
    for (const rank_t r : {1u, 2u}) {
        CHECK(one.core.presence.lose(r));
        one.partings.lose(r);
    }
    CHECK(is_done(1, 0));
    CHECK_FALSE(one.partings.is_done(2, detail::steady_now_ns(), 1'000'000'000'000));
    CHECK(is_done(2, 2 * grace_ns));
}
