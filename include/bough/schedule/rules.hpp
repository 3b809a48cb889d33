// SPDX-License-Identifier: BSL-1.0
// Rules that a step obeys by itself, and what schedules count: the parts of `verify` that look at one rank only.
#ifndef BOUGH_SCHEDULE_RULES_HPP
#define BOUGH_SCHEDULE_RULES_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/schedule/traits.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bough::detail {

struct step_fault {
    fault what = fault::none;
    block_t block = 0;
};

// `next`: the step behind it, if any.
constexpr step_fault check_step(const step& s, const step* next, rank_t rank, const dimensions& at) {
    if (s.communicates() && (s.peer >= at.size || s.peer == rank)) return {fault::bad_peer};
    if (s.more && (!s.communicates() || next == nullptr || next->verb != s.verb || next->peer != s.peer))
        return {fault::broken_message, s.verb == verb::send ? s.a.first : s.out.first};
    if (s.verb == verb::combine && (s.a.count != s.out.count || s.b.count != s.out.count))
        return {fault::bad_slice, s.out.first};
    if (s.verb == verb::copy && s.a.count != s.out.count) return {fault::bad_slice, s.out.first};
    for (const slice& used : {s.reads_a() ? s.a : slice{}, s.reads_b() ? s.b : slice{}, s.writes() ? s.out : slice{}})
        if (used.count > at.blocks || used.first > at.blocks - used.count) return {fault::bad_slice, used.first};
    if (s.writes() && s.out.buffer == input && s.out.count != 0) return {fault::write_to_input, s.out.first};
    if (s.communicates()) return {};
    const bool partly_a = overlap(s.a, s.out) && s.a.first != s.out.first;
    const bool partly_b = s.reads_b() && overlap(s.b, s.out) && s.b.first != s.out.first;
    if (partly_a || partly_b) return {fault::overlapping_operands, s.out.first};
    // The blocks of a vector differ in length when its elements do not divide evenly.
    if (s.a.first != s.out.first || (s.reads_b() && s.b.first != s.out.first))
        return {fault::mixed_blocks, s.out.first};
    return {};
}

// Adds what one rank's steps count to the traits of all.
constexpr void add_counts(plan_traits& traits, const schedule& steps) {
    step_counts counts;
    std::vector<rank_t> peers;
    for (const step& s : steps) {
        push_step(counts, s);
        if (s.communicates()) peers.push_back(s.peer);
    }
    std::sort(peers.begin(), peers.end());
    const auto distinct = std::unique(peers.begin(), peers.end()) - peers.begin();
    traits.peers_max = std::max(traits.peers_max, static_cast<std::uint32_t>(distinct));
    traits.steps_max = std::max(traits.steps_max, static_cast<std::uint32_t>(steps.size()));
    traits.messages += counts.sends;
    traits.volume += counts.blocks_sent;
    traits.volume_max = std::max(traits.volume_max, counts.blocks_sent);
    traits.combines += counts.blocks_combined;
    traits.combines_max = std::max(traits.combines_max, counts.blocks_combined);
}

} // namespace bough::detail

#endif
