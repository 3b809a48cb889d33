// SPDX-License-Identifier: BSL-1.0
// What a fork leaves of a group: the child has none, and its parent keeps all of its own, also messages that it holds.
#ifndef BOUGH_TEST_SUPPORT_FORKED_GROUP_HPP
#define BOUGH_TEST_SUPPORT_FORKED_GROUP_HPP

#include "support/catch.hpp"
#include <bough/concepts/transport.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace bough_test {

// In a child of this process good() has to hold; then the child closes its copies of the ends, and nothing else.
template <class End, class Good>
void check_in_child(std::vector<End>& ends, const Good& good) {
    const pid_t child = ::fork();
    if (child == 0) {
        const bool held = good();
        ends.clear();
        ::_exit(held ? 0 : 1);
    }
    int state = -1;
    REQUIRE(::waitpid(child, &state, 0) == child);
    CHECK((WIFEXITED(state) && WEXITSTATUS(state) == 0));
}

// Pre: two ends, of which one thread drives both. `long_bytes`: of a message that stays with its sender until it is taken.
template <class End>
void check_forked_group(std::vector<End>& ends, std::size_t long_bytes) {
    using namespace bough;
    std::array<std::vector<event>, 2> come; // to each rank, and not looked at yet
    const auto next_event = [&](rank_t at, event::kind what) {
        const auto is_it = [&](const event& e) { return e.what == what; };
        for (const auto last = ends[at].now_ns() + 10'000'000'000; ends[at].now_ns() < last;) {
            const auto found = std::find_if(come[at].begin(), come[at].end(), is_it);
            if (found != come[at].end()) {
                const event e = *found;
                come[at].erase(found);
                return e;
            }
            for (const rank_t r : {0u, 1u}) {
                event e;
                if (ends[r].poll(std::span(&e, 1)) == 1) come[r].push_back(e);
            }
        }
        FAIL("rank " << at << " waits for an event that does not come");
        return event{};
    };
    REQUIRE_FALSE(ends[0].forked());
    const std::vector<std::byte> payload(long_bytes, std::byte{6});
    const std::span<const std::byte> little = std::span(payload).first(3);
    REQUIRE(ends[1].post_send(0, {.operation = 3}, little, 1) == posted::complete);
    const event held = next_event(0, event::kind::arrived);
    REQUIRE(held.bytes == little.size());
    REQUIRE(ends[1].post_send(0, {.operation = 4}, payload, 2) == posted::pending);
    const event announced = next_event(0, event::kind::arrived);
    REQUIRE(announced.bytes == long_bytes);

    check_in_child(ends, [&] {
        End& end = ends[0];
        std::array<event, 2> events;
        std::vector<std::byte> into(long_bytes);
        bool good = end.forked() && end.poll(events) == 0 && end.post_send(1, {}, {}, 7) == posted::failed;
        if constexpr (InPlaceTransport<End>) good &= !end.claim(held.id) && !end.claim(announced.id);
        good &= end.take(held.id, std::span(into).first(little.size()), 7) == posted::failed;
        good &= end.take(announced.id, into, 8) == posted::failed;
        good &= end.cancel(8) == errc::forked_child;
        end.release(held.id);
        end.release(announced.id);
        return good;
    });

    // Of what the child tried nobody has heard.
    CHECK_FALSE(ends[0].forked());
    REQUIRE(ends[0].post_send(1, {.operation = 5}, little, 3) == posted::complete);
    const event heard = next_event(1, event::kind::arrived);
    REQUIRE((heard.peer == 0 && heard.envelope.operation == 5));
    REQUIRE(heard.data != nullptr);
    CHECK(std::equal(little.begin(), little.end(), heard.data));
    ends[1].release(heard.id);
    CHECK(std::equal(little.begin(), little.end(), held.data));
    if constexpr (InPlaceTransport<End>) CHECK(ends[0].claim(held.id));
    ends[0].release(held.id);
    std::vector<std::byte> into(long_bytes);
    REQUIRE(ends[0].take(announced.id, into, 9) == posted::pending);
    const event taken = next_event(0, event::kind::complete);
    CHECK((taken.id == 9 && taken.code == errc::ok));
    CHECK(into == payload);
    const event sent = next_event(1, event::kind::complete);
    CHECK((sent.id == 2 && sent.code == errc::ok));
}

} // namespace bough_test

#endif
