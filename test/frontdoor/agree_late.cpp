// SPDX-License-Identifier: BSL-1.0
// Survivors of a call in which a rank was stopped come to agree() and shrink() at different times: one that has its result
// at once, one that waits for the stopped rank when its time is up. Neither may take the other for dead.
#include "support/catch.hpp"
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/flat.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>
#include <utility>

using namespace bough;

namespace {

constexpr std::uint64_t timeout_ns = 1'000'000, step_ns = timeout_ns / 20;

// The time of all ranks. It goes on when each rank that waits has looked at it so often that it has seen what is late: so
// nothing depends on how fast the ranks are.
class stepped_clock {
public:
    std::uint64_t look(rank_t r) noexcept {
        const std::uint64_t now = now_ns_;
        looks_[r].fetch_add(1);
        return now;
    }
    std::uint64_t now_ns() const noexcept { return now_ns_; }
    void set_waiting(rank_t r, bool waits) noexcept { waits_[r] = waits; }
    bool waits(rank_t r) const noexcept { return waits_[r]; }
    void step() {
        for (rank_t r = 0; r != looks_.size(); ++r) {
            const std::uint64_t before = looks_[r];
            while (waits_[r] && looks_[r] - before < 50) std::this_thread::yield();
        }
        now_ns_ += step_ns;
    }

private:
    std::atomic<std::uint64_t> now_ns_{1'000'000'000};
    std::array<std::atomic<std::uint64_t>, 2> looks_{};
    std::array<std::atomic<bool>, 2> waits_{};
};

struct timed : forwarding_transport<in_process::endpoint> {
    timed(in_process::endpoint end, stepped_clock& c)
        : forwarding_transport<in_process::endpoint>(std::move(end)), clock(&c) {}
    std::uint64_t now_ns() const noexcept { return rank() < 2 ? clock->look(rank()) : clock->now_ns(); }
    void wait(std::uint32_t idle, std::uint64_t) {
        if (idle % 64 == 0) std::this_thread::yield();
    }
    stepped_clock* clock;
};

} // namespace

TEST_CASE("agree, shrink: a rank that comes when its call has ended by its deadline is not taken for dead",
          "[frontdoor]") {
    const bool shrinks = GENERATE(false, true);
    in_process world{3};
    const in_process::endpoint stopped = world.connect(2);
    stepped_clock clock;
    const std::uint64_t begin_ns = clock.now_ns();
    std::array<std::atomic<bool>, 2> over{};
    std::array<status, 2> of_reduce, of_end;
    std::array<std::optional<std::uint64_t>, 2> agreed;
    std::array<std::uint64_t, 2> came_ns{};
    std::array<rank_t, 2> survivors{};
    const auto run = [&](rank_t me) {
        communicator comm{timed{world.connect(me), clock}, {.timeout_ns = timeout_ns}};
        clock.set_waiting(me, true);
        int x = 1;
        reduce(comm, std::span(&x, 1), plus{}, root{1}, flat{}, of_reduce[me]);
        came_ns[me] = clock.now_ns() - begin_ns;
        if (shrinks) {
            if (const auto rest = shrink(comm, of_end[me])) survivors[me] = rest->size();
        } else {
            agreed[me] = agree(comm, 6 + me, of_end[me]);
        }
        clock.set_waiting(me, false);
        over[me] = true;
        while (!over[1 - me]) comm.progress(), std::this_thread::yield(); // it may leave when the other one has ended
    };
    std::thread leaf([&] { run(0); });
    while (!clock.waits(0)) std::this_thread::yield();
    for (int i = 0; i != 10; ++i) clock.step(); // the root begins half a timeout later
    std::thread waits_for_stopped([&] { run(1); });
    while (!clock.waits(1)) std::this_thread::yield();
    while (!over[0] || !over[1]) clock.step();
    leaf.join();
    waits_for_stopped.join();

    CHECK(of_reduce[0].code == errc::ok);
    CHECK(of_reduce[1].code == errc::deadline);
    CHECK(came_ns[0] < timeout_ns / 2);
    CHECK(came_ns[1] > came_ns[0] + timeout_ns); // so it is late by more than the timeout
    CHECK(came_ns[1] < 2 * timeout_ns);
    for (const rank_t r : {0u, 1u}) {
        CAPTURE(r, shrinks);
        CHECK(of_end[r].code == errc::ok);
        if (shrinks)
            CHECK(survivors[r] == 2);
        else
            CHECK(agreed[r] == 6);
    }
}
