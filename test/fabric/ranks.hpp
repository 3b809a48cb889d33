// SPDX-License-Identifier: BSL-1.0
// Groups of fabric for tests, over each provider that is here.
#ifndef BOUGH_TEST_FABRIC_RANKS_HPP
#define BOUGH_TEST_FABRIC_RANKS_HPP

#include "support/catch.hpp"
#include <bough/launch.hpp>
#include <bough/testing/thread_wire_up.hpp>
#include <bough/transport/fabric.hpp>

#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace test_fabric {

using bough::rank_t;

// The providers that need no network but this machine's, and are here. Warns of the others.
inline std::vector<bough::fabric_options> offered_here() {
    std::vector<bough::fabric_options> found;
    for (const char* provider : {"tcp;ofi_rxm", "udp;ofi_rxd", "shm"}) {
        bough::fabric_options o;
        o.provider = provider;
        if (o.provider != "shm") o.node = "127.0.0.1";
        o.linger_ns = 30'000'000; // ends that one thread drives cannot answer
        o.timeout_ns = 20'000'000'000;
        if (bough::detail::fabric_device{}.open(o))
            WARN("skipped: libfabric has no provider " << provider << " here");
        else
            found.push_back(o);
    }
    return found;
}

// All ends of a group, for tests that drive them from one thread. `why`, if given: how each rank's join ended.
inline std::vector<bough::fabric> ends_of(const std::vector<bough::fabric_options>& options,
                                          std::vector<bough::status>* why = nullptr) {
    const auto ranks = static_cast<rank_t>(options.size());
    bough::testing::thread_wire_up world{ranks};
    std::vector<std::optional<bough::fabric>> made(ranks);
    std::vector<bough::status> results(ranks);
    std::vector<std::thread> threads;
    for (rank_t r = 0; r != ranks; ++r)
        threads.emplace_back([&, r] {
            auto wire = world.of(r);
            if (auto end = bough::fabric::join(wire, options[r], results[r])) made[r].emplace(std::move(*end));
        });
    for (std::thread& t : threads) t.join();
    std::vector<bough::fabric> ends;
    for (rank_t r = 0; r != ranks; ++r) {
        if (made[r]) ends.push_back(std::move(*made[r]));
        if (!made[r] && why == nullptr) throw bough::error(results[r]);
    }
    if (why != nullptr) *why = results;
    return ends;
}
inline std::vector<bough::fabric> ends_of(rank_t ranks, const bough::fabric_options& options) {
    return ends_of(std::vector(ranks, options));
}

} // namespace test_fabric

#endif
