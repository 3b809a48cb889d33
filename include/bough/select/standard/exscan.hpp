// SPDX-License-Identifier: BSL-1.0
// The standard candidates for exscan: all of them send whole vectors.
#ifndef BOUGH_SELECT_STANDARD_EXSCAN_HPP
#define BOUGH_SELECT_STANDARD_EXSCAN_HPP

#include <bough/algorithm/exscan/one_two_three_doubling.hpp>
#include <bough/algorithm/exscan/recursive_doubling.hpp>
#include <bough/select/standard_set.hpp>

namespace bough::inline BOUGH_ABI {

template <>
struct standard_set<goal::exscan> {
    static void add(auto& made, const dimensions& at, const problem& what) {
        made.add(one_two_three_doubling{});
        made.add(recursive_doubling_exscan{});
        (void)at, (void)what;
    }
};

} // namespace bough

#endif
