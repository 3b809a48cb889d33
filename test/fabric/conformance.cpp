// SPDX-License-Identifier: BSL-1.0
#include "fabric/ranks.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include "support/watched_device.hpp"
#include <bough/concepts/explain_transport.hpp>
#include <bough/testing/process_conformance.hpp>
#include <bough/testing/transport_conformance.hpp>

#include <cstdint>
#include <cstdio>
#include <type_traits>

using namespace bough;
using namespace test_fabric;

static_assert(explain_transport<fabric>() && explain_in_place_transport<fabric>() &&
              explain_waitable_transport<fabric>());
static_assert(!std::is_copy_constructible_v<fabric> && std::is_nothrow_move_constructible_v<fabric>);

namespace {

// The ways to move payloads, and little room.
std::vector<fabric_options> variants(fabric_options o) {
    std::vector<fabric_options> all(4, o);
    all[1].remote_writes = false;
    all[2].register_all = true;
    all[2].remote_writes = false;
    all[2].eager_bytes = 0;
    all[3].register_all = true;
    all[3].window = 1;
    all[3].eager_bytes = 200; // between what is injected and what is not
    return all;
}

void check_in_processes(const fabric_options& options, std::uint64_t seed) {
    const rank_t ranks = seed % 2 == 0 ? 2 : 3;
    const launch_report report = launch(ranks, [&](job world) {
        const auto fault =
            testing::check_transport_process(fabric{world, options}, {.seed = seed,
                                                                      .messages = bough_test::all() ? 1000u : 60u,
                                                                      .cancellations = bough_test::all() ? 200u : 15u});
        if (fault) std::printf("rank %u, seed %u: %s\n", fault.rank, static_cast<unsigned>(seed), fault.sentence);
        return fault ? 1 : 0;
    });
    CAPTURE(options.provider, options.window, options.eager_bytes, options.remote_writes, seed, describe(report));
    CHECK(report.ok());
}

} // namespace

TEST_CASE("fabric: keeps the rules of a transport, its ends driven by one thread") {
    for (const fabric_options& provider : offered_here()) {
        if (provider.provider == "shm") continue; // its ends in one process use each other's memory when they are gone
        for (const fabric_options& options : variants(provider)) {
            if (!bough_test::all() && options.remote_writes != options.register_all && options.window != 1) continue;
            const auto fault = testing::check_transport(
                [&](rank_t n) { return ends_of(n, options); },
                {.ranks = 3, .messages = bough_test::all() ? 5'000u : 200u, .queue_limit = 4096});
            CAPTURE(options.provider, options.window, options.eager_bytes, options.remote_writes);
            CAPTURE(fault.sentence, fault.rank);
            CHECK(fault.rule == testing::transport_rule::none);
        }
    }
}

TEST_CASE("fabric: says which way each message goes") {
    static_assert(explain_optional_members<fabric>());
    for (const fabric_options& provider : offered_here()) {
        if (provider.provider == "shm") continue; // one process
        for (const fabric_options& options : variants(provider)) {
            CAPTURE(options.provider, options.remote_writes, options.eager_bytes);
            bough_test::check_ways<detail::fabric_device>(options);
        }
    }
}

TEST_CASE("fabric: keeps them between processes, however payloads travel") {
    for (const fabric_options& provider : offered_here()) {
        std::uint64_t seed = 10 * bough_test::seed();
        for (fabric_options options : variants(provider)) {
            options.linger_ns = 1'000'000'000;
            check_in_processes(options, ++seed);
        }
    }
}
