// SPDX-License-Identifier: BSL-1.0
// What ranks say that could not join.
#ifndef BOUGH_TEST_SUPPORT_TOLD_HPP
#define BOUGH_TEST_SUPPORT_TOLD_HPP

#include "support/catch.hpp"
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <string>
#include <vector>

namespace bough_test {

inline std::string argument_of(const bough::status& s) { return s.argument == nullptr ? "" : s.argument; }

// Rank 1 alone could not: all others were told why.
inline void check_told(const std::vector<bough::status>& why, bough::errc code) {
    for (bough::rank_t r = 0; r != why.size(); ++r) {
        CAPTURE(r);
        CHECK(why[r].code == (r == 1 ? code : bough::errc::peer_aborted));
        if (r == 1) continue;
        CHECK(why[r].cause == code);
        CHECK(why[r].peer == 1);
    }
}

} // namespace bough_test

#endif
