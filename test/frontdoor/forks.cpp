// SPDX-License-Identifier: BSL-1.0
// A program whose ranks are threads forks amid their operations: the child has one thread, of a
// rank whose calls all end at once; the parent's ranks go on.
#include "support/catch.hpp"
#include "support/child_of_fork.hpp"
#include <bough/progress/thread.hpp>
#include <bough/remote/in_process.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/one_sided.hpp>
#include <bough/transport/serialised.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using bough_test::deeds;
using bough_test::in_flight;
using bough_test::says_forked_child;

namespace {

constexpr rank_t ranks = 3;
constexpr std::uint64_t timeout_ns = 60'000'000'000;

// connect(rank) -> a transport; f(in_flight, count, let_go, wait) is a rank's part, and counts what
// is wrong.
template <class Connect, class F>
int run_ranks(std::size_t count, const Connect& connect, const F& f) {
    std::atomic<bool> gone{false};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (rank_t r = 0; r != ranks; ++r)
        threads.emplace_back([&, r] {
            in_flight mine{std::optional(communicator{connect(r), {.timeout_ns = timeout_ns}})};
            wrong += f(
                mine, count, [&] { gone = true; },
                [&] {
                    while (!gone) std::this_thread::sleep_for(std::chrono::microseconds(100));
                });
        });
    for (std::thread& t : threads) t.join();
    return wrong;
}

constexpr auto alone = [](auto& mine, std::size_t count, const auto& let_go, const auto& wait) {
    return bough_test::wrong_beside_children(mine, count, let_go, wait);
};

} // namespace

TEST_CASE("forks: in the child of a program of thread ranks every operation in flight ends at once") {
    for (const std::size_t count : {std::size_t{1}, std::size_t{300'000}}) {
        CAPTURE(count);
        in_process world(ranks);
        CHECK(run_ranks(
                  count, [&](rank_t r) { return world.connect(r); }, alone) == 0);
        in_process_regions regions(ranks, {.region_bytes = one_sided_bytes(ranks)});
        CHECK(run_ranks(
                  count, [&](rank_t r) { return one_sided(regions.connect(r)); }, alone) == 0);
        in_process locked(ranks);
        CHECK(run_ranks(
                  count, [&](rank_t r) { return serialised(locked.connect(r)); }, alone) == 0);
    }
}
TEST_CASE("forks: the child waits for no lock that another thread held, and destroys nothing that was being changed") {
    in_process world(ranks);
    const auto one = [](auto& mine, std::size_t count, const auto& let_go, const auto& wait) {
        const auto& shared = mine.comm->shared_session();
        std::atomic<bool> held{false}, over{false};
        std::thread holder;
        const auto begin = [&] {
            return deeds{{"with its session's lock held", [&] {
                              const status s = shared->poison();
                              return bough_test::is_forked_child(s) && says_forked_child(*mine.op);
                          }}};
        };
        // Holds the lock in every fork of the last rank.
        if (mine.comm->rank() + 1 == ranks)
            holder = std::thread([&] {
                while (!over) {
                    if (mine.comm->shared_session()->outstanding() == 2)
                        shared->with_lock([&] {
                            held = true;
                            std::this_thread::sleep_for(std::chrono::milliseconds(2));
                        });
                    std::this_thread::yield();
                }
            });
        const int wrong = bough_test::wrong_beside_children(
            mine, count, [&] { over = true, let_go(); }, wait, begin());
        if (holder.joinable()) holder.join();
        return wrong + (mine.comm->rank() + 1 == ranks && !held ? 1 : 0);
    };
    CHECK(run_ranks(
              1000, [&](rank_t r) { return serialised(world.connect(r)); }, one) == 0);
}
TEST_CASE("forks: a helper's child leaves it alone") {
    const auto one = [](auto& mine, std::size_t count, const auto& let_go, const auto& wait) {
        std::optional<progress_thread> helper(std::in_place);
        helper->look_after(*mine.comm);
        const deeds also{{"leave", [&] { return helper->leave(*mine.comm), says_forked_child(*mine.op); }},
                         {"destroy the helper", [&] { return helper.reset(), says_forked_child(*mine.op); }}};
        return bough_test::wrong_beside_children(mine, count, let_go, wait, also);
    };
    for (const std::size_t count : {std::size_t{1}, std::size_t{300'000}}) {
        in_process world(ranks);
        CHECK(run_ranks(
                  count, [&](rank_t r) { return serialised(world.connect(r)); }, one) == 0);
    }
}
TEST_CASE("forks: a helper that sleeps, for nothing is in flight, is not waited for by the child") {
    in_process world(1);
    std::optional comm{communicator{serialised(world.connect(0))}};
    std::optional<progress_thread> helper(std::in_place);
    helper->look_after(*comm);
    for (int trial = 0; trial != 10; ++trial) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1)); // asleep, as a rule
        CHECK(bough_test::holds_in_child("destroy a helper that sleeps", [&] { return helper.reset(), true; }));
        CHECK(bough_test::holds_in_child("and its communicator", [&] { return comm.reset(), helper.reset(), true; }));
    }
}
