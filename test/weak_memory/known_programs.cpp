// SPDX-License-Identifier: BSL-1.0
// The explorer itself: programs of which it is known what C++ allows, and faults that it must find.
#include "support/catch.hpp"
#include "weak_memory/explore.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <memory>
#include <set>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;
using weak_memory::demand;
using weak_memory::explore;

// Threads that share three words, and what each of them has read.
struct words : weak_memory::program {
    std::atomic<std::uint32_t> x{0}, y{0}, z{0};
    std::uint32_t plain = 0;
    std::array<std::uint32_t, 4> read{};
    std::vector<std::function<void(words&)>> bodies;
    std::set<std::array<std::uint32_t, 4>>* results = nullptr;

    unsigned threads() const override { return static_cast<unsigned>(bodies.size()); }
    void run(unsigned t) override { bodies[t](*this); }
    void check() override {
        if (results != nullptr) results->insert(read);
    }
};

struct found {
    weak_memory::report report;
    std::set<std::array<std::uint32_t, 4>> results;
    bool has(const std::array<std::uint32_t, 4>& r) const { return results.count(r) != 0; }
};
found try_all(std::vector<std::function<void(words&)>> bodies, const weak_memory::limits& within = {3, 2}) {
    found all;
    all.report = explore(
        [&] {
            auto made = std::make_unique<words>();
            made->bodies = bodies;
            made->results = &all.results;
            return made;
        },
        within);
    return all;
}
bool has_fault(const found& f, const char* words) { return f.report.fault.find(words) != std::string::npos; }

TEST_CASE("store buffering: both threads may read the old values, unless the order is sequential", "[weak_memory]") {
    const auto with = [](std::memory_order put, std::memory_order get) {
        return try_all({[=](words& w) { w.x.store(1, put), w.read[0] = w.y.load(get); },
                        [=](words& w) { w.y.store(1, put), w.read[1] = w.x.load(get); }});
    };
    CHECK(with(memory_order_release, memory_order_acquire).has({0, 0}));
    const found sequential = with(memory_order_seq_cst, memory_order_seq_cst);
    CHECK_FALSE(sequential.has({0, 0}));
    CHECK(sequential.has({1, 0}));
    CHECK(sequential.has({0, 1}));
    CHECK(sequential.has({1, 1}));
    CHECK(sequential.report.complete);
    const auto fenced = [](bool both) {
        return try_all({[](words& w) {
                            w.x.store(1, memory_order_relaxed);
                            std::atomic_thread_fence(memory_order_seq_cst);
                            w.read[0] = w.y.load(memory_order_relaxed);
                        },
                        [=](words& w) {
                            w.y.store(1, memory_order_relaxed);
                            if (both) std::atomic_thread_fence(memory_order_seq_cst);
                            w.read[1] = w.x.load(memory_order_relaxed);
                        }});
    };
    CHECK_FALSE(fenced(true).has({0, 0}));
    CHECK(fenced(false).has({0, 0}));
    // One thread with operations, the other one with a fence.
    CHECK_FALSE(try_all({[](words& w) { w.x.store(1), w.read[0] = w.y.load(); },
                         [](words& w) {
                             w.y.store(1, memory_order_relaxed);
                             std::atomic_thread_fence(memory_order_seq_cst);
                             w.read[1] = w.x.load(memory_order_relaxed);
                         }})
                    .has({0, 0}));
}

TEST_CASE("message passing: data before a flag need release and acquire", "[weak_memory]") {
    const auto with = [](std::memory_order put, std::memory_order get) {
        return try_all({[=](words& w) { w.plain = 7, w.x.store(1, put); },
                        [=](words& w) {
                            while (w.x.load(get) == 0) weak_memory::idle();
                            demand(w.plain == 7, "the data are not there");
                        }});
    };
    CHECK(with(memory_order_release, memory_order_acquire).report.fault.empty());
    CHECK(has_fault(with(memory_order_relaxed, memory_order_acquire), "without order"));
    CHECK(has_fault(with(memory_order_release, memory_order_relaxed), "without order"));
    // The data in a word of its own: no race, but an old value.
    const found old = try_all({[](words& w) { w.y.store(7, memory_order_relaxed), w.x.store(1, memory_order_relaxed); },
                               [](words& w) {
                                   w.read[0] = w.x.load(memory_order_acquire);
                                   w.read[1] = w.y.load(memory_order_relaxed);
                               }});
    CHECK(old.has({1, 0}));
    CHECK(old.has({1, 7}));
}

TEST_CASE("a release goes on through the read-modify-writes of others, and through fences", "[weak_memory]") {
    const auto with = [](std::memory_order put) {
        return try_all({[=](words& w) { w.plain = 7, w.x.store(1, put); },
                        [](words& w) {
                            std::uint32_t one = 1;
                            w.x.compare_exchange_strong(one, 2, memory_order_relaxed);
                        },
                        [](words& w) {
                            if (w.x.load(memory_order_acquire) == 2) demand(w.plain == 7, "the data are not there");
                        }});
    };
    CHECK(with(memory_order_release).report.fault.empty());
    CHECK(has_fault(with(memory_order_relaxed), "without order"));
    const auto fenced = [](std::memory_order before, std::memory_order after) {
        return try_all({[=](words& w) {
                            w.plain = 7;
                            std::atomic_thread_fence(before);
                            w.x.store(1, memory_order_relaxed);
                        },
                        [=](words& w) {
                            if (w.x.load(memory_order_relaxed) != 1) return;
                            std::atomic_thread_fence(after);
                            demand(w.plain == 7, "the data are not there");
                        }});
    };
    CHECK(fenced(memory_order_release, memory_order_acquire).report.fault.empty());
    CHECK(has_fault(fenced(memory_order_acquire, memory_order_acquire), "without order"));
    CHECK(has_fault(fenced(memory_order_release, memory_order_release), "without order"));
}

TEST_CASE("two readers may see two writers in two orders, unless the order is sequential", "[weak_memory]") {
    const auto with = [](std::memory_order put, std::memory_order get) {
        return try_all({[=](words& w) { w.x.store(1, put); }, [=](words& w) { w.y.store(1, put); },
                        [=](words& w) { w.read[0] = w.x.load(get), w.read[1] = w.y.load(get); },
                        [=](words& w) { w.read[2] = w.y.load(get), w.read[3] = w.x.load(get); }});
    };
    CHECK(with(memory_order_release, memory_order_acquire).has({1, 0, 1, 0}));
    CHECK_FALSE(with(memory_order_seq_cst, memory_order_seq_cst).has({1, 0, 1, 0}));
    CHECK_FALSE(with(memory_order_release, memory_order_seq_cst).has({1, 0, 1, 0}));
}

TEST_CASE("one place: a thread never reads an older store than before, and its own at least", "[weak_memory]") {
    const found all = try_all({[](words& w) {
                                   w.x.store(1, memory_order_relaxed);
                                   w.x.store(2, memory_order_relaxed);
                                   w.read[3] = w.x.load(memory_order_relaxed);
                               },
                               [](words& w) {
                                   for (int i : {0, 1, 2})
                                       w.read[static_cast<std::size_t>(i)] = w.x.load(memory_order_relaxed);
                               }});
    for (const auto& r : all.results) {
        CHECK((r[0] <= r[1] && r[1] <= r[2]));
        CHECK(r[3] == 2);
    }
    CHECK(all.has({0, 1, 2, 2}));
    CHECK(all.has({0, 0, 0, 2}));
}

TEST_CASE("a spin lock keeps two threads apart; without its order, or without the lock, they race", "[weak_memory]") {
    const auto with = [](std::memory_order take, std::memory_order give) {
        const auto body = [=](words& w) {
            std::uint32_t free = 0;
            while (!w.x.compare_exchange_strong(free, 1, take)) free = 0, weak_memory::idle();
            ++w.plain;
            w.x.store(0, give);
        };
        return try_all({body, body, body});
    };
    CHECK(with(memory_order_acquire, memory_order_release).report.fault.empty());
    CHECK(has_fault(with(memory_order_relaxed, memory_order_release), "without order"));
    CHECK(has_fault(with(memory_order_acquire, memory_order_relaxed), "without order"));
    const auto unlocked = [](words& w) { ++w.plain; };
    CHECK(has_fault(try_all({unlocked, unlocked}), "without order"));
}

TEST_CASE("who sleeps and is not woken is found", "[weak_memory]") {
    const auto with = [](bool has_barrier) {
        return try_all(
            {[](words& w) { // news, and then a look at whether somebody sleeps
                 w.x.store(1, memory_order_release);
                 if (w.y.load(memory_order_relaxed) != 0) {
                     w.y.store(0, memory_order_relaxed);
                     ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&w.y), FUTEX_WAKE, 1, nullptr, nullptr, 0);
                 }
             },
             [=](words& w) {
                 w.y.store(1, memory_order_seq_cst);
                 if (has_barrier) ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
                 if (w.x.load(memory_order_acquire) == 0)
                     ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&w.y), FUTEX_WAIT, 1, nullptr, nullptr, 0);
             }});
    };
    CHECK(with(true).report.fault.empty());
    CHECK(has_fault(with(false), "wait for ever: 1 (sleeps)"));
    CHECK(has_fault(try_all({[](words& w) {
                                 while (w.x.load(memory_order_acquire) == 0) weak_memory::idle();
                             },
                             [](words&) {}}),
                    "wait for ever: 0 (finds nothing)"));
}

TEST_CASE("an order that is weakened at one place is found there", "[weak_memory]") {
    const auto make = [] {
        auto made = std::make_unique<words>();
        made->bodies = {[](words& w) { w.plain = 7, w.x.store(1, memory_order_release); },
                        [](words& w) {
                            while (w.x.load(memory_order_acquire) == 0) weak_memory::idle();
                            demand(w.plain == 7, "the data are not there");
                        }};
        return made;
    };
    const weak_memory::report as_it_is = explore(make);
    CHECK(as_it_is.fault.empty());
    CHECK(as_it_is.ordered.size() >= 2); // the compiler may have made two loops of one
    for (const weak_memory::order_site& site : as_it_is.ordered)
        CHECK_FALSE(explore(make, {}, {site.at}).fault.empty());
}

} // namespace
