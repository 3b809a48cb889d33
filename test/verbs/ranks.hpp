// SPDX-License-Identifier: BSL-1.0
// Groups of verbs for tests, over the card that is here. tools/test-verbs makes one of software.
#ifndef BOUGH_TEST_VERBS_RANKS_HPP
#define BOUGH_TEST_VERBS_RANKS_HPP

#include "support/catch.hpp"
#include "support/joined_ends.hpp"
#include <bough/launch.hpp>
#include <bough/transport/verbs.hpp>

#include <cstdlib>
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
    return bough_test::joined_ends<bough::verbs>(
        static_cast<rank_t>(options.size()),
        [&](rank_t r, auto& wire, bough::status& result) { return bough::verbs::join(wire, options[r], result); }, why);
}

} // namespace test_verbs

#endif
