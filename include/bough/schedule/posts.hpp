// SPDX-License-Identifier: BSL-1.0
// Posts: sorts the ends of messages, which are nodes, into channels. In linear time, so that it is quick
// at compile time, too.
#ifndef BOUGH_SCHEDULE_POSTS_HPP
#define BOUGH_SCHEDULE_POSTS_HPP

#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>

#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// Sorts nodes by a rank, rank_of(node) < size, stably. Sort sends by the receiver and then by the sender
// to get channels, each in program order.
template <class RankOf>
constexpr void sort_posts(plain_list<std::uint32_t>& nodes, rank_t size, RankOf&& rank_of) {
    plain_list<std::uint32_t> first(size + std::size_t{1}, 0);
    std::uint32_t* const at = first.data();
    const std::uint32_t* const from = nodes.data();
    const std::size_t count = nodes.size();
    for (std::size_t i = 0; i != count; ++i) ++at[rank_of(from[i]) + std::size_t{1}];
    for (rank_t r = 0; r != size; ++r) at[r + std::size_t{1}] += at[r];
    plain_list<std::uint32_t> sorted(count, 0);
    std::uint32_t* const to = sorted.data();
    for (std::size_t i = 0; i != count; ++i) to[at[rank_of(from[i])]++] = from[i];
    nodes = static_cast<plain_list<std::uint32_t>&&>(sorted);
}

} // namespace bough::detail

#endif
