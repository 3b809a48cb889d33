// SPDX-License-Identifier: BSL-1.0
// The standard candidates for alltoall: few messages for short blocks, no detour for long ones, and few
// waits where ranks share cores.
#ifndef BOUGH_SELECT_STANDARD_ALLTOALL_HPP
#define BOUGH_SELECT_STANDARD_ALLTOALL_HPP

#include <bough/algorithm/alltoall/bruck.hpp>
#include <bough/algorithm/alltoall/pairwise.hpp>
#include <bough/select/standard_set.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

template <>
struct standard_set<goal::alltoall> {
    // A plan with p * p messages, priced one by one if ranks share cores: few ranks alone get it twice.
    static constexpr rank_t most_ahead = 32;
    // With longer rows there is nothing to gain by fewer messages.
    static constexpr std::uint64_t most_row_bytes = std::uint64_t{1} << 22;

    static void add(auto& made, const dimensions& at, const problem& what) {
        made.add(pairwise_alltoall{});
        if (at.size <= 2 || what.bytes / at.size >= most_row_bytes) return;
        if (at.size <= most_ahead) made.add(pairwise_alltoall{.ahead = at.size - 2});
        made.add(bruck_alltoall{});
        for (const rank_t radix : {4u, 8u, 16u, 32u})
            if (radix < at.size) made.add(bruck_alltoall{.ports = radix - 1});
    }
};

} // namespace bough

#endif
