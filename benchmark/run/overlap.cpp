// SPDX-License-Identifier: BSL-1.0
// Overlap: how much of a collective is hidden behind a computation of the same length, by who makes progress.
//
//   bench-overlap [rounds]
// A network that works by itself: two threads over an emulated link of 50 us and 1 GB/s. Allreduce. A: the blocking call; C: the
// computation alone, made as long as A; T: start, compute, wait. hidden = (A + C - T) / A: 1, the collective costs nothing;
// 0, as much as the blocking call.
// Ways: blocking; nothing (starts, computes, waits); caller (comm.progress() every 10 us of computation); event (the descriptor of
// an event_progress is looked at every 10 us); asio (pieces of 10 us are handlers of an io_context); thread (a progress_thread);
// signal (a signal_progress interrupts the computation). All are timed in every round, in turn; medians. The link has a
// descriptor, as that of a card with interrupts has: it wakes its rank when a message comes and when it is due.
#include "../arguments.hpp"
#include <bough/allreduce.hpp>
#include <bough/asio/async.hpp>
#include <bough/barrier.hpp>
#include <bough/op/min_max.hpp>
#include <bough/progress/events.hpp>
#include <bough/progress/signals.hpp>
#include <bough/progress/thread.hpp>
#include <bough/transport/emulated_with_descriptor.hpp>
#include <bough/transport/in_process.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <span>
#include <utility>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;
using endpoint = bough::in_process::endpoint;

double us_since(clock_type::time_point begin) {
    return std::chrono::duration<double, std::micro>(clock_type::now() - begin).count();
}
double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v.empty() ? 0 : v[v.size() / 2];
}

// Work by the amount, not by the clock: what is stolen from it makes it longer.
volatile double result = 0;
double pieces_per_us = 1;
void compute(double us) {
    double x = result;
    const auto count = static_cast<std::uint64_t>(us * pieces_per_us);
    for (std::uint64_t i = 0; i != count; ++i) x = x * 0.999999 + 0.5;
    result = x;
}
void calibrate() {
    pieces_per_us = 1000;
    std::vector<double> rates;
    for (int i = 0; i != 21; ++i) {
        const auto begin = clock_type::now();
        compute(100);
        rates.push_back(100'000 / us_since(begin));
    }
    pieces_per_us = median(rates);
}

enum way { blocking, nothing, caller, event, asio, thread, interrupted, ways };
constexpr const char* names[ways] = {"blocking", "nothing", "caller", "event", "asio", "thread", "signal"};

// Under a real-time policy a thread that wakes does not run before those of its own priority, as it does under the usual one:
// then what is made meanwhile has one more.
class above_ranks {
public:
    above_ranks() { raise(1); }
    above_ranks(const above_ranks&) = delete;
    above_ranks& operator=(const above_ranks&) = delete;
    ~above_ranks() { raise(-1); }

private:
    static void raise(int by) {
        int policy = SCHED_OTHER;
        sched_param p{};
        ::pthread_getschedparam(::pthread_self(), &policy, &p);
        p.sched_priority += by;
        if (policy == SCHED_FIFO || policy == SCHED_RR) ::pthread_setschedparam(::pthread_self(), policy, &p);
    }
};

// A rank's communicators, one for each kind of transport that a way needs, over a group each.
template <class T>
struct tools {
    template <class F>
    explicit tools(const F& end)
        : direct(end(0)), shared(bough::serialised{end(1)}), driven(bough::on_executor{end(2), io}), signalled(end(3)),
          events(direct) {
        const above_ranks for_threads_made_here;
        bypass.emplace(signalled);
        helper.emplace();
        helper->look_after(shared);
    }

    boost::asio::io_context io;
    bough::communicator<T> direct;
    bough::communicator<bough::serialised<T>> shared;
    bough::communicator<bough::on_executor<T, boost::asio::io_context::executor_type>> driven;
    bough::communicator<T> signalled;
    bough::event_progress<T> events;
    std::optional<bough::signal_progress<T>> bypass;
    std::optional<bough::progress_thread> helper;
};

// Starts, computes for so long, waits. `start(comm)` -> operation, `call(comm)` blocks.
template <class T, class Start, class Call>
void run(way w, tools<T>& on, double us, const Start& start, const Call& call) {
    const auto in_pieces = [&](auto&& between) {
        for (double done = 0; done < us; done += 10) {
            compute(std::min(10.0, us - done));
            between();
        }
    };
    if (w == blocking) {
        call(on.direct);
        compute(us);
    } else if (w == thread) {
        bough::operation op = start(on.shared);
        compute(us);
        op.wait();
    } else if (w == asio) {
        bough::operation op = start(on.driven);
        bough::async_wait(on.driven, op, [](boost::system::error_code) {});
        struct next {
            boost::asio::io_context& io;
            double left;
            void operator()() {
                compute(std::min(10.0, left));
                if ((left -= 10) > 0) boost::asio::post(io, *this);
            }
        };
        boost::asio::post(on.io, next{on.io, us});
        on.io.run();
        on.io.restart();
    } else if (w == interrupted) {
        bough::operation op = start(on.signalled);
        {
            const auto here = on.bypass->interruptible();
            compute(us);
        }
        op.wait();
    } else if (w == event) {
        bough::operation op = start(on.direct);
        pollfd readable{on.events.descriptor(), POLLIN, 0};
        int most_ms = on.events.prepare();
        in_pieces([&] {
            if (most_ms != 0 && ::poll(&readable, 1, 0) == 0) return;
            on.events.progress();
            most_ms = on.events.prepare();
        });
        on.events.progress();
        op.wait();
    } else {
        bough::operation op = start(on.direct);
        if (w == nothing) compute(us);
        if (w == caller) in_pieces([&] { on.direct.progress(); });
        op.wait();
    }
}

void print_header(const char* what) {
    std::printf("%s", what);
    for (const char* name : names) std::printf(" %8s", name);
    std::printf("\n");
}

void hidden_share(std::size_t bytes, int rounds) {
    using slow = bough::emulated_with_descriptor<endpoint>;
    bough::in_process sync_world{2},
        worlds[4] = {bough::in_process{2}, bough::in_process{2}, bough::in_process{2}, bough::in_process{2}};
    const bough::emulation network{.latency_ns = 50'000, .ns_per_byte = 1};
    std::vector<double> a_us, total_us[ways];
    double c_us = 0;
    sync_world.run([&](endpoint end) {
        bough::communicator sync{std::move(end)};
        tools<slow> on([&](int i) { return slow{worlds[i].connect(sync.rank()), network}; });
        std::vector<double> x(bytes / sizeof(double), 1.0);
        const auto call = [&](auto& comm) { bough::allreduce(comm, x, bough::max{}); };
        const auto start = [&](auto& comm) { return bough::start_allreduce(comm, x, bough::max{}); };
        const auto timed = [&](auto&& body) {
            bough::barrier(sync);
            const auto begin = clock_type::now();
            body();
            return us_since(begin);
        };
        std::vector<double> alone;
        for (int i = 0; i != 21; ++i) alone.push_back(timed([&] { call(on.direct); }));
        if (sync.rank() == 0) c_us = median(alone);
        bough::barrier(sync);
        const double c = c_us;
        for (int r = 0; r != rounds; ++r) {
            const double t = timed([&] { call(on.direct); });
            if (sync.rank() == 0) a_us.push_back(t);
            for (int w = 0; w != ways; ++w) {
                const double total = timed([&] { run(static_cast<way>(w), on, c, start, call); });
                if (sync.rank() == 0) total_us[w].push_back(total);
            }
        }
    });
    const double a = median(a_us);
    std::printf("%10zu %8.0f %8.0f", bytes, a, c_us);
    for (const auto& t : total_us) std::printf(" %8.2f", (a + c_us - median(t)) / a);
    std::printf("\n");
}

} // namespace

int main(int argc, char** argv) {
    const int rounds =
        arguments::list(argc, argv, 1, "bench-overlap [rounds]").number<int>(1, "rounds", 1, 1'000'000, 101);
    calibrate();
    std::printf("hidden share of an allreduce, 2 ranks; medians of %d rounds; A, C in us\n", rounds);
    print_header("     bytes        A        C");
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{65536}, std::size_t{1} << 20})
        hidden_share(bytes, rounds);
}
