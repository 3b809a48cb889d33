// SPDX-License-Identifier: BSL-1.0
// What a reduce costs ranks that come at different times: processor time burned a rank, and how long after the last arrival
// the root has the result, by how the ranks wait (benchmark/skew/skewed.hpp says how it is measured).
//
//   bench-skewed [iterations]                                all points
//   bench-skewed iterations ranks doubles skew_us shm|tcp    one; benchmark/skew/run has each MPI that is installed beside it
#include "../skew/skewed.hpp"

#include "../arguments.hpp"
#include "../skew/world.hpp"
#include <bough/launch.hpp>
#include <bough/progress/events.hpp>
#include <bough/progress/thread.hpp>
#if defined(__linux__)
#include <bough/progress/signals.hpp>
#endif
#include <bough/reduce.hpp>
#include <bough/transport/shared_memory.hpp>
#ifdef BOUGH_SKEWED_TCP
#include <bough/transport/tcp.hpp>
#endif
#include <bough/tree/binomial.hpp>

#include <algorithm>
#include <cstdlib>
#include <poll.h>
#include <sched.h>
#include <span>
#include <string_view>
#include <vector>

namespace {

using namespace bough;

struct timed_plus {
    double operator()(double a, double b) const { return a + b; }
    void combine(std::span<const double> lower, std::span<const double> upper, std::span<double> out) const {
        skewed::timed_add(lower.data(), upper.data(), out.data(), out.size());
    }
};

using skewed::world_of;

// A loop that sleeps until there is something to do, or its time is over, to the nanosecond.
template <class T>
void in_an_event_loop(event_progress<T>& events, operation& op, std::int64_t end) {
    pollfd watched{.fd = events.descriptor(), .events = POLLIN, .revents = 0};
    while (!op.done()) {
        const int most_ms = events.prepare();
        const std::int64_t left = end - skewed::now_ns();
        if (left > 0 && most_ms != 0) {
            const std::int64_t ns = most_ms < 0 ? left : std::min(left, most_ms * std::int64_t{1'000'000});
            const timespec most{ns / 1'000'000'000, ns % 1'000'000'000};
            ::ppoll(&watched, 1, &most, nullptr);
        }
        events.progress();
        if (left <= 0) break;
    }
    skewed::sleep_until(end);
}

template <class T>
void ways(communicator<T>& comm, const skewed::point& at) {
    std::vector<double> in(static_cast<std::size_t>(at.count), 1.0), out(in);
    const auto start = [&](auto& on) {
        return start_reduce(on, std::span<const double>(in), std::span(out), timed_plus{}, root{0}, binomial{});
    };
    world_of<T> world{comm};
    double idle_us = -1;
    const auto measure = [&](const char* name, auto&& way) { skewed::measure(world, at, name, idle_us, way); };
    measure("nothing", [&](std::int64_t end) { skewed::sleep_until(end); });
    if (::sched_getscheduler(0) == SCHED_OTHER) // else who spins keeps the core for good
        measure("blocking, polls", [&](std::int64_t end) {
            operation op = start(comm);
            while (!op.poll()) {
            }
            skewed::sleep_until(end);
        });
    measure("blocking, as the transport waits", [&](std::int64_t end) {
        start(comm).wait();
        skewed::sleep_until(end);
    });
    measure("split phase, looked at in the end", [&](std::int64_t end) {
        operation op = start(comm);
        skewed::sleep_until(end);
        op.wait();
    });
    measure("split phase, polled every 50 us", [&](std::int64_t end) {
        operation op = start(comm);
        for (std::int64_t next = skewed::now_ns(); next < end && !op.poll(); next += 50'000) skewed::sleep_until(next);
        skewed::sleep_until(end);
        op.wait();
    });
    if constexpr (DescriptorTransport<T>) {
        {
            event_progress events{comm};
            measure("split phase, event loop", [&](std::int64_t end) {
                operation op = start(comm);
                in_an_event_loop(events, op, end);
                op.wait();
            });
        }
#if defined(__linux__)
        signal_progress bypass{comm}; // the paper's way; what its thread burns is counted
        measure("split phase, signals", [&](std::int64_t end) {
            operation op = start(comm);
            {
                const auto here = bypass.interruptible();
                skewed::sleep_until(end);
            }
            op.wait();
        });
#endif
    }
}
template <class T>
void with_a_helper(communicator<serialised<T>>& comm, const skewed::point& at) {
    std::vector<double> in(static_cast<std::size_t>(at.count), 1.0), out(in);
    world_of<serialised<T>> world{comm};
    double idle_us = -1;
    const auto measure = [&](const char* name, auto&& way) { skewed::measure(world, at, name, idle_us, way); };
    measure("nothing", [&](std::int64_t end) { skewed::sleep_until(end); });
    progress_thread helper;
    helper.look_after(comm);
    measure("split phase, helper thread", [&](std::int64_t end) {
        operation op =
            start_reduce(comm, std::span<const double>(in), std::span(out), timed_plus{}, root{0}, binomial{});
        skewed::sleep_until(end);
        op.wait();
    });
}

// The last rank to come makes the result, in memory that the root reads it from.
template <class T>
void with_late_ranks(communicator<T>& comm, const skewed::point& at) {
    std::vector<double> in(static_cast<std::size_t>(at.count), 1.0), out(in);
    world_of<T> world{comm};
    double idle_us = -1;
    const auto measure = [&](const char* name, auto&& way) { skewed::measure(world, at, name, idle_us, way); };
    const auto start = [&] {
        return start_reduce(comm, in, out, timed_plus{}, root{0}, automatic{.late_ranks = true});
    };
    measure("nothing", [&](std::int64_t end) { skewed::sleep_until(end); });
    measure("late ranks", [&](std::int64_t end) {
        operation op = start();
        skewed::sleep_until(end);
        op.wait();
    });
    measure("late ranks, the root waits", [&](std::int64_t end) {
        start().wait();
        skewed::sleep_until(end);
    });
}

template <class T>
int rank(job job, const skewed::point& at) {
    skewed::sleep_exactly();
    {
        communicator comm{T{job}};
        ways(comm, at);
        if constexpr (SharesMemory<T>) with_late_ranks(comm, at);
    }
    communicator comm{serialised{T{job}}};
    with_a_helper(comm, at);
    return 0;
}

std::vector<skewed::point> all_points(int iterations) {
    std::vector<skewed::point> points;
    for (const int ranks : {4, 8, 16})
        for (const int skew : {0, 100, 400, 1000})
            points.push_back({.ranks = ranks, .count = 4, .skew_us = skew, .iterations = iterations});
    for (const int count : {32, 128})
        points.push_back({.ranks = 8, .count = count, .skew_us = 1000, .iterations = iterations});
    return points;
}

} // namespace

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 5, "bench-skewed [iterations [ranks doubles skew_us shm|tcp]]");
    if (given.has(2) && !given.has(5)) given.refuse(argc, "one point needs ranks, doubles, skew_us and shm or tcp");
    const int iterations = given.number<int>(1, "iterations", 1, 1'000'000, 100);
#ifdef BOUGH_SKEWED_TCP
    const std::string_view only = given.word(5, "the transport", {"shm", "tcp"});
#else
    const std::string_view only = given.word(5, "the transport", {"shm"});
#endif
    std::vector<skewed::point> points;
    if (given.has(5))
        points = {{.ranks = given.number<int>(2, "ranks", 1, 256, 1),
                   .count = given.number<int>(3, "doubles", 1, 1 << 24, 1),
                   .skew_us = given.number<int>(4, "skew_us", 0, 10'000'000, 0),
                   .iterations = iterations}};
    else
        points = all_points(iterations);
    bool ok = true;
    const auto over = [&](const char* name, std::string_view word, auto run) {
        if (!only.empty() && only != word) return;
        if (only.empty()) std::printf("\n%s\n", name);
        for (const skewed::point& at : points) {
            const launch_report report =
                launch(static_cast<rank_t>(at.ranks), [&](job job) { return run(std::move(job), at); });
            if (!report.ok()) std::printf("%s\n", describe(report).c_str());
            ok = ok && report.ok();
        }
    };
    over("shared memory", "shm",
         [](job job, const skewed::point& at) { return rank<shared_memory>(std::move(job), at); });
#ifdef BOUGH_SKEWED_TCP
    over("tcp", "tcp", [](job job, const skewed::point& at) { return rank<tcp>(std::move(job), at); });
#endif
    return ok ? 0 : 1;
}
