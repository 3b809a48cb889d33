// SPDX-License-Identifier: BSL-1.0
// Remote writes through libfabric: their rules, and messages and collectives made of them.
#include "fabric/ranks.hpp"
#include "support/catch.hpp"
#include "support/process_collectives.hpp"
#include "support/sample.hpp"
#include <bough/testing/process_conformance.hpp>
#include <bough/testing/remote_write_conformance.hpp>
#include <bough/transport/fabric/regions.hpp>
#include <bough/transport/one_sided.hpp>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using namespace test_fabric;

static_assert(explain_remote_write_transport<fabric_regions>() && FlushableRemoteWrites<fabric_regions>);

namespace {

std::vector<fabric_regions> ends_of_regions(const std::vector<fabric_regions_options>& options,
                                            std::vector<status>& results) {
    const auto ranks = static_cast<rank_t>(options.size());
    testing::thread_wire_up world{ranks};
    std::vector<std::optional<fabric_regions>> made(ranks);
    results.assign(ranks, {});
    std::vector<std::thread> threads;
    for (rank_t r = 0; r != ranks; ++r)
        threads.emplace_back([&, r] {
            auto wire = world.of(r);
            if (auto end = fabric_regions::join(wire, options[r], results[r])) made[r].emplace(std::move(*end));
        });
    for (std::thread& t : threads) t.join();
    std::vector<fabric_regions> ends;
    for (auto& end : made)
        if (end) ends.push_back(std::move(*end));
    return ends;
}

// What a put may be: copied, written from where it lies, put together; with all memory registered.
std::vector<fabric_regions_options> variants(const fabric_options& o) {
    std::vector<fabric_regions_options> all(3, {.region_bytes = 1u << 16, .device = o});
    all[1].device.eager_bytes = 100;
    all[2].device.eager_bytes = 64;
    all[2].device.register_all = true;
    return all;
}
one_sided_options blocks_of(std::uint64_t seed) {
    return seed % 2 == 0 ? one_sided_options{}
                         : one_sided_options{.blocks = 2, .block_bytes = 300, .piece_bytes = 512, .static_bytes = 200};
}
fabric_regions_options for_messages(rank_t ranks, std::uint64_t seed, fabric_options o) {
    o.linger_ns = 1'000'000'000;
    if (seed % 3 == 0) o.eager_bytes = 128;
    return {.region_bytes = one_sided_bytes(ranks, blocks_of(seed)) + (seed % 2) * 40'000, .device = o};
}
template <class F>
bool all_ranks(rank_t ranks, const F& wrong) {
    const launch_report report = launch(ranks, [&](job world) { return wrong(std::move(world)) == 0 ? 0 : 1; });
    if (!report.ok()) UNSCOPED_INFO(describe(report));
    return report.ok();
}

} // namespace

TEST_CASE("fabric_regions: keeps the rules of remote writes, its ends driven by one thread") {
    for (const fabric_options& provider : offered_here()) {
        if (provider.provider == "shm") continue; // its ends in one process use each other's memory when they are gone
        for (const fabric_regions_options& options : variants(provider)) {
            const auto fault = testing::check_remote_writes(
                [&](rank_t n) {
                    std::vector<status> results;
                    return ends_of_regions(std::vector(n, options), results);
                },
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
            CAPTURE(provider.provider, seed);
            CHECK(all_ranks(ranks, [&](job world) {
                fabric_regions mine{world, for_messages(ranks, seed, provider)};
                const auto fault = testing::check_transport_process(one_sided{std::move(mine), blocks_of(seed)},
                                                                    {.seed = seed,
                                                                     .messages = bough_test::all() ? 1000u : 60u,
                                                                     .cancellations = bough_test::all() ? 200u : 15u});
                if (fault) std::printf("rank %u: %s\n", fault.rank, fault.sentence);
                return fault ? 1 : 0;
            }));
        }
}

TEST_CASE("fabric_regions: collectives over it are folds, bit by bit, over every provider") {
    for (const fabric_options& provider : offered_here())
        for (const rank_t ranks : {1u, 2u, 3u, 5u, 8u}) {
            const std::size_t longest = bough_test::all() ? 300'000 : ranks % 2 == 0 ? 20'000 : 2'000; // or in pieces
            CAPTURE(provider.provider, ranks);
            CHECK(all_ranks(ranks, [&](job world) {
                fabric_regions mine{world, for_messages(ranks, ranks, provider)};
                communicator comm{one_sided{std::move(mine), blocks_of(ranks)}};
                comm.set_timeout_ns(60'000'000'000);
                return bough_test::wrong_collectives(comm, {0, 1, 7, 600, longest});
            }));
        }
}

TEST_CASE("fabric_regions: a process that is killed is lost to those that wait for it") {
    for (const fabric_options& provider : offered_here()) {
        const launch_report report = launch(3, [&](job world) {
            communicator comm{one_sided{fabric_regions{world, for_messages(3, 0, provider)}}};
            comm.set_timeout_ns(30'000'000'000);
            std::vector<double> x(100, 1.0);
            std::error_code code;
            for (int k = 0; k != 50 && !code; ++k) {
                if (k == 20 && comm.rank() == 1) ::raise(SIGKILL);
                allreduce(comm, std::span(x), plus{}, code);
            }
            return code == errc::peer_dead || code == errc::peer_aborted ? 0 : 1;
        });
        CAPTURE(provider.provider, describe(report));
        REQUIRE(report.ranks.size() == 3);
        for (const rank_t r : {0u, 2u}) CHECK(report.ranks[r].ok());
    }
}

TEST_CASE("fabric_regions: joining says what does not fit, on every rank") {
    for (const fabric_options& provider : offered_here()) {
        if (provider.provider == "shm") continue;
        std::vector<fabric_regions_options> options(3, {.region_bytes = 4096, .device = provider});
        std::vector<status> results;
        SECTION("regions of different sizes") {
            options[2].region_bytes = 8192;
            CHECK(ends_of_regions(options, results).empty());
            for (const status& s : results) {
                CHECK(s.code == errc::invalid_argument);
                CHECK(s.peer == 2);
            }
        }
        SECTION("a rank that must not write remotely") {
            options[1].device.remote_writes = false;
            CHECK(ends_of_regions(options, results).empty());
            for (const status& s : results) CHECK(s.code == errc::unsupported);
        }
    }
}
