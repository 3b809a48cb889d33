// SPDX-License-Identifier: BSL-1.0
// Nothing that there is to be done waits for the clock: with ticks of seconds, whoever sleeps is woken by what happens, also by
// what other threads start and leave to be done.
#include "support/catch.hpp"
#include "transport/shared_memory_world.hpp"
#include <bough/allreduce.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/progress/events.hpp>
#include <bough/progress/thread.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/serialised.hpp>
#include <bough/transport/shared_memory.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <poll.h>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace bough;
using clock_type = std::chrono::steady_clock;
constexpr std::uint32_t tick_ms = 5000;

double ms_since(clock_type::time_point begin) {
    return std::chrono::duration<double, std::milli>(clock_type::now() - begin).count();
}
// Another thread writes there. ThreadSanitizer is not to say so.
__attribute__((no_sanitize("thread"))) bool is_there(const volatile std::uint64_t* at, std::uint64_t what) {
    return *at == what;
}
// Only looks, without a call of the library.
bool comes(const std::vector<std::uint64_t>& x, std::uint64_t what) {
    const auto begin = clock_type::now();
    while (!is_there(&x.back(), what) && ms_since(begin) < 3000)
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    return ms_since(begin) < 3000;
}

// Sums of all kinds of lengths, some ranks late, each in poll() meanwhile: the longest that one took, in ms.
template <class T>
double longest_of(T transport) {
    communicator comm{std::move(transport)};
    event_progress events{comm, static_cast<int>(tick_ms)};
    double longest = 0;
    for (std::uint32_t round = 0; round != 300; ++round) {
        if ((round * 7 + comm.rank() * 5) % 11 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
        if ((round + comm.rank()) % 4 == 0) std::this_thread::yield();
        const auto begin = clock_type::now();
        std::array<std::vector<std::uint64_t>, 2> x;
        std::array<operation, 2> ops;
        for (std::size_t i = 0; i != 2; ++i) {
            x[i].assign(round % 10 == i ? 20'000 : round % 3 == i ? 300 : 2, 1);
            ops[i] = start_allreduce(comm, x[i], plus{});
        }
        while (!ops[0].done() || !ops[1].done()) {
            pollfd of{events.descriptor(), POLLIN, 0};
            const int most = events.prepare();
            ::poll(&of, 1, most);
            events.progress();
        }
        longest = std::max(longest, ms_since(begin));
        if (x[0].back() != comm.size() || x[1].back() != comm.size()) return 1e9;
    }
    return longest;
}

} // namespace

TEST_CASE(
    "progress_thread: asleep for one transport, it hears of an operation over another, of a third and of its own end") {
    std::atomic<int> heard{0};
    std::array<std::atomic<double>, 2> end_ms{};
    in_process first{2}, second{2}, third{2};
    first.run([&](auto transport) {
        const rank_t me = transport.rank();
        communicator a{serialised{std::move(transport)}}, b{serialised{second.connect(me)}},
            c{serialised{third.connect(me)}};
        auto begin = clock_type::now();
        {
            progress_thread helper{{.tick_ms = tick_ms}};
            helper.look_after(a);
            helper.look_after(b);
            std::vector<std::uint64_t> x(3, 1), y(3, 1), z(3, 1);
            operation one, two, three;
            if (me == 0) one = start_allreduce(a, x, plus{}); // its partner is late
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            if (me == 1) std::this_thread::sleep_for(std::chrono::milliseconds(30)); // rank 0 cannot end it at once
            two = start_allreduce(b, y, plus{});
            heard += comes(y, 2);
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            three = start_allreduce(c, z, plus{});
            helper.look_after(c);
            heard += comes(z, 2);
            if (me == 1) one = start_allreduce(a, x, plus{});
            heard += comes(x, 2);
            one.wait();
            two.wait();
            three.wait();
            std::vector<std::uint64_t> w(3, 1);
            if (me == 0) one = start_allreduce(a, w, plus{});
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            begin = clock_type::now();
            helper.leave(a);
            if (me == 1) one = start_allreduce(a, w, plus{});
            helper.leave(b);
            helper.leave(c);
            one.wait();
        }
        end_ms[me] = ms_since(begin);
    });
    CHECK(heard == 6);
    CHECK(end_ms[0] < 2000);
    CHECK(end_ms[1] < 2000);
}
TEST_CASE(
    "event_progress: no wake-up is lost, over threads and shared memory, where slots and areas are full at times") {
    std::vector<double> longest(3);
    in_process{3, {.slots = 4}}.run([&](auto transport) {
        const rank_t me = transport.rank();
        longest[me] = longest_of(std::move(transport));
    });
    CHECK(*std::max_element(longest.begin(), longest.end()) < 2000);
    for (const bool direct : {true, false}) {
        auto ends = bough_test::shared_ends(3, {.slots = 4, .eager_bytes = 1024, .direct_reads = direct});
        std::vector<std::thread> ranks;
        for (rank_t r = 0; r != 3; ++r)
            ranks.emplace_back([&, r, end = std::move(ends[r])]() mutable { longest[r] = longest_of(std::move(end)); });
        for (std::thread& t : ranks) t.join();
        CHECK(*std::max_element(longest.begin(), longest.end()) < 2000);
    }
}
TEST_CASE("shared_memory: a cancelled take is due, so that nobody goes to sleep; a message taken back too") {
    auto ends = bough_test::shared_ends(2, {.direct_reads = false});
    std::vector<std::byte> from(1 << 20), into(from.size());
    std::array<event, 8> events;
    REQUIRE(ends[0].descriptor() >= 0);
    const auto arrive = [&](std::uint64_t id) {
        REQUIRE(ends[1].post_send(0, {}, from, id) == posted::pending);
        while (ends[0].poll(events) == 0) {
        }
        REQUIRE(ends[0].take(events[0].id, into, id) == posted::pending);
    };
    arrive(1);
    REQUIRE(ends[0].cancel(1) == errc::ok);
    CHECK_FALSE(ends[0].arm());
    REQUIRE(ends[0].poll(events) == 1);
    CHECK(events[0].code == errc::cancelled);
    while (ends[1].poll(events) == 0) {
    }
    arrive(2);
    REQUIRE(ends[1].cancel(2) == errc::ok);
    CHECK_FALSE(ends[0].arm());
    REQUIRE(ends[0].poll(events) == 1);
    CHECK(events[0].code == errc::peer_aborted);
}
TEST_CASE("shared_memory: whose post has no room in the area, though in the slots, may sleep") {
    auto ends = bough_test::shared_ends(2, {.slots = 16, .eager_bytes = 4096});
    const std::vector<std::byte> from(4000);
    std::array<event, 8> events;
    REQUIRE(ends[0].descriptor() >= 0);
    int sent = 0;
    while (ends[0].post_send(1, {}, from, 1) != posted::would_block) ++sent;
    REQUIRE(sent < 16);
    CHECK(ends[0].arm());
    REQUIRE(ends[1].poll(events) == static_cast<std::size_t>(sent));
    ends[1].release(events[0].id);
    pollfd of{ends[0].descriptor(), POLLIN, 0};
    CHECK(::poll(&of, 1, 5000) == 1);
    ends[0].disarm();
    CHECK(ends[0].post_send(1, {}, from, 1) == posted::complete);
}
