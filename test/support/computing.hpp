// SPDX-License-Identifier: BSL-1.0
// A thread that only computes until others have come so far.
#ifndef BOUGH_TEST_SUPPORT_COMPUTING_HPP
#define BOUGH_TEST_SUPPORT_COMPUTING_HPP

#include <atomic>
#include <chrono>

namespace bough_test {

// Until `so_far` is `value`, or more. False: for 20 s, in vain.
inline bool compute_until(const std::atomic<int>& so_far, int value) {
    const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    volatile double x = 1;
    while (so_far.load() < value) {
        for (int i = 0; i != 1000; ++i) x = x * 1.0000001;
        if (std::chrono::steady_clock::now() > last) return false;
    }
    return true;
}

} // namespace bough_test

#endif
