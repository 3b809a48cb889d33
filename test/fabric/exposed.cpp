// SPDX-License-Identifier: BSL-1.0
// Memory that a rank exposes through libfabric: what a writer leaves behind when it is killed amid its puts.
#include "fabric/ranks.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/transport/fabric/regions.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <unistd.h>
#include <vector>

using namespace bough;
using namespace test_fabric;

static_assert(ExposingRemoteWrites<fabric_regions> && CountedRemoteWrites<fabric_regions>);

namespace {

struct told { // in a region
    exposure at{};
    std::uint64_t process = 0;
};

// Rank 1 puts without an end; rank 0 says where, kills it after some polls, and looks whether anything comes later.
int kill_amid_puts(job& world, const fabric_options& device, std::uint64_t seed) {
    fabric_regions end{world, {.region_bytes = 4096, .device = device}};
    std::vector<std::byte> memory(1 << 20);
    std::array<event, 4> events;
    bool lost = false;
    const auto poll = [&] {
        const std::size_t n = end.poll(events);
        for (std::size_t i = 0; i != n; ++i) lost |= events[i].what == event::kind::lost;
    };
    const std::uint64_t last = end.now_ns() + 20'000'000'000;
    const auto tell = [&](rank_t to, const told& what) {
        while (end.put(to, 0, std::as_bytes(std::span(&what, 1)), {}, 1) == posted::would_block && end.now_ns() < last)
            poll();
    };
    const auto hear = [&](auto&& enough) {
        told t;
        do {
            poll();
            std::memcpy(&t, end.region().data(), sizeof t);
        } while (!enough(t) && !lost && end.now_ns() < last);
        return t;
    };
    if (end.rank() == 1) {
        tell(0, told{.process = static_cast<std::uint64_t>(::getpid())});
        const exposure at = hear([](const told& t) { return t.at.key != 0; }).at;
        while (!lost && end.now_ns() < last) {
            (void)end.put_exposed(0, at, memory, 2);
            poll();
        }
        return 1; // it has not been killed
    }
    const std::uint64_t victim = hear([](const told& t) { return t.process != 0; }).process;
    if (victim == 0) return 2;
    const exposure at = end.expose(memory);
    if (!at) return 3;
    tell(1, told{.at = at});
    while (end.landed(1) < 3 && end.now_ns() < last) poll();
    for (std::uint64_t k = 0; k != bough_test::mixed(seed) % 200; ++k) poll();
    ::kill(static_cast<pid_t>(victim), SIGKILL);
    while (!lost && end.now_ns() < last) poll();
    if (!lost) return 4;
    end.conceal(at);
    std::fill(memory.begin(), memory.end(), std::byte{0x77});
    for (const std::uint64_t until = end.now_ns() + 30'000'000; end.now_ns() < until;) poll();
    return std::all_of(memory.begin(), memory.end(), [](std::byte b) { return b == std::byte{0x77}; }) ? 0 : 5;
}

} // namespace

TEST_CASE("fabric_regions: into memory that was exposed to a rank nothing comes when its loss has been told") {
    for (fabric_options device : offered_here()) {
        // The lock of a memory that processes share may be held by the one that is killed; then libfabric waits for it for ever.
        if (device.provider != "tcp;ofi_rxm") continue;
        for (std::uint64_t seed = 0; seed != (bough_test::all() ? 60 : 8); ++seed) {
            device.linger_ns = 0;
            const launch_report report = launch(2, [&](job world) { return kill_amid_puts(world, device, seed); });
            CAPTURE(device.provider, seed, describe(report));
            REQUIRE(report.ranks.size() == 2);
            CHECK(report.ranks[0].code == 0);
        }
    }
}
