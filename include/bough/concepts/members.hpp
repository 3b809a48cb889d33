// SPDX-License-Identifier: BSL-1.0
// Members that several concepts ask for: a rank, a size, a root, a clock.
//
// A concept is spelled as a conjunction of requirements with a name each. Its explain_ function
// asks for the same ones, so that the two cannot drift.
#ifndef BOUGH_CONCEPTS_MEMBERS_HPP
#define BOUGH_CONCEPTS_MEMBERS_HPP

#include <bough/core/rank.hpp>

#include <concepts>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

template <class T>
concept HasRank = requires(const T& t) {
    { t.rank() } -> std::same_as<rank_t>;
};
template <class T>
concept HasSize = requires(const T& t) {
    { t.size() } -> std::same_as<rank_t>;
};
template <class T>
concept HasRoot = requires(const T& t) {
    { t.root() } -> std::same_as<rank_t>;
};
template <class T>
concept HasClock = requires(const T& t) {
    { t.now_ns() } -> std::same_as<std::uint64_t>;
};

} // namespace bough::detail

#endif
