// SPDX-License-Identifier: BSL-1.0
// The standard candidates for exscan: all of them send whole vectors.
#ifndef BOUGH_SELECT_STANDARD_EXSCAN_HPP
#define BOUGH_SELECT_STANDARD_EXSCAN_HPP

#include <bough/algorithm/exscan/inclusive_then_exclusive.hpp>
#include <bough/algorithm/exscan/recursive_doubling.hpp>
#include <bough/select/standard_set.hpp>

namespace bough::inline BOUGH_ABI {

template <>
struct standard_set<goal::exscan> {
    static void add(auto& made, const dimensions& at, const problem& what) {
        made.add(inclusive_then_exclusive{});
        made.add(recursive_doubling_exscan{});
        (void)at, (void)what;
    }
};

} // namespace bough

#endif
