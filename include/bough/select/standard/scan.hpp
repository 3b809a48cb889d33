// SPDX-License-Identifier: BSL-1.0
// The standard candidates for scan: all of them send whole vectors.
#ifndef BOUGH_SELECT_STANDARD_SCAN_HPP
#define BOUGH_SELECT_STANDARD_SCAN_HPP

#include <bough/algorithm/scan/recursive_doubling.hpp>
#include <bough/select/standard_set.hpp>

namespace bough::inline BOUGH_ABI {

template <>
struct standard_set<goal::scan> {
    static void add(auto& made, const dimensions& at, const problem& what) {
        made.add(recursive_doubling_scan{});
        (void)at, (void)what;
    }
};

} // namespace bough

#endif
