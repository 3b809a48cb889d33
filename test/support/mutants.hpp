// SPDX-License-Identifier: BSL-1.0
// Simple mutants of a proved plan: a step dropped, a message sent elsewhere, another block. verify must object to each.
#ifndef BOUGH_TEST_SUPPORT_MUTANTS_HPP
#define BOUGH_TEST_SUPPORT_MUTANTS_HPP

#include "support/catch.hpp"
#include <bough/schedule/print.hpp>
#include <bough/verify/verify.hpp>

#include <cstddef>
#include <vector>

namespace test {

// Returns how many mutants there were. Every one must be a fault, or have other traits.
template <bough::Plan P>
std::size_t spoil(const P& plan) {
    using namespace bough;
    std::vector<schedule> schedules;
    std::vector<block_t> scratch;
    for (rank_t r = 0; r != plan.size(); ++r) {
        schedules.push_back(plan.schedule_of(r));
        scratch.push_back(plan.scratch(r));
    }
    const dimensions at{plan.size(), plan.root(), plan.blocks()};
    const auto judge = [&] { return verify_schedules(plan.goal(), at, schedules, scratch); };
    const verdict proof = judge();
    REQUIRE(proof);
    std::size_t mutants = 0;
    for (rank_t r = 0; r != plan.size(); ++r) {
        const schedule original = schedules[r];
        const auto try_mutant = [&](const char* kind, std::size_t i) {
            ++mutants;
            const verdict now = judge();
            if (now && now == proof) {
                UNSCOPED_INFO(kind << " of step " << i << " on rank " << r << " of:\n" << original);
                CHECK(false);
            }
            schedules[r] = original;
        };
        for (std::size_t i = 0; i != original.size(); ++i) {
            schedules[r].steps.erase(schedules[r].steps.begin() + static_cast<std::ptrdiff_t>(i));
            try_mutant("loss", i);
            if (original[i].communicates()) {
                schedules[r].steps[i].peer = (original[i].peer + 1) % plan.size();
                try_mutant("retargeting", i);
            }
            if (original[i].writes() && plan.blocks() > 1) {
                slice& out = schedules[r].steps[i].out;
                out.first = out.last() == plan.blocks() ? out.first - 1 : out.first + 1;
                try_mutant("another block", i);
            }
        }
    }
    return mutants;
}

} // namespace test

#endif
