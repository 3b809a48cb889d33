// SPDX-License-Identifier: BSL-1.0
// The queue against a list that is sorted stably, and its clock.
#include "support/catch.hpp"
#include <bough/core/event_queue.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <utility>
#include <vector>

using bough::detail::event_queue;

namespace {

constexpr int sum_in_order() {
    event_queue<double, int> queue;
    queue.push(2.5, 3);
    queue.push(0, 1);
    queue.push(2.5, 4);
    queue.push(0, 2);
    int digits = 0;
    while (!queue.empty()) digits = 10 * digits + queue.pop();
    return digits;
}
static_assert(sum_in_order() == 1234);

// Pushes and pops at random, with times that often are equal, and compares with a sorted list.
template <class Time, class Draw>
void compare(std::uint32_t seed, Draw&& draw) {
    struct due {
        Time at;
        std::uint32_t number;
    };
    std::mt19937 random(seed);
    event_queue<Time, std::uint32_t> queue;
    std::vector<due> sorted; // the next at the end
    std::uint32_t number = 0;
    for (int i = 0; i != 4000; ++i) {
        CAPTURE(seed, i);
        if (random() % 100 < (i % 800 < 400 ? 70u : 30u)) {
            const due next{queue.now() + draw(random), number++};
            queue.push(next.at, next.number);
            sorted.insert(std::find_if(sorted.begin(), sorted.end(), [&](const due& d) { return d.at <= next.at; }),
                          next);
        } else if (!sorted.empty()) {
            REQUIRE(queue.next() == sorted.back().at);
            REQUIRE(queue.pop() == sorted.back().number);
            REQUIRE(queue.now() == sorted.back().at);
            sorted.pop_back();
        }
        REQUIRE(queue.empty() == sorted.empty());
        if (i == 2000) {
            queue.clear();
            sorted.clear();
            REQUIRE((queue.empty() && queue.now() == 0));
        }
    }
}

} // namespace

TEST_CASE("event_queue: events come out in the order of time, and equal times in that of their coming") {
    for (std::uint32_t seed = 1; seed != 20; ++seed) {
        compare<std::uint64_t>(seed, [](auto& random) -> std::uint64_t { return random() % 4; });
        compare<std::uint64_t>(seed, [](auto& random) -> std::uint64_t { return random() >> random() % 32; });
        compare<double>(seed, [](auto& random) { return static_cast<double>(random() % 4) * 0.25; });
        compare<double>(seed, [](auto& random) { return 1e-3 * static_cast<double>(random() >> random() % 32); });
    }
}

TEST_CASE("event_queue: pass runs what is due by then, while the clock stands at the end") {
    event_queue<std::uint64_t, int> queue;
    std::vector<int> seen;
    const auto see = [&](int what) {
        REQUIRE(queue.now() == 50);
        if (what == 1) queue.push(50, 4); // due at once: runs, too
        seen.push_back(what);
    };
    queue.push(10, 1);
    queue.push(51, 3);
    queue.push(50, 2);
    queue.pass(50, see);
    CHECK(seen == std::vector<int>{1, 2, 4});
    CHECK(queue.next() == 51);
    queue.pass(20, see); // the clock never goes back
    CHECK(queue.now() == 50);
    CHECK(seen.size() == 3);
}

TEST_CASE("event_queue: skip moves the clock to the next event, and runs all of that time") {
    event_queue<double, int> queue;
    std::vector<int> seen;
    const auto see = [&](int what) { seen.push_back(what); };
    CHECK_FALSE(queue.skip(see));
    queue.push(7, 1);
    queue.push(9, 3);
    queue.push(7, 2);
    CHECK(queue.skip(see));
    CHECK(queue.now() == 7);
    CHECK(seen == std::vector<int>{1, 2});
    CHECK(queue.skip(see));
    CHECK_FALSE(queue.skip(see));
    CHECK(queue.now() == 9);
}

TEST_CASE("event_queue: an event may be one that can only be moved, at any time that there is") {
    event_queue<std::uint64_t, std::unique_ptr<int>> queue;
    constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
    queue.push(last, std::make_unique<int>(3));
    queue.push(last / 2 + 1, std::make_unique<int>(4));
    queue.push(last / 2 - 1, std::make_unique<int>(2));
    queue.push(0, std::make_unique<int>(1));
    for (int i = 1; i != 5; ++i) CHECK(*queue.pop() == i);
    CHECK(queue.empty());
}
