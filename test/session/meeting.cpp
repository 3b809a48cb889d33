// SPDX-License-Identifier: BSL-1.0
// Whom a meeting names at its deadline: ranks that are stopped in the middle of it, and those that others
// wait for.
#include "support/catch.hpp"
#include <bough/communicator.hpp>
#include <bough/core/absence.hpp>
#include <bough/core/rank.hpp>
#include <bough/error.hpp>
#include <bough/os/clock.hpp>
#include <bough/session/meeting.hpp>
#include <bough/transport/in_process.hpp>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace bough;

namespace {

using endpoint = in_process::endpoint;
constexpr std::uint64_t ms = 1'000'000;

// Ranks of one thread, which step when they are told to.
struct crowd {
    explicit crowd(rank_t size) : world(size) {
        for (rank_t r = 0; r != size; ++r) {
            comms.push_back(std::make_unique<communicator<endpoint>>(world.connect(r)));
            members.push_back(r);
        }
        its.resize(size);
    }
    void come(rank_t r, std::uint64_t timeout_ns) {
        its[r] = std::make_unique<detail::meeting<endpoint>>(*comms[r]->shared_session(), members, comms[r]->context(),
                                                             timeout_ns);
    }
    void step(rank_t r) {
        comms[r]->shared_session()->progress();
        if (its[r]) its[r]->step();
    }
    // These go on, and no other, until all of them have ended.
    void go_on(std::initializer_list<rank_t> some) {
        for (bool are_over = false; !are_over;) {
            are_over = true;
            for (const rank_t r : some) step(r), are_over = are_over && its[r]->done();
            std::this_thread::yield();
        }
    }
    std::string says(rank_t r) const { return message_of(its[r]->result()); }

    in_process world;
    std::vector<std::unique_ptr<communicator<endpoint>>> comms;
    std::vector<rank_t> members;
    std::vector<std::unique_ptr<detail::meeting<endpoint>>> its;
};

std::string is_missing(rank_t r) {
    return "rank " + std::to_string(r) + " is missing in create_group: the operation did not end by its deadline";
}

} // namespace

TEST_CASE("meeting: a leader that calls, and then does not answer, is named") {
    crowd all(3);
    all.come(0, 60'000 * ms);
    for (const rank_t r : {1u, 2u}) all.come(r, 80 * ms);
    all.go_on({1, 2});
    CHECK(all.says(1) == is_missing(0));
    CHECK(all.says(2) == is_missing(0));
    CHECK(all.its[1]->result().missing == 1);
}

TEST_CASE("meeting: a member that joins, and then does not answer, is named by all") {
    for (const rank_t stopped : {1u, 2u, 3u}) {
        CAPTURE(stopped);
        crowd all(4);
        for (rank_t r = 0; r != 4; ++r) all.come(r, 80 * ms);
        all.go_on(stopped == 1   ? std::initializer_list<rank_t>{0, 2, 3}
                  : stopped == 2 ? std::initializer_list<rank_t>{0, 1, 3}
                                 : std::initializer_list<rank_t>{0, 1, 2});
        for (rank_t r = 0; r != 4; ++r)
            if (r != stopped) CHECK(all.says(r) == is_missing(stopped));
        CHECK(all.its[0]->result().missing == 1);
    }
}

TEST_CASE("meeting: a member whose time is up before the leader's names whom the leader waits for") {
    crowd all(4);
    all.come(0, 60'000 * ms);
    all.come(1, 80 * ms);
    all.come(3, 60'000 * ms);
    while (!all.its[1]->done())
        for (const rank_t r : {0u, 1u, 3u}) all.step(r);
    CHECK(all.says(1) == is_missing(2));
    CHECK_FALSE(all.its[0]->done());
    // It comes again, and so does the one that was missing.
    all.come(1, 60'000 * ms);
    all.come(2, 60'000 * ms);
    all.go_on({0, 1, 2, 3});
    for (rank_t r = 0; r != 4; ++r) {
        CHECK(!all.its[r]->result());
        CHECK(all.its[r]->number() == all.its[0]->number());
    }
}

TEST_CASE("meeting: a leader that comes late, or after no time at all, is asked who is missing") {
    for (const std::uint64_t timeout_ns : {std::uint64_t{7}, 80 * ms}) {
        CAPTURE(timeout_ns);
        crowd all(3);
        all.come(1, timeout_ns);
        const std::uint64_t last_ns = detail::steady_now_ns() + timeout_ns;
        while (detail::steady_now_ns() <= last_ns) std::this_thread::yield();
        all.step(1); // its time is up
        CHECK_FALSE(all.its[1]->done());
        all.come(0, 60'000 * ms);
        while (!all.its[1]->done())
            for (const rank_t r : {0u, 1u}) all.step(r);
        CHECK(all.says(1) == is_missing(2));
    }
}

TEST_CASE("meeting: a leader that does not come is named") {
    crowd all(3);
    for (const rank_t r : {1u, 2u}) all.come(r, 80 * ms);
    all.go_on({1, 2});
    CHECK(all.says(1) == is_missing(0));
    CHECK(all.says(2) == is_missing(0));
}
