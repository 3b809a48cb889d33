// SPDX-License-Identifier: BSL-1.0
// How much scratch memory the steps of a rank use, counted by a walk of its own.
#ifndef BOUGH_TEST_ALGORITHM_SCRATCH_USED_HPP
#define BOUGH_TEST_ALGORITHM_SCRATCH_USED_HPP

#include <bough/schedule/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace test {

// How many blocks of scratch a rank's steps write, counted one by one; of a packed plane, as many as it
// ever holds.
template <bough::Plan P>
std::uint64_t scratch_used(const P& plan, bough::rank_t r) {
    struct load {
        std::set<bough::block_t> blocks;
        bool is_read = false;
        std::size_t most = 0;
    };
    std::set<std::pair<std::uint32_t, bough::block_t>> used;
    std::map<std::uint32_t, load> packed;
    for (const bough::step& s : plan.schedule_of(r)) {
        for (const bough::slice& read : {s.a, s.b})
            if (read.buffer.packed != 0) packed[read.buffer.index].is_read = true;
        for (bough::block_t b = s.out.first; s.writes() && is_scratch(s.out.buffer) && b != s.out.last(); ++b) {
            if (s.out.buffer.packed == 0) {
                used.insert({s.out.buffer.index, b});
                continue;
            }
            load& now = packed[s.out.buffer.index];
            if (s.a == s.out || s.b == s.out) continue;
            if (now.is_read) now = {{}, false, now.most};
            now.blocks.insert(b);
            now.most = std::max(now.most, now.blocks.size());
        }
    }
    std::uint64_t most = used.size();
    for (const auto& [plane, loads] : packed) most += loads.most;
    return most;
}

} // namespace test

#endif
