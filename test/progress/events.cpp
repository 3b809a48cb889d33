// SPDX-License-Identifier: BSL-1.0
// A loop of one's own that sleeps in poll(): operations go on in it, and it sleeps when there is nothing for them.
#include "support/catch.hpp"
#include "support/until.hpp"
#include "transport/shared_memory_world.hpp"
#include <bough/allreduce.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/progress/events.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/shared_memory.hpp>
#include <bough/tree/chain.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <time.h>
#include <utility>
#include <vector>

namespace {

using namespace bough;

std::uint64_t thread_cpu_ns() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

// Sleeps in poll() until the operation has ended. How often it did not sleep for as long as it might.
template <class T>
int sleep_until_done(event_progress<T>& events, operation& op) {
    int turns = 0;
    const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!op.done()) {
        if (std::chrono::steady_clock::now() > last) throw std::runtime_error("it never ends");
        pollfd p{events.descriptor(), POLLIN, 0};
        const int most = events.prepare();
        ::poll(&p, 1, most);
        events.progress();
        turns += most == 0 || p.revents != 0;
    }
    return turns;
}

// Nothing is in flight: is there nothing to wait for? Early messages of others may come before.
template <class T>
bool idles(event_progress<T>& events) {
    int most = 0;
    while (most == 0) most = events.prepare();
    return most == -1;
}

// All ranks sum, some late; each sleeps. What went wrong, or nothing.
template <class T>
std::string exercise(T transport) try {
    communicator comm{std::move(transport), {.timeout_ns = 30'000'000'000}};
    event_progress events{comm};
    if (events.descriptor() < 0) return "there is no descriptor";
    if (!idles(events)) return "there is something to wait for, but nothing is in flight";
    for (int round = 0; round != 30; ++round) {
        std::vector<std::uint64_t> x(round % 3 == 0 ? 40'000 : 3, comm.rank());
        operation op = start_allreduce(comm, x, plus{});
        (void)sleep_until_done(events, op);
        op.wait();
        if (x.back() != comm.size() * (comm.size() - 1) / 2) return "a wrong sum";
    }
    // A late rank: the others sleep meanwhile, and take next to no processor time.
    std::vector<std::uint64_t> x(10, 1);
    if (comm.rank() == comm.size() - 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const auto begin = std::chrono::steady_clock::now();
    const std::uint64_t before = thread_cpu_ns();
    operation op = start_reduce(comm, x, plus{}, root{0}, chain{});
    const int turns = sleep_until_done(events, op);
    const std::uint64_t used = thread_cpu_ns() - before;
    const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - begin;
    if (comm.rank() == 0 && used > static_cast<std::uint64_t>(waited.count()) / 2) return "it burns processor time";
    if (turns > 60) return "it wakes for nothing"; // and not: for its ticks, of which a slow machine has more
    if (comm.rank() == 0 && x[0] != comm.size()) return "a wrong sum";
    return idles(events) ? "" : "notifications stay on";
} catch (const std::exception& e) {
    return e.what();
}

} // namespace

TEST_CASE("event_progress: ranks sleep in poll(), over threads") {
    constexpr rank_t p = 4;
    std::vector<std::string> faults(p);
    in_process{p}.run([&](auto transport) {
        const rank_t me = transport.rank();
        faults[me] = exercise(std::move(transport));
    });
    for (const std::string& f : faults) CHECK(f == "");
}
TEST_CASE("event_progress: ranks sleep in poll(), over shared memory") {
    for (const bool direct : {true, false}) {
        auto ends = bough_test::shared_ends(3, {.direct_reads = direct});
        std::vector<std::string> faults(3);
        std::vector<std::thread> ranks;
        for (rank_t r = 0; r != 3; ++r)
            ranks.emplace_back([&, r, end = std::move(ends[r])]() mutable { faults[r] = exercise(std::move(end)); });
        for (std::thread& t : ranks) t.join();
        for (const std::string& f : faults) CHECK(f == "");
    }
}
TEST_CASE("event_progress: the death of a peer wakes it, and a deadline ends what waits alone") {
    std::atomic<int> told{0};
    in_process{2}.run([&](auto transport) {
        if (transport.rank() == 1) return std::this_thread::sleep_for(std::chrono::milliseconds(20));
        communicator comm{std::move(transport)};
        event_progress events{comm};
        std::vector<int> x(3);
        operation op = start_allreduce(comm, x, plus{});
        (void)sleep_until_done(events, op);
        told += op.result().code == errc::peer_dead;
    });
    std::atomic<bool> has_ended{false};
    in_process{2}.run([&](auto transport) {
        const std::uint64_t timeout = transport.rank() == 0 ? 50'000'000 : 30'000'000'000;
        communicator comm{std::move(transport), {.timeout_ns = timeout}};
        if (comm.rank() == 1) {
            bough_test::until([&] { return has_ended.load(); });
            std::vector<int> x(3);
            status s;
            allreduce(comm, x, plus{}, s); // too late
            told += s.cause == errc::deadline && !comm.poison();
            return;
        }
        event_progress events{comm};
        std::vector<int> x(3);
        operation op = start_allreduce(comm, x, plus{});
        (void)sleep_until_done(events, op);
        told += op.result().code == errc::deadline;
        has_ended = true;
    });
    CHECK(told == 3);
}
