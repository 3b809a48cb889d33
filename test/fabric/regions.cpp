// SPDX-License-Identifier: BSL-1.0
// Remote writes through libfabric: their rules, and messages and collectives made of them.
#include "fabric/ranks.hpp"
#include "support/catch.hpp"
#include "support/process_regions.hpp"
#include "support/sample.hpp"
#include <bough/concepts/explain_remote_write_transport.hpp>
#include <bough/testing/remote_write_conformance.hpp>
#include <bough/transport/fabric/regions.hpp>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace bough;
using namespace test_fabric;

static_assert(explain_remote_write_transport<fabric_regions>() && FlushableRemoteWrites<fabric_regions>);

namespace {

// What a put may be: copied, written from where it lies, put together; with all memory registered.
std::vector<fabric_regions_options> variants(const fabric_options& o) {
    std::vector<fabric_regions_options> all(3, {.region_bytes = 1u << 16, .device = o});
    all[1].device.eager_bytes = 100;
    all[2].device.eager_bytes = 64;
    all[2].device.register_all = true;
    return all;
}
// How a rank joins a group whose regions have so many bytes. Puts are copied, or, of every third seed, written from where
// they lie.
auto joining(fabric_options device, std::uint64_t seed) {
    device.linger_ns = 1'000'000'000;
    if (seed % 3 == 0) device.eager_bytes = 128;
    return [device](job& world, std::uint64_t bytes) {
        return fabric_regions{world, {.region_bytes = bytes, .device = device}};
    };
}

} // namespace

TEST_CASE("fabric_regions: keeps the rules of remote writes, its ends driven by one thread") {
    for (const fabric_options& provider : offered_here()) {
        if (provider.provider == "shm") continue; // its ends in one process use each other's memory when they are gone
        for (const fabric_regions_options& options : variants(provider)) {
            const auto fault = testing::check_remote_writes(
                [&](rank_t n) { return regions_of(std::vector(n, options)); },
                {.rounds = bough_test::all() ? 2'000u : 200u, .patience_polls = 2'000'000});
            CAPTURE(options.device.provider, options.device.eager_bytes, fault.sentence, fault.rank);
            CHECK(fault.rule == testing::remote_write_rule::none);
        }
    }
}

TEST_CASE("fabric_regions: messages over it keep the rules of a transport, between processes") {
    std::uint64_t seed = 10 * bough_test::seed();
    for (const fabric_options& provider : offered_here())
        for (int k = 0; k != 3; ++k, ++seed) {
            const rank_t ranks = seed % 2 == 0 ? 2 : 3;
            const testing::process_check how{.seed = seed,
                                             .messages = bough_test::all() ? 1000u : 60u,
                                             .cancellations = bough_test::all() ? 200u : 15u};
            const launch_report report = bough_test::region_messages(ranks, how, joining(provider, seed));
            CAPTURE(provider.provider, seed, describe(report));
            CHECK(report.ok());
        }
}

TEST_CASE("fabric_regions: collectives over it are folds, bit by bit, over every provider") {
    for (const fabric_options& provider : offered_here())
        for (const rank_t ranks : {1u, 2u, 3u, 5u, 8u}) {
            const std::size_t longest = bough_test::all() ? 300'000 : ranks % 2 == 0 ? 20'000 : 2'000; // or in pieces
            const launch_report report =
                bough_test::region_collectives(ranks, ranks, {0, 1, 7, 600, longest}, joining(provider, ranks));
            CAPTURE(provider.provider, ranks, describe(report));
            CHECK(report.ok());
        }
}

TEST_CASE("fabric_regions: a process that is killed is lost to those that wait for it") {
    for (const fabric_options& provider : offered_here()) {
        const launch_report report = bough_test::region_death(joining(provider, 0));
        CAPTURE(provider.provider, describe(report));
        REQUIRE(report.ranks.size() == 3);
        for (const rank_t r : {0u, 2u}) CHECK(report.ranks[r].ok());
    }
}

TEST_CASE("fabric_regions: who leaves does not wait for what was under way to the dead") {
    for (fabric_options device : offered_here())
        for (const std::size_t length : {2'000u, 400'000u}) { // copied; written from where it lies
            device.linger_ns = 100'000'000'000;               // longer than a test may take
            const launch_report report = launch(2, [&](job world) {
                std::optional<fabric_regions> end(std::in_place, world,
                                                  fabric_regions_options{.region_bytes = 1u << 20, .device = device});
                const auto poll_until = [&](const auto& holds) {
                    const std::uint64_t last = end->now_ns() + 20'000'000'000;
                    for (event e; !holds() && end->now_ns() < last;)
                        if (end->poll(std::span(&e, 1)) == 1 && e.what == event::kind::lost) return true;
                    return holds();
                };
                const auto never = [] { return false; };
                const std::uint64_t me = static_cast<std::uint64_t>(::getpid());
                const std::span<const std::byte> name = std::as_bytes(std::span(&me, 1));
                if (end->rank() == 1) { // says who is to be killed, and does not poll any more
                    if (end->put(0, 0, name, {}, 1) != posted::complete) return 1;
                    poll_until([&] { return end->flush(0, 2) == posted::complete; });
                    for (;;) ::pause();
                }
                std::uint64_t victim = 0;
                poll_until([&] { return std::memcpy(&victim, end->region().data(), sizeof victim), victim != 0; });
                const std::vector<std::byte> bytes(length);
                for (int refused = 0; refused != 200;) // until nothing goes on
                    if (const posted p = end->put(1, 0, bytes, {}, 3); p == posted::would_block) {
                        event e;
                        if (end->poll(std::span(&e, 1)) == 0) ++refused;
                    }
                ::kill(static_cast<pid_t>(victim), SIGKILL);
                if (!poll_until(never)) return 2;
                const std::uint64_t begin = end->now_ns();
                end.reset();
                return detail::steady_now_ns() - begin < 50'000'000'000 ? 0 : 3;
            });
            CAPTURE(device.provider, length, describe(report));
            CHECK(report.ranks[0].code == 0);
        }
}

TEST_CASE("fabric_regions: a rank that dies while the others join is named, long before the time for joining is over") {
    check_death_while_joining([](const fabric_options& device, auto& wire, status& why) {
        return fabric_regions::join(wire, {.region_bytes = 4096, .device = device}, why).has_value();
    });
}

namespace {

struct faulty_regions : basic_fabric_regions<faulty_device> {
    using basic_fabric_regions::join_regions;
};

} // namespace

TEST_CASE("fabric_regions: what goes wrong on one rank that joins is told to all, and nobody waits for it") {
    check_faults_are_told<detail::fabric_region_end<faulty_device>>(
        "region_bytes: so much memory may not be registered",
        [](const fabric_options& device, auto& wire, status& why) {
            return faulty_regions::join_regions(wire, device, 4096, why);
        });
}

TEST_CASE("fabric_regions: joining says what does not fit, on every rank") {
    for (fabric_options device : offered_here()) {
        if (device.provider == "shm") continue; // one process
        device.timeout_ns = 300'000'000'000;    // longer than a test may take
        const std::vector<fabric_regions_options> three(3, {.region_bytes = 4096, .device = device});
        std::vector<status> why;
        CAPTURE(device.provider);

        auto options = three; // regions of different sizes
        options[2].region_bytes = 8192;
        CHECK(regions_of(options, &why).empty());
        for (const status& s : why) {
            CHECK(s.code == errc::invalid_argument);
            CHECK(s.peer == 2);
        }
        options = three; // a region that is too large
        options[1].region_bytes = (std::uint64_t{1} << 46) + 1;
        CHECK(regions_of(options, &why).empty());
        bough_test::check_told(why, errc::invalid_argument);
        CHECK(bough_test::argument_of(why[1]) == "region_bytes: at most 64 TiB");

        options = three; // a rank that must not write remotely
        options[1].device.remote_writes = false;
        CHECK(regions_of(options, &why).empty());
        for (const status& s : why) CHECK(s.code == errc::unsupported);
    }
}
