// SPDX-License-Identifier: BSL-1.0
// Sampled sweeps: a quick run tries a part of a large space, chosen by a seed; a full run tries all of it.
//
//   BOUGH_TEST_ALL=1      everything
//   BOUGH_TEST_SEED=n     another part (default 1); a failing run prints its seed
#ifndef BOUGH_TEST_SUPPORT_SAMPLE_HPP
#define BOUGH_TEST_SUPPORT_SAMPLE_HPP

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace bough_test {

inline bool all() {
    const char* value = std::getenv("BOUGH_TEST_ALL");
    return value != nullptr && std::string_view(value) != "" && std::string_view(value) != "0";
}

inline std::uint64_t seed() {
    const char* value = std::getenv("BOUGH_TEST_SEED");
    return value != nullptr ? std::strtoull(value, nullptr, 0) : 1;
}

// A well-mixed function of i: equal on every machine. (Steele, Lea, Flood: SplitMix64.)
constexpr std::uint64_t mixed(std::uint64_t i) {
    i += 0x9e37'79b9'7f4a'7c15u;
    i = (i ^ (i >> 30)) * 0xbf58'476d'1ce4'e5b9u;
    i = (i ^ (i >> 27)) * 0x94d0'49bb'1331'11ebu;
    return i ^ (i >> 31);
}

// One of `count` places, by a number that was drawn. Pre: count >= 1.
constexpr std::size_t one_of(std::size_t count, std::uint64_t drawn) { return static_cast<std::size_t>(drawn % count); }

// Does case number i belong to this run? About one in `keep_one_in` does; all do in a full run.
inline bool sampled(std::uint64_t i, std::uint64_t keep_one_in) {
    return all() || mixed(mixed(seed()) ^ i) % keep_one_in == 0;
}

} // namespace bough_test

#endif
