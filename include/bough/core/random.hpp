// SPDX-License-Identifier: BSL-1.0
// Random numbers for all that runs in virtual time: the simulator, the simulated worlds, and the
// tests of transports.
//
// All arithmetic is on integers, so the numbers are the same on every machine; a double that is
// returned is one rounding away from an integer.
#ifndef BOUGH_CORE_RANDOM_HPP
#define BOUGH_CORE_RANDOM_HPP

#include <bough/core/config.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

// The mixing function of SplitMix64 (Steele, Lea, Flood).
constexpr std::uint64_t mix_bits(std::uint64_t z) noexcept {
    z += 0x9e37'79b9'7f4a'7c15u;
    z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9u;
    z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11ebu;
    return z ^ (z >> 31);
}

// A sequence of numbers for each (seed, stream, place): two different places have unrelated
// sequences. The numbers do not depend on the order in which several sequences are asked.
class random_sequence {
public:
    constexpr random_sequence(std::uint64_t seed, std::uint64_t stream, std::uint64_t place) noexcept
        : state_(mix_bits(mix_bits(mix_bits(seed) ^ stream) ^ place)) {}

    constexpr std::uint64_t operator()() noexcept { return state_ = mix_bits(state_); }

    // 0 <= x < n, evenly. Pre: 1 <= n < 2^32.
    constexpr std::uint64_t below(std::uint64_t n) noexcept { return ((*this)() >> 32) * n >> 32; }
    // 0 <= x < 1, evenly: a multiple of 2^-53.
    constexpr double unit() noexcept { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

    // Exponentially distributed, with mean 1, by von Neumann's method. It only compares evenly
    // distributed numbers, and needs no logarithm, which differs from machine to machine. A run of
    // falling numbers of odd length accepts its first number; a run of even length adds 1 and tries
    // again.
    constexpr double exponential() noexcept {
        for (double whole = 0;; whole += 1) {
            const std::uint64_t first = (*this)();
            bool odd = true;
            for (std::uint64_t last = first, next = (*this)(); next <= last; next = (*this)()) odd = !odd, last = next;
            if (odd) return whole + static_cast<double>(first >> 11) * 0x1p-53;
        }
    }

private:
    std::uint64_t state_;
};

namespace detail {

// SplitMix64: one sequence for each seed.
class split_mix {
public:
    constexpr explicit split_mix(std::uint64_t seed) noexcept : state_(seed) {}

    constexpr std::uint64_t operator()() noexcept {
        const std::uint64_t drawn = mix_bits(state_);
        state_ += 0x9e37'79b9'7f4a'7c15u;
        return drawn;
    }
    // Below n. Pre: 1 <= n < 2^32.
    constexpr std::uint64_t below(std::uint64_t n) noexcept { return ((*this)() >> 32) * n >> 32; }
    constexpr bool chance(std::uint32_t in_1000) noexcept { return in_1000 != 0 && below(1000) < in_1000; }

private:
    std::uint64_t state_;
};

} // namespace detail

} // namespace bough

#endif
