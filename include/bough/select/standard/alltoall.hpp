// SPDX-License-Identifier: BSL-1.0
// The standard candidates for alltoall: few messages for short blocks, no detour for long ones.
#ifndef BOUGH_SELECT_STANDARD_ALLTOALL_HPP
#define BOUGH_SELECT_STANDARD_ALLTOALL_HPP

#include <bough/algorithm/alltoall/bruck.hpp>
#include <bough/algorithm/alltoall/pairwise.hpp>
#include <bough/select/standard_set.hpp>

namespace bough::inline BOUGH_ABI {

template <>
struct standard_set<goal::alltoall> {
    static void add(auto& made, const dimensions& at, const problem& what) {
        made.add(pairwise_alltoall{});
        if (at.size > 2 && what.bytes < (std::uint64_t{1} << 24)) made.add(bruck_alltoall{});
    }
};

} // namespace bough

#endif
