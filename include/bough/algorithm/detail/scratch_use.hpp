// SPDX-License-Identifier: BSL-1.0
// Counts the blocks of scratch memory that steps write, for algorithms that are made of others.
#ifndef BOUGH_ALGORITHM_DETAIL_SCRATCH_USE_HPP
#define BOUGH_ALGORITHM_DETAIL_SCRATCH_USE_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/slice.hpp>

#include <algorithm>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// A sink. Time and memory: those of sorting the steps that write scratch.
template <int = 0>
class scratch_use {
public:
    constexpr void send(rank_t, slice) {}
    constexpr void send_part(rank_t, slice) {}
    constexpr void receive(rank_t, slice into) { add(into); }
    constexpr void receive_part(rank_t, slice into) { add(into); }
    constexpr void combine(slice, slice, slice out) { add(out); }
    constexpr void copy(slice, slice to) { add(to); }

    // How many blocks, each counted once.
    constexpr block_t blocks() {
        std::sort(written_.begin(), written_.end(), [](const slice& a, const slice& b) {
            return a.buffer.index != b.buffer.index ? a.buffer.index < b.buffer.index : a.first < b.first;
        });
        block_t count = 0;
        slice seen{}; // from here to its end, of this buffer, all is counted
        for (const slice& s : written_) {
            if (s.buffer != seen.buffer) seen = {s.buffer, 0, 0};
            const block_t first = std::max(s.first, seen.last());
            if (s.last() <= first) continue;
            count += s.last() - first;
            seen = {s.buffer, 0, s.last()};
        }
        return count;
    }

private:
    constexpr void add(const slice& s) {
        if (is_scratch(s.buffer)) written_.push_back(s);
    }
    std::vector<slice> written_;
};

// What an algorithm's scratch(at, rank) may say: the blocks that its steps write.
template <class A>
constexpr block_t written_scratch(const A& algorithm, const dimensions& at, rank_t rank) {
    scratch_use<> use;
    algorithm.emit(at, rank, use);
    return use.blocks();
}

} // namespace bough::detail

#endif
