// SPDX-License-Identifier: BSL-1.0
// Posts: sorts the ends of messages into channels, in linear time, so that it is quick at compile
// time, too.
#ifndef BOUGH_SCHEDULE_POSTS_HPP
#define BOUGH_SCHEDULE_POSTS_HPP

#include <bough/core/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// One end of a message: the step with the number `node`.
struct post {
    rank_t from, to;
    std::uint32_t node;
};

// Sorts by one end, stably. Sort by the receiver and then by the sender to get channels, each in
// program order.
constexpr void sort_posts(std::vector<post>& posts, rank_t post::*end, rank_t size) {
    std::vector<std::uint32_t> first(size + std::size_t{1}, 0);
    std::uint32_t* const at = first.data();
    for (const post& p : posts) ++at[p.*end + std::size_t{1}];
    for (rank_t r = 0; r != size; ++r) at[r + std::size_t{1}] += at[r];
    std::vector<post> sorted(posts.size(), post{});
    post* const to = sorted.data();
    for (const post& p : posts) to[at[p.*end]++] = p;
    posts.swap(sorted);
}

} // namespace bough::detail

#endif
