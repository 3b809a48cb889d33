// SPDX-License-Identifier: BSL-1.0
// With BOUGH_TEST_NAMES each test case says its name when it begins. So the name of one that crashes or is
// killed is known, also where it has destroyed the memory from which Catch would report it.
#include "support/listener.hpp"

#include <cstdlib>
#include <string>
#include <unistd.h>

namespace {

struct names_listener : bough_test::listener_base {
    using bough_test::listener_base::listener_base;

    void testCaseStarting(const Catch::TestCaseInfo& test) override { say("begins: " + test.name); }
    void testRunEnded(const Catch::TestRunStats&) override { say("the last test case has ended"); }

private:
    static void say(const std::string& what) {
        if (std::getenv("BOUGH_TEST_NAMES") != nullptr) (void)!::write(2, (what + '\n').data(), what.size() + 1);
    }
};

} // namespace

CATCH_REGISTER_LISTENER(names_listener)
