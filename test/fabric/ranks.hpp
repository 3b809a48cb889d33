// SPDX-License-Identifier: BSL-1.0
// Groups of fabric for tests, over each provider that is here.
#ifndef BOUGH_TEST_FABRIC_RANKS_HPP
#define BOUGH_TEST_FABRIC_RANKS_HPP

#include "support/catch.hpp"
#include "support/joined_ends.hpp"
#include <bough/launch.hpp>
#include <bough/transport/fabric.hpp>

#include <string>
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
    return bough_test::joined_ends<bough::fabric>(
        static_cast<rank_t>(options.size()),
        [&](rank_t r, auto& wire, bough::status& result) { return bough::fabric::join(wire, options[r], result); },
        why);
}
inline std::vector<bough::fabric> ends_of(rank_t ranks, const bough::fabric_options& options) {
    return ends_of(std::vector(ranks, options));
}

} // namespace test_fabric

#endif
