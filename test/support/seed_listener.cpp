// SPDX-License-Identifier: BSL-1.0
// A failing run prints the seed that repeats it.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include "support/catch.hpp"
#include "support/sample.hpp"

#include <iostream>

namespace {

#if defined(CATCH_VERSION_MAJOR) && CATCH_VERSION_MAJOR >= 3
using listener_base = Catch::EventListenerBase;
#else
using listener_base = Catch::TestEventListenerBase;
#endif

struct seed_listener : listener_base {
    using listener_base::listener_base;

    void testRunEnded(const Catch::TestRunStats& stats) override {
        if (stats.totals.testCases.failed == 0) return;
        std::cerr << "to repeat: BOUGH_TEST_SEED=" << bough_test::seed() << " BOUGH_TEST_ALL=" << bough_test::all()
                  << std::endl;
    }
};

} // namespace

CATCH_REGISTER_LISTENER(seed_listener)
