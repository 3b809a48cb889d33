// SPDX-License-Identifier: BSL-1.0
// What ranks do when there is no memory, and what a fork leaves of theirs.
#include "fabric/ranks.hpp"
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include "support/forked_group.hpp"
#include "support/poor_rank.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace bough;
using namespace test_fabric;

TEST_CASE("fabric: a long message that there is no memory for is not announced, nor asked for") {
    for (fabric_options options : offered_here()) {
        if (options.provider == "shm") continue; // one process
        options.window = 64;
        auto ends = ends_of(2, options);
        std::vector<std::byte> bytes(100'000, std::byte{8}), into(bytes.size());
        // With one more allocation each time.
        const auto persist = [](const auto& post) {
            std::optional<posted> result;
            for (long k = 0; !result && k != 100; ++k) {
                bough_test::until_failure = k;
                try {
                    result = post();
                } catch (const std::bad_alloc&) {
                }
                bough_test::until_failure = -1;
            }
            return result;
        };
        for (std::uint64_t round = 0; round != 20; ++round) { // the lists of transfers grow
            const auto sent = persist([&] { return ends[1].post_send(0, {.operation = 4}, bytes, round); });
            REQUIRE(sent == posted::pending);
        }
        const auto arrived = await_all(ends, 0, 20);
        CHECK(arrived.size() == 20); // none of those that failed
        for (const event& e : arrived) CHECK(persist([&] { return ends[0].take(e.id, into, 9); }) == posted::pending);
        std::size_t taken = 0;
        for (const std::uint64_t last = ends[0].now_ns() + 20'000'000'000; taken != 20 && ends[0].now_ns() < last;)
            for (const event& e : poll_all(ends, 0)) taken += e.what == event::kind::complete && e.code == errc::ok;
        CHECK(taken == 20);
        CHECK(into == bytes);
    }
}

TEST_CASE("fabric: a rank that leaves without memory to say so leaves") {
    for (const fabric_options& options : offered_here()) {
        const launch_report report = launch(2, [&](job world) {
            std::optional<fabric> link(std::in_place, world, options);
            if (link->rank() == 0) bough_test::until_failure = 0, bough_test::fail_for_good = true;
            link.reset(); // each hears the other's last words
            return 0;
        });
        CAPTURE(options.provider, describe(report));
        CHECK(report.ok());
    }
}

TEST_CASE("fabric_regions: a rank that leaves without memory to hear what became of its puts leaves") {
    for (const fabric_options& options : offered_here()) {
        const launch_report report = launch(2, [&](job world) {
            const std::vector<std::byte> bytes(100'000, std::byte{8});
            std::optional<fabric_regions> end(std::in_place, world,
                                              fabric_regions_options{.region_bytes = 1u << 17, .device = options});
            if (end->rank() == 1) { // stays until then: to one that has left at once nothing is put
                bool seen = false;
                const std::uint64_t last = end->now_ns() + 20'000'000'000;
                for (event e; !seen && end->now_ns() < last; seen |= end->landed(0) != 0)
                    seen = end->poll(std::span(&e, 1)) == 1 && e.what == event::kind::lost;
                return seen ? 0 : 2;
            }
            if (end->put(1, 0, bytes, {}, 1) != posted::pending) return 1;
            bough_test::until_failure = 0, bough_test::fail_for_good = true;
            end.reset();
            return 0;
        });
        CAPTURE(options.provider, describe(report));
        CHECK(report.ok());
    }
}

namespace {

// Over each provider. join(options, wire, status) -> std::optional<End>.
template <class End, class Join>
void check_poor_rank(const Join& join) {
    for (fabric_options options : offered_here()) {
        if (options.provider == "shm") continue; // one process
        options.timeout_ns = 300'000'000'000;    // longer than a test may take
        CAPTURE(options.provider);
        const auto joins = [&](auto& wire, status& why) { return join(options, wire, why); };
        bough_test::check_poor_rank_is_told<End>(joins);
    }
}

} // namespace

TEST_CASE("fabric: a rank that has no memory to join says so, and nobody waits for it") {
    check_poor_rank<fabric>(
        [](const fabric_options& options, auto& wire, status& why) { return fabric::join(wire, options, why); });
}

TEST_CASE("fabric_regions: a rank that has no memory to join says so, and nobody waits for it") {
    check_poor_rank<fabric_regions>([](const fabric_options& device, auto& wire, status& why) {
        return fabric_regions::join(wire, {.region_bytes = 5000, .device = device}, why);
    });
}

TEST_CASE("fabric: after a fork the child has no group, and its parent keeps its own") {
    for (fabric_options options : offered_here()) {
        if (options.provider == "shm") continue;                    // one process
        options.register_all = options.provider.starts_with("tcp"); // registrations are the parent's too
        options.window = 2;                                         // each message that is used up is told of at once
        auto ends = ends_of(2, options);
        bough_test::check_forked_group(ends, 100'000);
        CHECK(ends[1].strangers() == 0);
    }
}

TEST_CASE("fabric_regions: after a fork the child leaves alone what was registered, and its parent keeps its group") {
    for (const fabric_options& device : offered_here()) {
        if (device.provider == "shm") continue; // one process
        auto ends = regions_of(std::vector(2, fabric_regions_options{.region_bytes = 1u << 20, .device = device}));
        std::vector<std::byte> bytes(300'000);
        for (std::size_t i = 0; i != bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 251);
        const std::span<const std::byte> all(bytes);
        REQUIRE(ends[0].put(1, 5, all.first(1000), all.subspan(1000), 1) == posted::complete); // a copy is under way
        const pid_t child = ::fork();
        if (child == 0) {
            event e;
            const bool good = ends[0].forked() && ends[0].put(1, 0, all, {}, 2) == posted::failed &&
                              ends[0].flush(1, 3) == posted::failed && ends[0].poll(std::span(&e, 1)) == 0;
            const std::ptrdiff_t held = bough_test::held_bytes;
            ends.clear();
            const std::ptrdiff_t freed = held - bough_test::held_bytes; // regions, buffers and the copy are longer
            ::_exit(!good ? 1 : freed > 100'000 ? 2 : freed == 0 ? 3 : 0);
        }
        int state = -1;
        REQUIRE(::waitpid(child, &state, 0) == child);
        REQUIRE(WIFEXITED(state));
        CHECK(WEXITSTATUS(state) == 0);
        const std::byte* there = ends[1].region().data() + 5;
        for (const std::uint64_t last = ends[0].now_ns() + 20'000'000'000;
             !std::equal(all.begin(), all.end(), there) && ends[0].now_ns() < last;)
            (void)poll_all(ends, 0);
        CHECK(std::equal(all.begin(), all.end(), there));
    }
}
