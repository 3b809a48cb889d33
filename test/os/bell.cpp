// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/os/bell.hpp>

#include <atomic>
#include <cstdint>
#include <poll.h>
#include <thread>

using bough::detail::bell;

namespace {

// Does the bell ring within this time? Negative: waits for ever.
bool rings(bell& b, int timeout_ms = 0) {
    pollfd one{};
    one.fd = b.descriptor();
    one.events = POLLIN;
    return ::poll(&one, 1, timeout_ms) == 1;
}
constexpr auto no_news = [] { return false; };

// Systems other than Linux have no bell.
bool has_bell() {
    bell b;
    if (b.descriptor() < 0) CHECK_FALSE(b.arm(no_news));
    return b.descriptor() >= 0;
}

} // namespace

TEST_CASE("bell: it rings while it is armed, and is silent again when it is disarmed") {
    if (!has_bell()) return;
    bell b;
    const int descriptor = b.descriptor();
    b.ring();
    CHECK_FALSE(rings(b)); // it was not armed
    for (int i = 0; i != 3; ++i) {
        REQUIRE(b.arm(no_news));
        CHECK_FALSE(rings(b));
        b.ring();
        b.ring();
        CHECK(rings(b));
        b.disarm();
        CHECK_FALSE(rings(b));
        b.ring();
        CHECK_FALSE(rings(b));
    }
    CHECK(b.descriptor() == descriptor);
}

TEST_CASE("bell: an owner that finds news at the last look does not sleep") {
    if (!has_bell()) return;
    bell b;
    REQUIRE(b.descriptor() >= 0);
    CHECK_FALSE(b.arm([] { return true; }));
    b.ring();
    CHECK_FALSE(rings(b));
}

// Each side has a barrier between its write and its look at the other's: news that the owner does not see are rung for. If one
// were missed, the owner would sleep for the whole time.
TEST_CASE("bell: no news are missed, however arming and ringing meet") {
    if (!has_bell()) return;
    constexpr std::uint32_t last = 20'000;
    bell b;
    REQUIRE(b.descriptor() >= 0); // before it is armed
    std::atomic<std::uint32_t> news{0}, seen{0};
    std::thread other([&] {
        for (std::uint32_t n = 1; n <= last; ++n) {
            news.store(n, std::memory_order_relaxed);
            b.ring();
            while (seen.load() != n) std::this_thread::yield();
        }
    });
    std::uint32_t missed = 0;
    for (std::uint32_t n = 1; n <= last; ++n) {
        while (news.load() < n) {
            if (!b.arm([&] { return news.load() >= n; })) break;
            missed += !rings(b, 10'000);
            b.disarm();
        }
        seen.store(n);
    }
    other.join();
    CHECK(missed == 0);
}
