// SPDX-License-Identifier: BSL-1.0
// Groups of verbs for tests, over the card that is here. tools/test-verbs makes one of software.
#ifndef BOUGH_TEST_VERBS_RANKS_HPP
#define BOUGH_TEST_VERBS_RANKS_HPP

#include "support/catch.hpp"
#include <bough/launch.hpp>
#include <bough/testing/thread_wire_up.hpp>
#include <bough/transport/verbs.hpp>

#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace test_verbs {

using bough::rank_t;

// Where there has to be a card, its absence is a failure.
inline bool has_card() {
    const bough::status why = bough::detail::verbs_device{}.open({});
    if (!why) return true;
    if (std::getenv("BOUGH_TEST_NEEDS_CARD") != nullptr)
        FAIL("no RDMA card: " << why.argument);
    else
        WARN("skipped: there is no RDMA card here; tools/test-verbs makes one");
    return false;
}
// For ends that one thread drives: they cannot answer each other while one is destroyed.
inline bough::verbs_options in_one_thread() {
    bough::verbs_options o;
    o.linger_ns = 30'000'000;
    return o;
}

// All ends of a group, for tests that drive them from one thread. `why`, if given: how each rank's join ended.
inline std::vector<bough::verbs> ends_of(const std::vector<bough::verbs_options>& options,
                                         std::vector<bough::status>* why = nullptr) {
    const auto ranks = static_cast<rank_t>(options.size());
    bough::testing::thread_wire_up world{ranks};
    std::vector<std::optional<bough::verbs>> made(ranks);
    std::vector<bough::status> results(ranks);
    std::vector<std::thread> threads;
    for (rank_t r = 0; r != ranks; ++r)
        threads.emplace_back([&, r] {
            auto wire = world.of(r);
            if (auto end = bough::verbs::join(wire, options[r], results[r])) made[r].emplace(std::move(*end));
        });
    for (std::thread& t : threads) t.join();
    std::vector<bough::verbs> ends;
    for (rank_t r = 0; r != ranks; ++r) {
        if (made[r]) ends.push_back(std::move(*made[r]));
        if (!made[r] && why == nullptr) throw bough::error(results[r]);
    }
    if (why != nullptr) *why = results;
    return ends;
}

} // namespace test_verbs

#endif
