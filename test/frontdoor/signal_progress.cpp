// SPDX-License-Identifier: BSL-1.0
// Signals: an inner rank that only computes does its part all the same; there are none while nothing is in flight.
#if defined(__linux__)
#include "support/catch.hpp"
#include "transport/shared_memory_world.hpp"
#include <bough/barrier.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/signal_progress.hpp>
#include <bough/start_allreduce.hpp>
#include <bough/start_reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/shared_memory.hpp>
#include <bough/tree/chain.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace bough;
using clock_type = std::chrono::steady_clock;

// Computes until `until` is set; false: for 20 s, in vain.
bool compute(const std::atomic<int>& until, int value) {
    const auto last = clock_type::now() + std::chrono::seconds(20);
    volatile double x = 1;
    while (until.load() < value) {
        for (int i = 0; i != 1000; ++i) x = x * 1.0000001;
        if (clock_type::now() > last) return false;
    }
    return true;
}

// A chain: rank 1 passes on what comes from rank 2, which is late; rank 1 computes until rank 0 has the sum.
struct tally {
    std::atomic<int> reduced{0}, wrong{0}, served{0};
};
template <class T>
void exercise(T transport, tally& t) {
    communicator comm{std::move(transport), {.timeout_ns = 30'000'000'000}};
    signal_progress bypass{comm};
    for (int round = 1; round != 11; ++round) {
        std::vector<std::uint64_t> x(round % 2 == 0 ? 20'000 : 5, comm.rank() + 1);
        if (comm.rank() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        operation op = start_reduce(comm, x, plus{}, root{0}, chain{});
        if (comm.rank() == 1) {
            const auto here = bypass.interruptible();
            t.wrong += !compute(t.reduced, round);
        }
        op.wait();
        if (comm.rank() == 0) {
            t.wrong += x[4] != 6;
            ++t.reduced;
        }
    }
    if (comm.rank() == 1) t.served += static_cast<int>(bypass.served());
    // Nothing is in flight: messages of others' later calls raise nothing.
    barrier(comm);
    const std::uint64_t before = bypass.signals();
    if (comm.rank() == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    } else if (comm.rank() == 1) {
        const auto here = bypass.interruptible();
        const auto until = clock_type::now() + std::chrono::milliseconds(40);
        while (clock_type::now() < until) {
        }
    }
    t.wrong += comm.rank() == 1 && bypass.signals() != before;
    barrier(comm);
}

} // namespace

TEST_CASE("signal_progress: a rank that only computes does its part, over threads") {
    tally t;
    in_process{3}.run([&](auto transport) { exercise(std::move(transport), t); });
    CHECK(t.wrong == 0);
    CHECK(t.reduced == 10);
    CHECK(t.served >= 1); // some messages may have come before a region
}
TEST_CASE("signal_progress: a rank that only computes does its part, over shared memory") {
    tally t;
    auto ends = bough_test::shared_ends(3);
    std::vector<std::thread> ranks;
    for (rank_t r = 0; r != 3; ++r)
        ranks.emplace_back([&, end = std::move(ends[r])]() mutable { exercise(std::move(end), t); });
    for (std::thread& r : ranks) r.join();
    CHECK(t.wrong == 0);
    CHECK(t.reduced == 10);
    CHECK(t.served >= 1); // some messages may have come before a region
}
TEST_CASE("signal_progress: outside of a region a signal does nothing but wait for the next one") {
    std::atomic<int> wrong{0};
    struct sigaction before {
    }, after{};
    ::sigaction(SIGRTMIN + 2, nullptr, &before);
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport), {.timeout_ns = 30'000'000'000}};
        std::vector<int> x(4, 1);
        if (comm.rank() == 1) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            start_allreduce(comm, x, plus{}).wait();
            return;
        }
        signal_progress bypass{comm}, second{comm, SIGRTMIN + 3};
        operation op = start_allreduce(comm, x, plus{});
        { const auto here = bypass.interruptible(); } // armed
        const auto until = clock_type::now() + std::chrono::milliseconds(60);
        while (clock_type::now() < until) {
        }
        wrong += bypass.signals() != 1 || bypass.served() != 0 || op.done();
        { const auto here = bypass.interruptible(); }
        const auto last = clock_type::now() + std::chrono::seconds(20);
        while (!op.done() && clock_type::now() < last) {
            const auto here = bypass.interruptible();
            const auto soon = clock_type::now() + std::chrono::milliseconds(1);
            while (clock_type::now() < soon) {
            }
        }
        wrong += !op.done() || second.signals() != 0;
        op.wait();
        wrong += x[3] != 2;
    });
    ::sigaction(SIGRTMIN + 2, nullptr, &after);
    CHECK(wrong == 0);
    CHECK(after.sa_handler == before.sa_handler); // as it was
}
#endif
