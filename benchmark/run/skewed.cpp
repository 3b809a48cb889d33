// SPDX-License-Identifier: BSL-1.0
// What a reduce costs ranks that come at different times: processor time burned a rank, and how long after the last arrival
// the root has the result, by how the ranks wait (benchmark/skew/skewed.hpp says how it is measured).
//
//   bench-skewed [iterations]
#include "../skew/skewed.hpp"

#include <bough/allreduce.hpp>
#include <bough/launch.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/progress_thread.hpp>
#include <bough/start_reduce.hpp>
#include <bough/transport/shared_memory.hpp>
#ifdef BOUGH_SKEWED_TCP
#include <bough/transport/tcp.hpp>
#endif
#include <bough/tree/binomial.hpp>

#include <cstdlib>
#include <poll.h>
#include <span>
#include <vector>

namespace {

using namespace bough;

struct timed_plus {
    double operator()(double a, double b) const { return a + b; }
    void combine(std::span<const double> lower, std::span<const double> upper, std::span<double> out) const {
        for (std::size_t i = 0; i != out.size(); ++i) out[i] = lower[i] + upper[i];
        skewed::last_combine_ns = skewed::now_ns();
    }
};

template <class T>
struct world_of {
    communicator<T>& comm;
    int rank() const { return static_cast<int>(comm.rank()); }
    int size() const { return static_cast<int>(comm.size()); }
    std::int64_t most(std::int64_t x) {
        allreduce(comm, std::span(&x, 1), max{});
        return x;
    }
    double total(double x) {
        allreduce(comm, std::span(&x, 1), plus{});
        return x;
    }
};

// Sleeps where the transport's descriptor wakes it when there is something to do.
template <class T>
void in_an_event_loop(communicator<T>& comm, operation& op, std::int64_t end) {
    T& transport = comm.transport();
    pollfd watched{.fd = transport.descriptor(), .events = POLLIN, .revents = 0};
    while (!op.poll()) {
        if (!transport.arm()) continue;
        const std::int64_t left = end - skewed::now_ns();
        if (left > 0) {
            const timespec most{0, static_cast<long>(left)};
            ::ppoll(&watched, 1, &most, nullptr);
        }
        transport.disarm();
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
    if constexpr (DescriptorTransport<T>)
        measure("split phase, event loop", [&](std::int64_t end) {
            operation op = start(comm);
            in_an_event_loop(comm, op, end);
            op.wait();
        });
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

template <class T>
int rank(job job, const skewed::point& at) {
    skewed::sleep_exactly();
    {
        communicator comm{T{job}};
        ways(comm, at);
    }
    communicator comm{serialised{T{job}}};
    with_a_helper(comm, at);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    const int iterations = argc > 1 ? std::atoi(argv[1]) : 100;
    std::vector<skewed::point> points;
    for (const int ranks : {4, 8, 16})
        for (const int skew : {0, 100, 400, 1000})
            points.push_back({.ranks = ranks, .count = 4, .skew_us = skew, .iterations = iterations});
    for (const int count : {32, 128})
        points.push_back({.ranks = 8, .count = count, .skew_us = 1000, .iterations = iterations});
    bool ok = true;
    const auto over = [&](const char* name, auto run) {
        std::printf("\n%s\n", name);
        for (const skewed::point& at : points) {
            const launch_report report =
                launch(static_cast<rank_t>(at.ranks), [&](job job) { return run(std::move(job), at); });
            if (!report.ok()) std::printf("%s\n", describe(report).c_str());
            ok = ok && report.ok();
        }
    };
    over("shared memory", [](job job, const skewed::point& at) { return rank<shared_memory>(std::move(job), at); });
#ifdef BOUGH_SKEWED_TCP
    over("tcp", [](job job, const skewed::point& at) { return rank<tcp>(std::move(job), at); });
#endif
    return ok ? 0 : 1;
}
