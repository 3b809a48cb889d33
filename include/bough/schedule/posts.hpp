// SPDX-License-Identifier: BSL-1.0
// Posts: sorts the ends of messages into channels, in linear time, so that it is quick at compile
// time, too.
#ifndef BOUGH_SCHEDULE_POSTS_HPP
#define BOUGH_SCHEDULE_POSTS_HPP

#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>

#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// One end of a message: the step with the number `node`.
struct post {
    rank_t from = 0, to = 0;
    std::uint32_t node = 0;
};

// Sorts by one end, stably. Sort by the receiver and then by the sender to get channels, each in
// program order.
constexpr void sort_posts(plain_list<post>& posts, rank_t post::*end, rank_t size) {
    plain_list<std::uint32_t> first(size + std::size_t{1}, 0);
    std::uint32_t* const at = first.data();
    const post* const from = posts.data();
    const std::size_t count = posts.size();
    for (std::size_t i = 0; i != count; ++i) ++at[from[i].*end + std::size_t{1}];
    for (rank_t r = 0; r != size; ++r) at[r + std::size_t{1}] += at[r];
    plain_list<post> sorted(count, post{});
    post* const to = sorted.data();
    for (std::size_t i = 0; i != count; ++i) to[at[from[i].*end]++] = from[i];
    posts = static_cast<plain_list<post>&&>(sorted);
}

} // namespace bough::detail

#endif
