// SPDX-License-Identifier: BSL-1.0
// The binary blocks family: an allreduce and a reduce of one bracket class.
//
//   allreduce(comm, data, op, binary_blocks{})
#ifndef BOUGH_ALGORITHM_BINARY_BLOCKS_HPP
#define BOUGH_ALGORITHM_BINARY_BLOCKS_HPP

#include <bough/algorithm/allreduce/binary_blocks.hpp>
#include <bough/algorithm/reduce/binary_blocks.hpp>

namespace bough::inline BOUGH_ABI {

struct binary_blocks {
    constexpr binary_blocks_allreduce algorithm_for(goal::allreduce) const noexcept { return {}; }
    constexpr binary_blocks_reduce algorithm_for(goal::reduce) const noexcept { return {}; }
    friend constexpr bool operator==(const binary_blocks&, const binary_blocks&) = default;
};

} // namespace bough

#endif
