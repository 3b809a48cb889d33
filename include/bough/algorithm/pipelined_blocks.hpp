// SPDX-License-Identifier: BSL-1.0
// Computes into how many blocks a pipelined collective should cut its vector.
//
// A pipeline of n blocks takes n + f rounds: f = q - 1 for circulant_broadcast and
// circulant_reduce, p - 2 for a chain. In Rabenseifner's terms that is T(n) = (n + f) (alpha + beta
// m / n) for m bytes. T falls from n to n + 1 as long as n (n + 1) < f beta m / alpha, so the best
// n is the first one for which it does not: about sqrt(f beta m / alpha).
#ifndef BOUGH_ALGORITHM_PIPELINED_BLOCKS_HPP
#define BOUGH_ALGORITHM_PIPELINED_BLOCKS_HPP

#include <bough/core/slice.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

// The n in [1, most] with the least T(n). Pre: alpha_ns and beta_ns_per_byte are not negative; most >= 1.
constexpr block_t pipelined_blocks(std::uint64_t extra_rounds, double alpha_ns, double beta_ns_per_byte,
                                   std::uint64_t bytes, block_t most) noexcept {
    const double gain = static_cast<double>(extra_rounds) * beta_ns_per_byte * static_cast<double>(bytes);
    block_t first = 1;
    block_t last = most;
    while (first != last) {
        const block_t n = first + (last - first) / 2;
        if (static_cast<double>(n) * (static_cast<double>(n) + 1) * alpha_ns < gain)
            first = n + 1;
        else
            last = n;
    }
    return first;
}

} // namespace bough

#endif
