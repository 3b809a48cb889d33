// SPDX-License-Identifier: BSL-1.0
// Signals: an inner rank that only computes does its part all the same; there are none while nothing is in flight.
#if defined(__linux__)
#include "support/catch.hpp"
#include "support/computing.hpp"
#include "transport/shared_memory_world.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/progress/signals.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/shared_memory.hpp>
#include <bough/tree/chain.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <new>
#include <sys/mman.h>
#include <thread>
#include <utility>
#include <vector>

// In a region that is declared interruptible the handler may allocate, which ThreadSanitizer cannot
// know. So it is silent about this handler, also where the handler may only note that a signal came.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "signal:signal_progress<"; }

namespace {

using namespace bough;
using clock_type = std::chrono::steady_clock;

// A chain: rank 1 passes on what comes from rank 2, which is late; rank 1 computes until rank 0 has the sum.
struct tally {
    std::atomic<int> in_region{0}, reduced{0}, wrong{0}, served{0};
};
bool compute(tally& t, int round) {
    t.in_region = round;
    return bough_test::compute_until(t.reduced, round);
}
template <class T>
void exercise(T transport, tally& t) {
    communicator comm{std::move(transport), {.timeout_ns = 30'000'000'000}};
    signal_progress bypass{comm};
    for (int round = 1; round != 11; ++round) {
        std::vector<std::uint64_t> x(round % 2 == 0 ? 20'000 : 5, comm.rank() + 1);
        if (comm.rank() == 2) t.wrong += !bough_test::compute_until(t.in_region, round);
        operation op = start_reduce(comm, x, plus{}, root{0}, chain{});
        if (comm.rank() == 1) {
            const auto here = bypass.interruptible();
            t.wrong += !compute(t, round);
        }
        op.wait();
        if (comm.rank() == 0) {
            t.wrong += x[4] != 6;
            ++t.reduced;
        }
    }
    if (comm.rank() == 1) t.served += static_cast<int>(bypass.served());
    // Nothing is in flight: messages of others' later calls raise nothing, but one signal may still be under way.
    constexpr int later = 6;
    barrier(comm);
    if (comm.rank() == 1) {
        const auto here = bypass.interruptible();
        const std::uint64_t before = bypass.signals();
        t.wrong += !compute(t, 10 + later);
        t.wrong += bypass.signals() > before + 1;
    } else if (comm.rank() == 0) {
        t.wrong += !bough_test::compute_until(t.in_region, 10 + later);
    }
    for (int i = 0; i != later; ++i) {
        int one = 1;
        broadcast(comm, std::span(&one, 1), root{0}, chain{});
        if (comm.rank() != 0) continue;
        std::this_thread::sleep_for(std::chrono::milliseconds(3)); // a signal for each, if there were any
        ++t.reduced;
    }
    barrier(comm);
}
void over_shared_memory(tally& t, const shared_memory_options& options) {
    auto ends = bough_test::shared_ends(3, options);
    std::vector<std::thread> ranks;
    for (rank_t r = 0; r != 3; ++r)
        ranks.emplace_back([&, end = std::move(ends[r])]() mutable { exercise(std::move(end), t); });
    for (std::thread& r : ranks) r.join();
}
void check(const tally& t) {
    CHECK(t.wrong == 0);
    CHECK(t.reduced == 16);
    CHECK(t.served >= 10); // rank 2 waits until rank 1 is in its region
}

} // namespace

TEST_CASE("signal_progress: a rank that only computes does its part, over threads") {
    tally t;
    in_process{3}.run([&](auto transport) { exercise(std::move(transport), t); });
    check(t);
}
TEST_CASE("signal_progress: a rank that only computes does its part, over shared memory") {
    for (const bool direct : {true, false}) {
        tally t;
        over_shared_memory(t, {.direct_reads = direct});
        check(t);
    }
}
TEST_CASE("signal_progress: a rank that only computes does its part, over processes") {
    void* at = ::mmap(nullptr, sizeof(tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(at != MAP_FAILED);
    tally& t = *new (at) tally;
    {
        bough_test::processes ranks(3, [&](auto& wire, auto&) { exercise(shared_memory(wire), t); });
        ranks.wait();
        for (rank_t r = 0; r != 3; ++r) CHECK(ranks.exit_code(r) == 0);
    }
    check(t);
    ::munmap(at, sizeof(tally));
}
TEST_CASE("signal_progress: outside of a region a signal does nothing but wait for the next one") {
    std::atomic<int> wrong{0}, armed{0};
    struct sigaction before {
    }, after{};
    ::sigaction(SIGRTMIN + 2, nullptr, &before);
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport), {.timeout_ns = 30'000'000'000}};
        std::vector<int> x(4, 1);
        if (comm.rank() == 1) {
            wrong += !bough_test::compute_until(armed, 1);
            start_allreduce(comm, x, plus{}).wait();
            return;
        }
        signal_progress bypass{comm}, second{comm, SIGRTMIN + 3};
        operation op = start_allreduce(comm, x, plus{});
        { const auto here = bypass.interruptible(); } // armed
        armed = 1;
        const auto soon_enough = clock_type::now() + std::chrono::seconds(20);
        while (bypass.signals() == 0 && clock_type::now() < soon_enough) {
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
