// SPDX-License-Identifier: BSL-1.0
// When a rank gives its peers up: not before it has heard nothing from them for a while.
#include "support/catch.hpp"
#include <bough/transport/rdma/presence.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace bough;
using detail::fabric_presence;

namespace {

struct no_options {
    std::uint64_t probe_ns = 0;
};
// Counts the probes of each rank.
struct probing_device {
    static constexpr bool probes = true;
    std::vector<int> probed;
    void probe(rank_t r) { ++probed[r]; }
    bool opens_files() const { return false; }
    std::size_t poll(std::span<detail::fabric_done>) { return 0; }
    void disconnect(rank_t) {}
    void close_endpoint() {}
    void abandon() {}
};

// Who is given up by so many polls that find nothing.
std::vector<rank_t> given_up(fabric_presence& presence, int polls) {
    std::vector<rank_t> gone;
    while (polls-- != 0)
        presence.judge([&](rank_t r, std::uint64_t suspected_ns) {
            CHECK(suspected_ns >= 2'000'000);
            gone.push_back(r);
        });
    return gone;
}
void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

} // namespace

TEST_CASE("presence: a suspect is given up after sixteen quiet polls and two milliseconds") {
    fabric_presence presence(0, 3);
    presence.suspect(2);
    CHECK((!presence.is_here(2) && !presence.is_lost(2) && presence.seems_dead(2)));
    CHECK((presence.is_here(1) && !presence.seems_dead(1)));
    sleep_ms(3);
    CHECK(given_up(presence, 15).empty());
    presence.is_heard(2); // it was alive when it sent this
    CHECK(given_up(presence, 15).empty());
    CHECK(given_up(presence, 1) == std::vector<rank_t>{2});
    CHECK(given_up(presence, 1) == std::vector<rank_t>{2}); // until it is lost
    CHECK(presence.lose(2));
    CHECK(given_up(presence, 20).empty());
}

TEST_CASE("presence: a rank is lost once, and it is known how") {
    fabric_presence presence(0, 3);
    presence.suspect(1, errc::no_resources);
    presence.suspect(1, errc::peer_dead); // the first fault counts
    CHECK(presence.fault(1) == errc::no_resources);
    CHECK((presence.lose(1) && !presence.lose(1)));
    CHECK((presence.is_lost(1) && presence.is_dead(1) && presence.seems_dead(1)));
    CHECK(presence.lose(2)); // it has said bye
    presence.suspect(2);     // too late
    CHECK((presence.is_lost(2) && !presence.is_dead(2) && !presence.seems_dead(2)));
    CHECK(presence.fault(2) == errc::ok);
    CHECK_FALSE(presence.is_reported(1));
    presence.report(1);
    CHECK((presence.is_reported(1) && !presence.is_reported(2)));
}

TEST_CASE("presence: while ranks meet, one that has died is named after 20 ms, if it is needed") {
    fabric_presence presence(0, 2);
    presence.suspect(1);
    const auto needed = [](rank_t) { return true; };
    CHECK(presence.died_early(needed) == no_rank);
    sleep_ms(21);
    CHECK(presence.died_early([](rank_t) { return false; }) == no_rank);
    CHECK(presence.died_early(needed) == 1);
}

TEST_CASE("presence: the end of a process is noticed, and peers that are there are probed") {
    int gate[2];
    REQUIRE(::pipe(gate) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        char c;
        ::close(gate[1]);
        ::_exit(::read(gate[0], &c, 1) < 0);
    }
    REQUIRE(child > 0);
    ::close(gate[0]);
    fabric_presence presence(0, 3);
    presence.watch(1, static_cast<std::uint64_t>(child));
    CHECK(presence.is_here(1));
    probing_device device{std::vector<int>(3)};
    CHECK(presence.look(device, no_options{}, 5'000'000));
    CHECK_FALSE(presence.look(device, no_options{}, 5'999'999)); // too early
    CHECK(device.probed == std::vector<int>{0, 1, 1});
    ::close(gate[1]);
    int how = 0;
    REQUIRE(::waitpid(child, &how, 0) == child);
    CHECK(presence.lose(2));
    CHECK(presence.look(device, no_options{}, 6'000'000));
    CHECK(presence.seems_dead(1));
    CHECK(device.probed == std::vector<int>{0, 2, 1}); // a lost rank is not asked
    presence.watch(0, static_cast<std::uint64_t>(child));
    CHECK_FALSE(presence.is_here(0)); // a process that has ended already
}
