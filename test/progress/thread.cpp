// SPDX-License-Identifier: BSL-1.0
// A helper thread: operations go on while nobody calls the library, and when none is in flight it uses no processor time.
#include "support/catch.hpp"
#include "support/until.hpp"
#include <bough/allreduce.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/progress/thread.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/serialised.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/fnomial.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <pthread.h>
#include <thread>
#include <time.h>
#include <utility>
#include <vector>

namespace {

using namespace bough;

std::uint64_t cpu_ns(std::thread::native_handle_type thread) {
    clockid_t clock;
    timespec t{};
    if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &t) != 0) return ~std::uint64_t{0};
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

// Does the thread come to rest: for 100 ms at less than `most_ns` of processor time? Within 20 s.
bool rests(std::thread::native_handle_type thread, std::uint64_t most_ns) {
    for (int i = 0; i != 200; ++i) {
        const std::uint64_t before = cpu_ns(thread);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        if (cpu_ns(thread) - before < most_ns) return true;
    }
    return false;
}

} // namespace

TEST_CASE("progress_thread: inner ranks of a tree do their work though they never call again") {
    constexpr rank_t p = 4;
    std::atomic<int> ended{0}, wrong{0};
    in_process{p}.run([&](auto transport) {
        communicator comm{serialised{std::move(transport)}};
        progress_thread helper;
        helper.look_after(comm);
        std::vector<std::uint64_t> x(3000, comm.rank() + 1);
        // A chain: each rank passes on what comes from the next. The last one is late.
        if (comm.rank() == p - 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        operation op = start_reduce(comm, x, plus{}, root{0}, chain{});
        // Nobody polls until the root's data say that all have been combined; the root only looks.
        const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!op.done() && std::chrono::steady_clock::now() < last)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ended += op.done();
        op.wait();
        if (comm.rank() == 0) wrong += x[2999] != 10;
    });
    CHECK(ended == static_cast<int>(p));
    CHECK(wrong == 0);
}

TEST_CASE("progress_thread: shared by communicators, beside threads that poll, wait, cancel nothing and lose nothing") {
    std::atomic<int> wrong{0};
    in_process first{3}, second{3};
    first.run([&](auto transport) {
        const rank_t me = transport.rank();
        communicator a{serialised{std::move(transport)}}, b{serialised{second.connect(me)}};
        progress_thread helper;
        helper.look_after(a);
        helper.look_after(b);
        for (std::uint64_t round = 0; round != 50; ++round) {
            std::vector<std::uint64_t> x(round % 3 == 0 ? 2000 : 2, me), y(5, round);
            operation one = start_allreduce(a, x, plus{});
            operation two = start_allreduce(b, y, plus{}, fnomial{});
            if (round % 2 == 0) one.poll();
            two.wait();
            one.wait();
            wrong += x[1] != 3 || y[4] != 3 * round;
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("progress_thread: idle, it uses no processor time") {
    std::atomic<int> busy{0}, woken{0};
    in_process{2}.run([&](auto transport) {
        communicator comm{serialised{std::move(transport)}};
        progress_thread helper;
        helper.look_after(comm);
        std::vector<int> x(4, 1);
        start_allreduce(comm, x, plus{}).wait();
        busy += !rests(helper.native_handle(), 50'000);  // a poll every 100 us would take more
        operation op = start_allreduce(comm, x, plus{}); // wakes it
        const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!op.done() && std::chrono::steady_clock::now() < last) std::this_thread::yield();
        woken += op.done();
    });
    CHECK(busy == 0);
    CHECK(woken == 2);
}

TEST_CASE("progress_thread: it sleeps while what is in flight waits for a late rank, and wakes when it comes") {
    std::atomic<int> busy{0}, woken{0};
    std::atomic<bool> rested{false};
    in_process{2}.run([&](auto transport) {
        const bool late = transport.rank() == 1;
        communicator comm{serialised{std::move(transport)}};
        progress_thread helper;
        helper.look_after(comm);
        std::vector<int> x(4, 1);
        start_allreduce(comm, x, plus{}).wait();
        while (late && !rested) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        operation op = start_allreduce(comm, x, plus{});
        if (!late) {
            busy += !rests(helper.native_handle(), 1'000'000); // naps of 100 us would take more
            rested = true;
        }
        const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!op.done() && std::chrono::steady_clock::now() < last)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        woken += op.done();
    });
    CHECK(busy == 0);
    CHECK(woken == 2);
}
TEST_CASE("progress_thread: one that is ended soon after it was made ends") {
    constexpr int turns = 20'000;
    std::atomic<int> spent{0}, ended{0};
    std::thread maker([&] {
        for (int turn = 0; turn != turns; ++turn, ++ended) {
            progress_thread helper;
            for (int i = 0; i != turn % 50 * 100; ++i) spent.fetch_add(1, std::memory_order_relaxed);
        }
    });
    // Each within a minute.
    for (int seen = 0; seen != turns; seen = ended)
        bough_test::until([&] { return ended != seen; },
                          [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
    maker.join();
    CHECK(spent != 0);
}
