// SPDX-License-Identifier: BSL-1.0
// A failing run prints the seed that repeats it.
#include "support/listener.hpp"
#include "support/sample.hpp"

#include <iostream>

namespace {

struct seed_listener : bough_test::listener_base {
    using bough_test::listener_base::listener_base;

    void testRunEnded(const Catch::TestRunStats& stats) override {
        if (stats.totals.testCases.failed == 0) return;
        std::cerr << "to repeat: BOUGH_TEST_SEED=" << bough_test::seed() << " BOUGH_TEST_ALL=" << bough_test::all()
                  << std::endl;
    }
};

} // namespace

CATCH_REGISTER_LISTENER(seed_listener)
