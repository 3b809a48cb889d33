// SPDX-License-Identifier: BSL-1.0
// Counts the blocks of scratch memory that steps write, for algorithms that are made of others.
#ifndef BOUGH_ALGORITHM_DETAIL_SCRATCH_USE_HPP
#define BOUGH_ALGORITHM_DETAIL_SCRATCH_USE_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/packed_loads.hpp>
#include <bough/schedule/step_ref.hpp>

#include <algorithm>

namespace bough::inline BOUGH_ABI::detail {

// A sink. It is a step_ref, so that no algorithm is compiled once more for it. Time and memory: those of
// sorting the steps that write scratch.
template <int = 0>
class scratch_use final : public step_ref {
public:
    // How many blocks, each counted once; of a packed plane as many as it ever holds.
    constexpr block_t blocks() {
        std::sort(written_.begin(), written_.end(), [](const slice& a, const slice& b) {
            return a.buffer.index != b.buffer.index ? a.buffer.index < b.buffer.index : a.first < b.first;
        });
        auto count = static_cast<block_t>(loads_.most_blocks());
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
    constexpr void take(const step& s) override {
        if (s.reads_a()) read(s.a);
        if (s.reads_b()) read(s.b);
        if (s.writes()) add(s);
    }
    constexpr void read(const slice& s) {
        if (s.buffer.packed != 0 && s.count != 0) loads_.read(s);
    }
    constexpr void add(const step& s) {
        if (s.out.buffer.packed != 0 && s.out.count != 0)
            loads_.write(s);
        else if (is_scratch(s.out.buffer))
            written_.push_back(s.out);
    }
    plain_list<slice> written_; // not packed
    packed_loads<> loads_;
};

// What an algorithm's scratch(at, rank) may say: the blocks that its steps write.
template <class A>
constexpr block_t written_scratch(const A& algorithm, const dimensions& at, rank_t rank) {
    scratch_use<> use;
    algorithm.emit(at, rank, static_cast<step_ref&>(use));
    return use.blocks();
}

} // namespace bough::detail

#endif
