// SPDX-License-Identifier: BSL-1.0
// A rank whose memory runs out around an agreement: what the others have told it is there when it has
// memory again, so nobody takes a rank for dead that is alive.
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/error.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/testing/thread_wire_up.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/shared_memory.hpp>
#include <bough/transport/tcp.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using namespace std::chrono_literals;
using bough_test::fail_for_good, bough_test::until_failure;

namespace {

constexpr std::uint64_t patience_ns = 4'000'000'000;

// f(transport) in three threads, over each transport.
template <class F>
void over(const char* transport, const F& f) {
    CAPTURE(transport);
    const auto joined = [&](const auto& join) {
        testing::thread_wire_up world{3};
        std::vector<std::thread> threads;
        for (rank_t r = 0; r != 3; ++r)
            threads.emplace_back([&, r] {
                auto wire = world.of(r);
                f(join(wire));
            });
        for (std::thread& t : threads) t.join();
    };
    switch (transport[0]) {
    case 'i': return in_process{3}.run(f);
    case 's': return joined([](auto& wire) { return shared_memory{wire}; });
    default: return joined([](auto& wire) { return tcp{wire}; });
    }
}
constexpr const char* transports[]{"in_process", "shared_memory", "tcp"};

// Polls for a while: what the others have sent has come then.
template <class Comm>
void poll_a_little(Comm& comm) {
    const auto last = std::chrono::steady_clock::now() + 10ms;
    while (std::chrono::steady_clock::now() < last) comm.progress();
}

// This rank has memory for n more allocations, while f() runs. True: it was enough.
template <class F>
bool with_little_memory(long n, bool is_for_good, const F& f) {
    fail_for_good = is_for_good;
    until_failure = n;
    f();
    const bool was_enough = until_failure > 0 || (until_failure == 0 && !is_for_good);
    until_failure = -1;
    fail_for_good = false;
    return was_enough;
}

// All agree, and shrink to a group of all of them, which works.
template <class Comm>
int all_are_there(Comm& comm) {
    int wrong = 0;
    status s;
    // They differ, so it takes a second round: a rank that has lost what another one said would not come
    // to it.
    const auto word = agree(comm, comm.rank() == 1 ? 6 : 3, s);
    wrong += bool(s) || word != 2u;
    auto rest = shrink(comm, s);
    wrong += bool(s) || !rest || rest->size() != comm.size();
    if (rest) {
        int x = 1;
        allreduce(*rest, std::span(&x, 1), plus{}, s);
        wrong += bool(s) || x != static_cast<int>(comm.size());
    }
    return wrong;
}

} // namespace

TEST_CASE("agree without memory: messages that come when there is none are there later") {
    for (const char* const transport : transports)
        for (const bool is_for_good : {false, true}) {
            bool was_enough = false;
            for (long n = 0; !was_enough && n != 50; ++n) {
                std::atomic<int> wrong{0}, ready{0};
                over(transport, [&](auto link) {
                    communicator comm{std::move(link), {.timeout_ns = patience_ns}};
                    barrier(comm);
                    ++ready;
                    if (comm.rank() == 1) {
                        while (ready != 3) std::this_thread::yield();
                        std::this_thread::sleep_for(1ms); // the others agree
                        was_enough = with_little_memory(n, is_for_good, [&] { poll_a_little(comm); });
                    }
                    wrong += all_are_there(comm);
                });
                CAPTURE(transport, n, is_for_good);
                REQUIRE(wrong == 0);
            }
            CHECK(was_enough);
        }
}

TEST_CASE("agree without memory: an agreement that has no memory has not begun, or goes on") {
    for (const char* const transport : transports) {
        bool was_enough = false;
        int failures = 0;
        for (long n = 0; !was_enough && n != 200; ++n) {
            std::atomic<int> wrong{0}, ready{0};
            over(transport, [&](auto link) {
                communicator comm{std::move(link), {.timeout_ns = patience_ns}};
                barrier(comm);
                ++ready;
                status s;
                std::optional<std::uint64_t> word;
                if (comm.rank() == 1) {
                    while (ready != 3) std::this_thread::yield(); // a lack of memory breaks no barrier
                    was_enough = with_little_memory(n, false, [&] { word = agree(comm, 3, s); });
                    failures += bool(s);
                    wrong += s && s.code != errc::no_resources;
                    if (s) word = agree(comm, 3, s);
                } else {
                    word = agree(comm, 7, s);
                }
                wrong += bool(s) || word != 3u;
                wrong += all_are_there(comm);
            });
            CAPTURE(transport, n);
            REQUIRE(wrong == 0);
        }
        CHECK(was_enough);
        CHECK(failures > 3);
    }
}

TEST_CASE("agree without memory: a member that ends its calls when there is none is not waited for") {
    for (const char* const transport : transports)
        for (const bool is_for_good : {false, true}) {
            bool was_enough = false;
            for (long n = 0; !was_enough && n != 50; ++n) {
                std::atomic<int> wrong{0}, ready{0};
                std::atomic<bool> has_ended{false};
                over(transport, [&](auto link) {
                    communicator comm{std::move(link), {.timeout_ns = patience_ns}};
                    auto other = std::optional(duplicate(comm));
                    barrier(comm);
                    ++ready;
                    status s;
                    if (comm.rank() == 0) {
                        other.reset();
                        has_ended = true;
                    } else {
                        if (comm.rank() == 1) {
                            while (!has_ended || ready != 3) std::this_thread::yield();
                            was_enough = with_little_memory(n, is_for_good, [&] { poll_a_little(comm); });
                        }
                        const auto from = std::chrono::steady_clock::now();
                        const auto word = agree(*other, 5, s);
                        wrong += bool(s) || word != 5u;
                        wrong += std::chrono::steady_clock::now() - from > 2s; // not until the deadline
                    }
                    wrong += all_are_there(comm);
                });
                CAPTURE(transport, n, is_for_good);
                REQUIRE(wrong == 0);
            }
            CHECK(was_enough);
        }
}
