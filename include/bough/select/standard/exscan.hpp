// SPDX-License-Identifier: BSL-1.0
// The standard candidates for exscan: whole vectors, and long ones along the chain in blocks.
#ifndef BOUGH_SELECT_STANDARD_EXSCAN_HPP
#define BOUGH_SELECT_STANDARD_EXSCAN_HPP

#include <bough/algorithm/exscan/chain.hpp>
#include <bough/algorithm/exscan/inclusive_then_exclusive.hpp>
#include <bough/algorithm/exscan/recursive_doubling.hpp>
#include <bough/select/standard_set.hpp>

namespace bough::inline BOUGH_ABI {

template <>
struct standard_set<goal::exscan> {
    static void add(auto& made, const dimensions& at, const problem& what) {
        made.add(inclusive_then_exclusive{});
        made.add(recursive_doubling_exscan{});
        if (at.size <= 2) return; // the chain is the same
        made.add(chain_exscan{});
        detail::add_segmented(made, chain_exscan{}, at, what);
    }
};

} // namespace bough

#endif
