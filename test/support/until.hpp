// SPDX-License-Identifier: BSL-1.0
// A wait of a test that has an end.
#ifndef BOUGH_TEST_SUPPORT_UNTIL_HPP
#define BOUGH_TEST_SUPPORT_UNTIL_HPP

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace bough_test {

// Does `meanwhile` until `holds`. What does not come within a minute ends the program: threads that wait for it cannot.
template <class F, class G>
void until(F&& holds, G&& meanwhile) {
    const auto last = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!holds()) {
        meanwhile();
        if (std::chrono::steady_clock::now() <= last) continue;
        std::fputs("bough_test::until: it has not come within a minute\n", stderr);
        std::abort();
    }
}
template <class F>
void until(F&& holds) {
    until(holds, [] { std::this_thread::yield(); });
}

} // namespace bough_test

#endif
