// SPDX-License-Identifier: BSL-1.0
// Operations are started, cancelled and destroyed at random, each rank a thread, while an event loop, a helper thread or signals
// make progress: each ends exactly once, with its result or an error that says why, and nobody touches data that have gone.
//   BOUGH_TEST_ALL=1   10,000 interleavings for each instead of 100
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/op/arithmetic.hpp>
#include <bough/progress/events.hpp>
#include <bough/progress/thread.hpp>
#include <bough/transport/serialised.hpp>
#if defined(__linux__)
#include <bough/progress/signals.hpp>
#endif
#include <bough/allreduce.hpp>
#include <bough/testing/descriptor_archetype.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <poll.h>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace bough;
using bough_test::mixed;
using clock_type = std::chrono::steady_clock;

struct tally {
    std::atomic<const char*> problem{nullptr};
    std::atomic<int> good{0}, bad{0};
    std::atomic<bool> gave_up{false};
};
struct flight {
    std::vector<std::uint64_t> x;
    operation op;
};

void look(flight& f, rank_t p, std::uint64_t value, tally& t) {
    status s, again;
    f.op.wait(s);
    f.op.wait(again);
    if (!f.op.done() || !(s == again) || !(f.op.result() == s)) t.problem = "an operation ended twice";
    ++(s ? t.bad : t.good);
    if (!s && std::any_of(f.x.begin(), f.x.end(), [&](std::uint64_t v) { return v != p * value; }))
        t.problem = "an operation ended well with wrong data";
    if (!s) return;
    if (!t.gave_up) t.problem = "an operation failed though nobody gave up";
    if (s.code != errc::cancelled && s.code != errc::peer_aborted && s.code != errc::group_poisoned &&
        s.code != errc::peer_dead)
        t.problem = describe(s.code);
}

// One rank; turn() lets its operations go on for a while.
template <class Comm, class Turn>
void fly(Comm& comm, std::uint64_t seed, tally& t, Turn&& turn) {
    std::uint64_t dice = mixed(seed * 64 + comm.rank() + 1);
    const auto roll = [&](std::uint64_t below) { return (dice = mixed(dice + 1)) % below; };
    const std::uint64_t violence = seed % 3 == 0 ? 0 : 8;
    const std::size_t most = 1 + mixed(seed) % 4;
    std::vector<std::unique_ptr<flight>> all;
    const auto last = clock_type::now() + std::chrono::seconds(20);
    for (;;) {
        if (all.size() != most && roll(2) == 0) {
            const std::uint64_t what = mixed(seed * 8 + all.size());
            auto f = std::make_unique<flight>();
            f->x.assign(static_cast<std::size_t>(what % 5 == 0 ? 3'000 : 1 + what % 40), what % 1000);
            f->op = start_allreduce(comm, f->x, plus{});
            all.push_back(std::move(f));
        }
        if (!all.empty() && roll(100) < violence) {
            std::unique_ptr<flight>& f = all[static_cast<std::size_t>(roll(all.size()))];
            if (f && !f->op.done()) {
                t.gave_up = true;
                if (roll(2) == 0)
                    f->op.cancel();
                else
                    f.reset(); // and its data
            }
        }
        turn();
        if (all.size() == most && std::all_of(all.begin(), all.end(), [](const auto& f) { return !f || f->op.done(); }))
            break;
        if (clock_type::now() > last) {
            t.problem = "an operation never ends";
            break;
        }
    }
    for (std::size_t i = 0; i != most && t.problem == nullptr; ++i)
        if (all[i]) look(*all[i], comm.size(), mixed(seed * 8 + i) % 1000, t);
}

template <class F>
void campaign(F&& rank) {
    int good = 0, bad = 0;
    for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
        if (!bough_test::sampled(seed, 100)) continue;
        tally t;
        in_process{static_cast<rank_t>(2 + seed % 2)}.run([&](auto transport) { rank(std::move(transport), seed, t); });
        CAPTURE(seed);
        REQUIRE(std::string(t.problem == nullptr ? "" : t.problem.load()) == "");
        good += t.good;
        bad += t.bad;
    }
    CHECK(good > 50); // both happen, often
    CHECK(bad > 10);
}
const communicator_options patient{.timeout_ns = 20'000'000'000};

} // namespace

TEST_CASE("event_progress: random starts, cancellations and destructions") {
    campaign([](auto transport, std::uint64_t seed, tally& t) {
        communicator comm{std::move(transport), patient};
        event_progress events{comm};
        fly(comm, seed, t, [&] {
            pollfd of{events.descriptor(), POLLIN, 0};
            const int most_ms = events.prepare();
            ::poll(&of, 1, most_ms < 0 ? 0 : std::min(most_ms, 1)); // a rank may have something else to do
            events.progress();
        });
    });
}
TEST_CASE("progress_thread: random starts, cancellations and destructions") {
    campaign([](auto transport, std::uint64_t seed, tally& t) {
        communicator comm{serialised{std::move(transport)}, patient};
        progress_thread helper;
        helper.look_after(comm);
        fly(comm, seed, t, [] { std::this_thread::sleep_for(std::chrono::microseconds(10)); });
    });
}
#if defined(__linux__)
TEST_CASE("signal_progress: random starts, cancellations and destructions") {
    campaign([](auto transport, std::uint64_t seed, tally& t) {
        communicator comm{std::move(transport), patient};
        signal_progress bypass{comm};
        fly(comm, seed, t, [&] {
            const auto here = bypass.interruptible();
            volatile double x = 1;
            for (int i = 0; i != 3'000; ++i) x = x * 1.0000001;
        });
    });
}
TEST_CASE(
    "signal_progress: where there is no descriptor after all, the time raises signals, while something is in flight") {
    testing::loop_group group{2};
    auto ends = group.connect_all();
    communicator other{std::move(ends[1])};
    communicator comm{testing::descriptor_archetype{std::move(ends[0])}};
    signal_progress bypass{comm};
    std::vector<int> x(3, 1), y(3, 2);
    operation mine = start_allreduce(comm, x, plus{});
    const auto last = clock_type::now() + std::chrono::seconds(20);
    {
        const auto here = bypass.interruptible();
        while (bypass.served() == 0 && clock_type::now() < last) {
        }
    }
    CHECK(bypass.served() >= 1);
    operation theirs = start_allreduce(other, y, plus{});
    while ((!mine.done() || !theirs.done()) && clock_type::now() < last) {
        other.progress();
        const auto here = bypass.interruptible();
    }
    CHECK(mine.done());
    theirs.wait();
    CHECK(x[2] == 3);
}
#endif
