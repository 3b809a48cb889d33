// SPDX-License-Identifier: BSL-1.0
// What hears of each test case of a run: the base of listeners in Catch2, version 3 or 2.
#ifndef BOUGH_TEST_SUPPORT_LISTENER_HPP
#define BOUGH_TEST_SUPPORT_LISTENER_HPP

#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include "support/catch.hpp"

namespace bough_test {

#if defined(CATCH_VERSION_MAJOR) && CATCH_VERSION_MAJOR >= 3
using listener_base = Catch::EventListenerBase;
#else
using listener_base = Catch::TestEventListenerBase;
#endif

} // namespace bough_test

#endif
