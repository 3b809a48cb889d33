// SPDX-License-Identifier: BSL-1.0
// What a call of a group ends with that has lost a rank.
#ifndef BOUGH_TEST_SUPPORT_DEATH_HPP
#define BOUGH_TEST_SUPPORT_DEATH_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

namespace bough_test {

// A rank sees the death itself; or another one tells it, during a call or before the call begins.
inline bool is_death_of(const bough::status& s, bough::rank_t dead) {
    const bool told = s.code == bough::errc::peer_aborted || s.code == bough::errc::group_poisoned;
    return (s.code == bough::errc::peer_dead || (told && s.cause == bough::errc::peer_dead)) && s.peer == dead;
}

} // namespace bough_test

#endif
