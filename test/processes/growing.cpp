// SPDX-License-Identifier: BSL-1.0
// grow and join_group: processes join a running group and take the places of lost ranks.
#include "processes/crowd.hpp"
#include "processes/links.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/grow.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

using namespace bough;
using bough_test::clock_ns;
using bough_test::crowd;
using bough_test::crowd_call;

namespace {

constexpr std::uint64_t ms = 1'000'000;

template <class F>
void over_both(const F& trial) {
    trial(bough_test::tcp_link{});
    trial(bough_test::shared_memory_link{});
}

} // namespace

TEST_CASE("growing: ranks keep their numbers, and joiners get those that are free") {
    std::vector<rank_t> members, vacant;
    const std::vector<rank_t> all{0, 1, 2};
    detail::number_grown(all, 5, members, vacant);
    CHECK((members == all && vacant == std::vector<rank_t>{3, 4}));
    const std::vector<rank_t> left{0, 2, 5};
    detail::number_grown(left, 6, members, vacant);
    CHECK((members == left && vacant == std::vector<rank_t>{1, 3, 4}));
    detail::number_grown(left, 4, members, vacant); // a rank's number is too large
    CHECK((members == std::vector<rank_t>{0, 2, 1} && vacant == std::vector<rank_t>{3}));
    const std::vector<rank_t> high{9, 7, 1};
    detail::number_grown(high, 3, members, vacant);
    CHECK((members == std::vector<rank_t>{0, 2, 1} && vacant.empty()));
}

TEST_CASE("growing: a group grows twice, and each time counts an epoch") {
    over_both([]<class Link>(Link) {
        CAPTURE(Link::name);
        crowd<Link> some;
        some.start(2);
        REQUIRE(some.wait(some.alive()));
        CHECK(some.of(0).epoch == 1);
        const std::vector<int> first = some.alive();
        some.add();
        some.add();
        some.tell(first, crowd_call::grow, 4);
        REQUIRE(some.wait(some.alive()));
        CHECK(some.is_one_group(some.alive(), 4));
        CHECK((some.of(0).rank == 0 && some.of(1).rank == 1 && some.of(0).epoch == 2 && some.of(3).epoch == 2));
        const std::vector<int> second = some.alive();
        some.tell(second, crowd_call::grow, 5); // also those that have joined
        const int late = some.add();
        REQUIRE(some.wait(some.alive()));
        CHECK(some.is_one_group(some.alive(), 5));
        CHECK((some.of(late).rank == 4 && some.of(late).epoch == 3));
    });
}

TEST_CASE("growing: a process that stands by takes the place of a rank that dies") {
    over_both([]<class Link>(Link) {
        for (const int dies : {0, 1, 3}) {
            CAPTURE(Link::name, dies);
            crowd<Link> some;
            some.start(4);
            REQUIRE(some.wait(some.alive()));
            const int joiner = some.add();
            some.kill(dies);
            std::vector<int> left = some.alive();
            std::erase(left, joiner);
            some.tell(left, crowd_call::settle);
            REQUIRE(some.wait(left));
            CHECK(some.is_one_group(left, 3));
            some.tell(left, crowd_call::grow, 4);
            REQUIRE(some.wait(some.alive()));
            CHECK(some.is_one_group(some.alive(), 4));
            CHECK(some.of(joiner).rank == static_cast<rank_t>(dies));
            CHECK(some.of(joiner).epoch == 3); // one for shrink, one for grow
            for (const int i : left) CHECK(some.of(i).rank == static_cast<rank_t>(i));
        }
    });
}

TEST_CASE("growing: one that never comes is told with how many came, and the old group goes on") {
    over_both([]<class Link>(Link) {
        CAPTURE(Link::name);
        crowd<Link> some(400 * ms);
        some.start(2);
        REQUIRE(some.wait(some.alive()));
        const std::vector<int> members = some.alive();
        const int only = some.add(some.place, 1'500 * ms);
        const std::uint64_t begin = clock_ns();
        some.tell(members, crowd_call::grow, 4);
        REQUIRE(some.wait(some.alive()));
        CHECK(clock_ns() - begin < 5'000 * ms);
        for (const int i : members) {
            const auto& s = some.of(i);
            CHECK((s.result.code == errc::deadline && s.result.mine == 3 && s.result.theirs == 4));
            CHECK(std::string(s.why) == "3 of 4 ranks have come: the operation did not end by its deadline");
            CHECK((s.size == 2 && s.epoch == 1 && s.sum == 3));
        }
        CHECK(some.of(only).result == some.of(0).result);
    });
}

TEST_CASE("growing: a rank that dies at the meeting ends it at once, and the next one succeeds") {
    over_both([]<class Link>(Link) {
        for (const int dies : {0, 1, 2}) { // one of them leads
            CAPTURE(Link::name, dies);
            crowd<Link> some;
            some.start(3);
            REQUIRE(some.wait(some.alive()));
            some.tell(some.alive(), crowd_call::grow, 4);
            std::this_thread::sleep_for(std::chrono::milliseconds(100)); // they wait for one more
            some.kill(dies);
            const std::uint64_t begin = clock_ns();
            const std::vector<int> left = some.alive();
            REQUIRE(some.wait(left));
            CHECK(clock_ns() - begin < 2'000 * ms);
            for (const int i : left)
                CHECK(
                    (some.of(i).result.code == errc::peer_dead && some.of(i).result.peer == static_cast<rank_t>(dies)));
            CHECK(some.is_one_group(left, 2));
            some.tell(left, crowd_call::grow, 3);
            some.add();
            REQUIRE(some.wait(some.alive()));
            CHECK(some.is_one_group(some.alive(), 3));
        }
    });
}

// Its connection stays open, so only time tells.
TEST_CASE("growing: a rank that is stopped at the meeting stops nobody for longer than a few timeouts") {
    over_both([]<class Link>(Link) {
        for (const int stops : {0, 1, 2}) {
            if (!bough_test::all() && stops != 0) continue; // it takes some seconds
            CAPTURE(Link::name, stops);
            crowd<Link> some(400 * ms);
            some.start(3);
            REQUIRE(some.wait(some.alive()));
            some.tell(some.alive(), crowd_call::grow, 4);
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            some.signal(stops, SIGSTOP);
            const std::uint64_t begin = clock_ns();
            std::vector<int> left = some.alive();
            std::erase(left, stops);
            REQUIRE(some.wait(left));
            CHECK(clock_ns() - begin < 10'000 * ms);
            for (const int i : left) CHECK(some.of(i).result);
            CHECK(some.is_one_group(left, 2));
            some.kill(stops);
            some.add(some.place, 10'000 * ms);
            some.tell(left, crowd_call::grow, 3);
            REQUIRE(some.wait(some.alive()));
            CHECK(some.is_one_group(some.alive(), 3));
        }
    });
}

TEST_CASE("growing: strangers that say nothing, or nonsense, or leave again do not keep others out") {
    crowd<bough_test::tcp_link> some;
    some.start(2);
    REQUIRE(some.wait(some.alive()));
    const std::vector<int> members = some.alive();
    some.tell(members, crowd_call::grow, 3);
    std::this_thread::sleep_for(std::chrono::milliseconds(100)); // one of them listens
    std::vector<detail::unique_fd> strangers(300);
    const std::vector<char> nonsense(500, 'x');
    for (std::size_t i = 0; i != strangers.size(); ++i) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        at.sin_port = htons(some.place.hosts[0].port);
        strangers[i].reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        REQUIRE(::connect(strangers[i].get(), reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
        if (i % 3 == 0) (void)::send(strangers[i].get(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
        if (i % 3 == 1) strangers[i].reset();
    }
    some.add();
    REQUIRE(some.wait(some.alive()));
    CHECK(some.is_one_group(some.alive(), 3));
    CHECK(some.of(0).result.code == errc::ok);
}

TEST_CASE("growing: a process with another key is turned away, and stops nobody") {
    over_both([]<class Link>(Link) {
        CAPTURE(Link::name);
        crowd<Link> some(600 * ms);
        some.start(2);
        REQUIRE(some.wait(some.alive()));
        const std::vector<int> members = some.alive();
        meeting_place wrong = some.place;
        wrong.key = bough_test::key_of(8);
        const int stranger = some.add(wrong, 3'000 * ms);
        some.tell(members, crowd_call::grow, 3);
        REQUIRE(some.wait(some.alive()));
        CHECK(std::string(some.of(stranger).why) ==
              "key: the group at the meeting place has another one: invalid argument");
        some.reap(stranger);
        for (const int i : members)
            CHECK(std::string(some.of(i).why) == "2 of 3 ranks have come, key: a process with another one was turned "
                                                 "away: the operation did not end by its deadline");
        const int again = some.add(wrong, 3'000 * ms);
        const int right = some.add(some.place, 3'000 * ms);
        some.tell(members, crowd_call::grow, 3);
        std::vector<int> group = members;
        group.push_back(right);
        REQUIRE(some.wait(group));
        CHECK(some.is_one_group(group, 3));
        some.kill(again);
    });
}

TEST_CASE("growing: a process of an epoch that is over is told so, and one of a later epoch waits for it") {
    over_both([]<class Link>(Link) {
        CAPTURE(Link::name);
        crowd<Link> some(600 * ms);
        some.start(2);
        REQUIRE(some.wait(some.alive()));
        const std::vector<int> members = some.alive();
        meeting_place old = some.place, later = some.place;
        old.epoch = 1;
        later.epoch = 3;
        const int early = some.add(old, 3'000 * ms);
        const int waits = some.add(later, 20'000 * ms);
        some.tell(members, crowd_call::grow, 3); // in epoch 2
        REQUIRE(some.wait({0, 1, early}));
        CHECK(std::string(some.of(early).why) ==
              "epoch: the group at the meeting place is in a later one: invalid argument");
        some.reap(early);
        for (const int i : members)
            CHECK(std::string(some.of(i).why) == "2 of 3 ranks have come, epoch: a process of an earlier one was "
                                                 "turned away: the operation did not end by its deadline");
        some.tell(members, crowd_call::grow, 2); // nobody need come
        REQUIRE(some.wait(members));
        CHECK((some.is_one_group(members, 2) && some.of(0).epoch == 2));
        CHECK_FALSE(some.is_done(waits));
        some.tell(members, crowd_call::grow, 3);
        REQUIRE(some.wait(some.alive()));
        CHECK((some.is_one_group(some.alive(), 3) && some.of(waits).epoch == 3));
    });
}

TEST_CASE("growing: places, keys and sizes that are wrong are errors on every rank, and the group goes on") {
    bough_test::processes group(3, [](auto& wire, bough_test::report& told) {
        communicator comm{tcp(wire), {.timeout_ns = 3'000 * ms}};
        const rank_t me = comm.rank();
        const auto grows = [&](const meeting_place& place, rank_t size) {
            status s;
            told.check(!grow(comm, place, size, s));
            long sum = 1;
            status after;
            allreduce(comm, std::span(&sum, 1), plus{}, after);
            told.check(!after && sum == 3);
            return s;
        };
        const auto says = [&](const status& s, const char* text) {
            const bool good = message_of(s).find(text) != std::string::npos;
            told.check(good);
            if (!good) std::fprintf(stderr, "rank %u: '%s' is not in '%s'\n", me, text, message_of(s).c_str());
        };
        meeting_place good;
        good.hosts = {{"127.0.0.1", 19'999}};
        good.key = bough_test::key_of(7);
        says(grows(good, 2), "size: is less than the group has");
        // Refused before any is listed.
        says(grows(good, (1u << 20) + 1), "size: is more than one process can meet");
        meeting_place bad = good;
        bad.hosts.clear();
        says(grows(bad, 4), "place: has no host");
        bad = good;
        bad.hosts[0].port = 0;
        says(grows(bad, 4), "place: a host needs an address and a port");
        bad = good;
        bad.key = {};
        says(grows(bad, 4), "key: is not set");
        bad.hosts = {{"192.0.2.1", 19'999}, {"no such name.invalid", 19'999}}; // of nobody
        bad.key = good.key;
        says(grows(bad, 4), "place: no rank can listen at one of its hosts");
        if (me == 1) bad.key = bough_test::key_of(9);
        const status differs = grows(bad, 4);
        says(differs, "place: its hosts or its key differ between ranks");
        told.check(differs.peer == (me == 1 ? 0u : 1u));
        if (me == 2) bad.key = {}; // one rank's own fault: the others are told
        const status own = grows(bad, 4);
        told.check(me == 2 ? own.code == errc::invalid_argument
                           : own.code == errc::peer_aborted && own.cause == errc::invalid_argument && own.peer == 2);
        const status sizes = grows(good, me == 0 ? 4 : 5);
        says(sizes, me == 0 ? "the count differs (4 here, 5 there)" : "the count differs (5 here, 4 there)");
        status s;
        told.check(!join_group<tcp>(meeting_place{}, {}, s) && s.code == errc::invalid_argument);
        told.check(!join_group<tcp>(good, {.timeout_ns = 50 * ms}, s) && s.code == errc::deadline);
        says(s, "place: no group has grown there");
        told.phase = 1;
    });
    group.wait();
    for (rank_t r = 0; r != 3; ++r) {
        CAPTURE(r);
        CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0 && group.of(r).phase == 1));
    }
}

TEST_CASE("growing: what makes the transport may throw: all are told, and the group goes on") {
    bough_test::processes group(3, [](auto& wire, bough_test::report& told) {
        communicator comm{tcp(wire), {.timeout_ns = 5'000 * ms}};
        const rank_t me = comm.rank();
        meeting_place place;
        place.hosts = {{"127.0.0.1", broadcast(comm, bough_test::fixed_port(), root{0})}};
        place.key = bough_test::key_of(7);
        for (const rank_t throws : {0u, 1u}) {
            status s;
            const auto make = [&](auto& from, status& result) {
                if (me == throws) throw 5;
                return tcp::join(from, {}, result);
            };
            told.check(!grow(comm, place, 3, make, s));
            told.check(me == throws ? s.code == errc::op_threw
                                    : s.code == errc::peer_aborted && s.cause == errc::op_threw);
            long sum = 1;
            allreduce(comm, std::span(&sum, 1), plus{}, s);
            told.check(!s && sum == 3);
        }
        status s;
        auto with_names = duplicate(comm);
        barrier(with_names, named{"first"});
        told.check(!grow(with_names, place, 3, s) && s.code == errc::invalid_argument &&
                   message_of(s).find("names") != std::string::npos);
        barrier(with_names, named{"second"});
        std::optional<communicator<tcp>> grown = grow(comm, place, 3, s);
        told.check(grown && grown->epoch() == 2);
        told.phase = 1;
    });
    group.wait();
    for (rank_t r = 0; r != 3; ++r) {
        CAPTURE(r);
        CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0 && group.of(r).phase == 1));
    }
}
