// SPDX-License-Identifier: BSL-1.0
// block_places: a place in one array for each block that a rank's steps touch.
//
// A buffer gets places from the first to the last of its blocks that are touched. Some algorithms
// have a plane of scratch for each peer, with one block in it; their p planes take p places, not
// p times the blocks of a vector.
#ifndef BOUGH_SCHEDULE_BLOCK_PLACES_HPP
#define BOUGH_SCHEDULE_BLOCK_PLACES_HPP

#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>

#include <cstddef>

namespace bough::inline BOUGH_ABI::detail {

// Buffers have numbers, those of buffer::index or others. First all add(), then settle(), then
// at().
template <int = 0>
class block_places {
public:
    constexpr void clear() noexcept { buffers_.clear(); }
    // Blocks [first, last) of a buffer are touched.
    constexpr void add(std::size_t buffer, block_t first, block_t last) {
        if (first == last) return;
        if (buffer >= buffers_.size()) buffers_.resize(buffer + 1, range{});
        range& touched = buffers_.data()[buffer];
        touched.first = first < touched.first ? first : touched.first;
        touched.last = last < touched.last ? touched.last : last;
    }
    // Gives the places from `begin` on. Returns where they end.
    constexpr std::size_t settle(std::size_t begin = 0) {
        for (range& r : buffers_) {
            if (r.last == 0) r.first = 0; // no block
            r.begin = begin;
            begin += r.last - r.first;
        }
        return begin;
    }
    constexpr std::size_t buffers() const noexcept { return buffers_.size(); }
    // Where block 0 of a buffer would be: block b is at place origin() + b. It may have wrapped around.
    constexpr std::size_t origin(std::size_t buffer) const noexcept {
        const range& touched = buffers_.data()[buffer];
        return touched.begin - touched.first;
    }
    // Pre: the block is touched.
    constexpr std::size_t at(std::size_t buffer, block_t block) const noexcept { return origin(buffer) + block; }

private:
    struct range {
        block_t first = ~block_t{0}, last = 0;
        std::size_t begin = 0;
    };
    plain_list<range> buffers_;
};

} // namespace bough::detail

#endif
