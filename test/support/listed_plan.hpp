// SPDX-License-Identifier: BSL-1.0
// What the tests of the walk and of the simulator share: a plan written down step by step, and a model whose costs all
// differ.
#ifndef BOUGH_TEST_SUPPORT_LISTED_PLAN_HPP
#define BOUGH_TEST_SUPPORT_LISTED_PLAN_HPP

#include <bough/core/rank.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/schedule.hpp>

#include <cstdint>
#include <vector>

namespace test {

using bough::block_t;
using bough::rank_t;

// A plan from schedules written down one by one.
struct listed_plan {
    std::vector<bough::schedule> ranks;
    block_t blocks_ = 1;
    rank_t root_ = 0;

    constexpr int goal() const { return 0; }
    constexpr rank_t size() const { return static_cast<rank_t>(ranks.size()); }
    constexpr rank_t root() const { return root_; }
    constexpr block_t blocks() const { return blocks_; }
    constexpr block_t scratch(rank_t) const { return 0; }
    constexpr void emit(rank_t r, auto&& sink) const {
        for (const bough::step& s : ranks[r]) bough::push_step(sink, s);
    }
};

// Every cost different, for every pair and size.
struct uneven {
    constexpr double start_ns() const { return 3; }
    constexpr double send_ns(rank_t from, rank_t to, std::uint64_t bytes) const {
        return 1.5 + from * 0.25 + to * 0.125 + 0.5 * static_cast<double>(bytes);
    }
    constexpr double latency_ns(rank_t from, rank_t to, std::uint64_t bytes) const {
        return 10 + (from * 7 + to * 13) % 5 + static_cast<double>(bytes);
    }
    constexpr double receive_ns(rank_t from, rank_t to, std::uint64_t bytes) const {
        return 2 + from * 0.5 + to * 0.0625 + 0.25 * static_cast<double>(bytes);
    }
    constexpr double combine_ns(rank_t rank, std::uint64_t bytes) const {
        return 1 + rank + 2 * static_cast<double>(bytes);
    }
    constexpr double copy_ns(rank_t rank, std::uint64_t bytes) const { return rank + static_cast<double>(bytes); }
};

} // namespace test

#endif
