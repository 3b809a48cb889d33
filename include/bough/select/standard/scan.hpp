// SPDX-License-Identifier: BSL-1.0
// The standard candidates for scan: whole vectors, and long ones along the chain in blocks.
#ifndef BOUGH_SELECT_STANDARD_SCAN_HPP
#define BOUGH_SELECT_STANDARD_SCAN_HPP

#include <bough/algorithm/scan/chain.hpp>
#include <bough/algorithm/scan/recursive_doubling.hpp>
#include <bough/select/standard_set.hpp>

namespace bough::inline BOUGH_ABI {

template <>
struct standard_set<goal::scan> {
    static void add(auto& made, const dimensions& at, const problem& what) {
        made.add(recursive_doubling_scan{});
        if (at.size <= 2) return; // the chain is the same
        made.add(chain_scan{});
        detail::add_segmented(made, chain_scan{}, at, what);
    }
};

} // namespace bough

#endif
