// SPDX-License-Identifier: BSL-1.0
// The skips of a circulant graph: how far the ranks reach in each round of the circulant algorithms.
//
// s_q = p, s_k = ceil(s_{k+1} / (ports + 1)), s_0 = 1. In q = ceil(log_{ports+1} p) rounds a set of
// ranks that grows in each round by at most ports times its size covers all p. For one rank q is 0
// and the only skip is 1.
//   circulant_skips(13)       1 2 4 7 | 13
//   circulant_skips(13, 2)    1 2 5 | 13
// Source: Traeff, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", arXiv 2410.14234
#ifndef BOUGH_ALGORITHM_DETAIL_SKIPS_HPP
#define BOUGH_ALGORITHM_DETAIL_SKIPS_HPP

#include <bough/core/rank.hpp>

#include <array>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

struct circulant_skips {
    static constexpr const char* family = "circulant";
    std::array<rank_t, 33> skip{}; // skip[0] = 1, ascending; skip[rounds] = size
    std::uint32_t rounds = 0;      // q

    // Pre: size >= 1, ports >= 1.
    constexpr explicit circulant_skips(rank_t size, rank_t ports = 1) noexcept {
        const auto below = [=](rank_t s) noexcept {
            return ports >= s ? rank_t{1} : static_cast<rank_t>((s - 1) / (ports + 1) + 1);
        };
        for (rank_t s = size; s > 1; s = below(s)) ++rounds;
        skip[0] = 1;
        rank_t s = size;
        for (std::uint32_t k = rounds; k != 0; --k, s = below(s)) skip[k] = s;
    }
    constexpr rank_t operator[](std::uint32_t k) const noexcept { return skip[k]; }
};

// The skips of Bruck's algorithm: powers of ports + 1. It takes as many rounds, and only the last
// is shorter.
struct bruck_skips {
    static constexpr const char* family = "bruck";
    std::array<rank_t, 33> skip{};
    std::uint32_t rounds = 0;

    // Pre: size >= 1, ports >= 1.
    constexpr explicit bruck_skips(rank_t size, rank_t ports = 1) noexcept {
        skip[0] = 1;
        for (std::uint64_t power = 1; power < size; skip[rounds] = static_cast<rank_t>(power < size ? power : size)) {
            power *= std::uint64_t{ports} + 1;
            ++rounds;
        }
    }
    constexpr rank_t operator[](std::uint32_t k) const noexcept { return skip[k]; }
};

} // namespace bough::detail

#endif
