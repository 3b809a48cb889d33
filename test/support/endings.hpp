// SPDX-License-Identifier: BSL-1.0
// How the operations of a random interleaving end: well, with the right data; or because somebody gave up, and saying so.
#ifndef BOUGH_TEST_SUPPORT_ENDINGS_HPP
#define BOUGH_TEST_SUPPORT_ENDINGS_HPP

#include <bough/core/status.hpp>

namespace bough_test {

struct endings {
    const char* problem = nullptr; // a sentence if something is wrong
    int good = 0, bad = 0;

    void count(bough::errc code, bool right_data, bool anybody_gave_up) {
        using bough::errc;
        if (code == errc::ok) {
            ++good;
            if (!right_data) problem = "an operation ended well with wrong data";
            return;
        }
        ++bad;
        if (!anybody_gave_up) problem = "an operation failed though nobody gave up";
        if (code != errc::cancelled && code != errc::peer_aborted && code != errc::group_poisoned &&
            code != errc::peer_dead)
            problem = bough::describe(code);
    }
};

} // namespace bough_test

#endif
