// SPDX-License-Identifier: BSL-1.0
// Schedules made by hand, and what verify says of them.
#ifndef BOUGH_TEST_SCHEDULE_MADE_HPP
#define BOUGH_TEST_SCHEDULE_MADE_HPP

#include <bough/verify/verify.hpp>

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace test {

using steps = std::vector<bough::step>;

// One list of steps per rank; every rank may use `scratch_blocks`.
constexpr bough::verdict judge(auto goal, const bough::dimensions& at, const std::vector<steps>& ranks,
                               bough::verify_options options = {}, bough::block_t scratch_blocks = 8) {
    std::vector<bough::schedule> schedules;
    for (const steps& of_rank : ranks) schedules.push_back(bough::schedule{of_rank});
    const std::vector<bough::block_t> scratch(ranks.size(), scratch_blocks);
    return bough::verify_schedules(goal, at, schedules, scratch, options);
}

// The same, for lists written in place (a vector of vectors written there is no constant expression to g++ 12).
constexpr bough::verdict judge(auto goal, const bough::dimensions& at,
                               std::initializer_list<std::initializer_list<bough::step>> ranks,
                               bough::verify_options options = {}, bough::block_t scratch_blocks = 8) {
    std::vector<steps> lists;
    for (const auto& of_rank : ranks) lists.emplace_back(of_rank.begin(), of_rank.end());
    return judge(goal, at, lists, options, scratch_blocks);
}

// Block b of a buffer; blocks [first, first + count).
constexpr bough::slice in(bough::block_t first, bough::block_t count = 1) { return {bough::input, first, count}; }
constexpr bough::slice out(bough::block_t first, bough::block_t count = 1) { return {bough::output, first, count}; }
constexpr bough::slice plane(std::uint32_t number, bough::block_t first = 0, bough::block_t count = 1) {
    return {bough::scratch(number), first, count};
}

} // namespace test

#endif
