// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/death.hpp"
#include "support/forked_group.hpp"
#include "verbs/ranks.hpp"
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/op/arithmetic.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <string>
#include <unistd.h>

using namespace bough;
using namespace test_verbs;

namespace {

// The cards of a group, connected, with no protocol above them.
std::vector<detail::verbs_device> connected(rank_t ranks, const verbs_options& options) {
    testing::thread_wire_up world{ranks};
    std::vector<detail::verbs_device> devices(ranks);
    std::vector<status> results(ranks);
    std::vector<std::thread> threads;
    for (rank_t r = 0; r != ranks; ++r)
        threads.emplace_back([&, r] {
            auto wire = world.of(r);
            detail::fabric_card mine;
            std::vector<detail::fabric_card> cards(ranks);
            const std::uint64_t limit_ns = 10'000'000'000;
            results[r] = devices[r].open(options);
            if (!results[r]) results[r] = devices[r].describe(mine, ranks);
            const status met =
                wire.exchange(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(cards)), limit_ns);
            if (!results[r]) results[r] = met;
            if (!results[r]) results[r] = devices[r].connect(wire, cards, r, detail::steady_now_ns() + limit_ns);
        });
    for (std::thread& t : threads) t.join();
    for (const status& s : results) REQUIRE_FALSE(s);
    return devices;
}

} // namespace

TEST_CASE("verbs: a card finds out that its peer is gone, though nothing was under way") {
    if (!has_card()) return;
    verbs_options options;
    options.ack_timeout = 10; // 4 ms
    auto devices = connected(3, options);
    std::array<detail::fabric_done, 4> done;
    for (int i = 0; i != 100; ++i) { // all are there: no probe fails
        devices[0].probe(1), devices[0].probe(2);
        CHECK(devices[0].poll(done) == 0);
        ::usleep(1000);
    }
    devices[2].close_endpoint();
    std::size_t failed = 0;
    for (int i = 0; i != 10'000 && failed == 0; ++i) {
        devices[0].probe(1), devices[0].probe(2);
        failed = devices[0].poll(done);
        ::usleep(1000);
    }
    REQUIRE(failed == 1);
    CHECK(done[0].how == detail::fabric_done::way::failed);
    CHECK(done[0].op->peer == 2);
}

TEST_CASE("verbs: a rank whose process nobody can watch is lost when it ends without a word") {
    if (!has_card()) return;
    const launch_report report = end_of_a_stranger([](job& world) { return verbs{world, {.ack_timeout = 10}}; });
    CAPTURE(describe(report));
    CHECK(report.ok());
}

TEST_CASE("verbs: an operation that needs a dead rank ends with peer_dead, and so does a post to it") {
    if (!has_card()) return;
    const launch_report report = launch(3, [&](job world) {
        communicator comm{verbs{world}};
        comm.set_timeout_ns(20'000'000'000);
        std::vector<double> x(20'000, 1.0);
        for (int i = 0; i != 1000; ++i) {
            if (comm.rank() == 1 && i == 5) ::raise(SIGKILL);
            status s;
            allreduce(comm, std::span(x), plus{}, s);
            if (!s) continue;
            return bough_test::is_death_of(s, 1) ? 0 : 2;
        }
        return 3;
    });
    CAPTURE(describe(report));
    CHECK(report.ranks[0].code == 0);
    CHECK(report.ranks[2].code == 0);
}

TEST_CASE("verbs: a rank that leaves is lost to the others after its last message") {
    if (!has_card()) return;
    auto ends = ends_of(std::vector(2, in_one_thread()));
    std::vector<std::byte> bytes(100, std::byte{7});
    REQUIRE(ends[1].post_send(0, {.operation = 4}, bytes, 1) == posted::complete);
    ends.pop_back();
    std::array<event, 1> events;
    std::size_t found = 0;
    for (int i = 0; i != 100'000 && found == 0; ++i) found = ends[0].poll(events);
    REQUIRE(found == 1);
    CHECK(events[0].what == event::kind::arrived);
    CHECK(events[0].envelope.operation == 4);
    CHECK(std::memcmp(events[0].data, bytes.data(), bytes.size()) == 0);
    ends[0].release(events[0].id);
    CHECK(hears_of_loss(ends[0], 1));
    CHECK(ends[0].post_send(1, {}, {}, 2) == posted::failed);
}

TEST_CASE("verbs: memory of a transfer that its stopped peer never ends comes back within answer_ns") {
    if (!has_card()) return;
    verbs_options options;
    options.linger_ns = 10'000'000;
    options.answer_ns = 100'000'000;
    auto ends = ends_of(std::vector(2, options));
    std::vector<std::byte> bytes(200'000, std::byte{1}), into(bytes.size(), std::byte{9});
    REQUIRE(ends[1].post_send(0, {}, bytes, 1) == posted::pending);
    std::array<event, 2> events;
    std::size_t found = 0;
    for (int i = 0; i != 100'000 && found == 0; ++i) found = ends[0].poll(events);
    REQUIRE(found == 1);
    REQUIRE(ends[0].take(events[0].id, into, 5) == posted::pending); // and rank 1 polls no more
    REQUIRE(ends[0].cancel(5) == errc::ok);
    const std::uint64_t last = ends[0].now_ns() + 10'000'000'000;
    bool over = false, lost = false;
    for (std::uint32_t idle = 0; !(over && lost) && ends[0].now_ns() < last; ends[0].wait(++idle, 0)) {
        found = ends[0].poll(events);
        for (std::size_t i = 0; i != found; ++i) {
            over |= events[i].what == event::kind::complete && events[i].id == 5 && events[i].code == errc::cancelled;
            lost |= events[i].what == event::kind::lost;
        }
    }
    CHECK(over);
    CHECK(lost); // this rank has left
    for (int i = 0; i != 1000; ++i) ends[1].poll(events);
    CHECK(std::count(into.begin(), into.end(), std::byte{9}) == std::ssize(into));
}

TEST_CASE("verbs: what cannot be joined says why, on every rank") {
    if (!has_card()) return;
    verbs_options nowhere = in_one_thread();
    nowhere.device = "no such card";
    std::vector<status> why;
    CHECK(ends_of({in_one_thread(), nowhere, in_one_thread()}, &why).empty());
    CHECK(why[1].code == errc::unsupported);
    CHECK(std::string(why[1].argument) == "device: none here with a port that is up");
    for (const rank_t r : {0u, 2u}) {
        CHECK(why[r].code == errc::peer_aborted);
        CHECK(why[r].cause == errc::unsupported);
        CHECK(why[r].peer == 1);
    }
    verbs_options bad = in_one_thread();
    bad.ack_timeout = 0;
    CHECK(ends_of({bad, bad}, &why).empty());
    CHECK(why[0].code == errc::invalid_argument);
    bad = in_one_thread();
    bad.gid_index = 200;
    CHECK(ends_of({bad}, &why).empty());
    CHECK(why[0].code == errc::unsupported);
}

TEST_CASE("verbs: a rank that may not register memory says so, and its peers name it") {
    if (!has_card()) return;
    const launch_report report =
        little_memory([](job& world, status& why) { return verbs::join(world, {}, why).has_value(); });
    CAPTURE(describe(report));
    CHECK(report.ok());
}

TEST_CASE("verbs: after a fork the child has no group, and its parent keeps its own") {
    if (!has_card()) return;
    verbs_options options = in_one_thread();
    options.window = 2; // each message that is used up is told of at once
    auto ends = ends_of(std::vector(2, options));
    CHECK(ends[0].device() == ends[1].device());
    bough_test::check_forked_group(ends, 100'000);
    CHECK(ends[1].strangers() == 0);
}
