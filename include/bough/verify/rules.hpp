// SPDX-License-Identifier: BSL-1.0
// The parts of `verify` that look at one rank only: rules that a step obeys by itself, and what is
// counted in schedules.
#ifndef BOUGH_VERIFY_RULES_HPP
#define BOUGH_VERIFY_RULES_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/block_places.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/schedule/traits.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI {

struct verify_options {
    std::uint32_t eager_slots = 0; // how many messages a channel buffers; 0: a send waits for its receive
    // Does a message that only one combine reads stay with its sender until it is combined? Engines
    // do this with the long messages of algorithms that claim may_hold. Only without eager slots.
    bool hold = false;
    bool in_rank_order = false; // prove, too, that all results are in rank order
    // Prove, too, that ranks that get the same block get it from the same combines.
    bool same_bits = false;
};

} // namespace bough

namespace bough::inline BOUGH_ABI::detail {

struct step_fault {
    fault what = fault::none;
    block_t block = 0;
};

// Checks one step. `next` is the step behind it, or null.
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

struct scratch_fault {
    fault what = fault::none;
    std::size_t step = 0;
    block_t block = 0;
};

// Counts the scratch blocks that the steps of a rank write, each once. `written` is memory to work in.
constexpr scratch_fault check_scratch(const schedule& steps, block_places<>& touched, block_t limit,
                                      std::vector<unsigned char>& written, std::uint64_t& used) {
    if (touched.buffers() <= 2) return {};
    written.assign(touched.settle(), 0);
    for (std::size_t i = 0; i != steps.size(); ++i) {
        const step& s = steps[i];
        // What is never written must not be read either.
        if (!s.writes() || !is_scratch(s.out.buffer)) continue;
        for (block_t b = s.out.first; b != s.out.last(); ++b) {
            unsigned char& mark = written[touched.at(s.out.buffer.index, b)];
            if (mark != 0) continue;
            mark = 1;
            if (++used > limit) return {fault::scratch_exceeded, i, b};
        }
    }
    return {};
}

// Adds the counts of one rank's steps to the traits of all. `met` has an entry for every rank: the
// rank whose peer it was last.
constexpr void add_counts(plan_traits& traits, const schedule& steps, rank_t rank, std::vector<rank_t>& met) {
    std::uint64_t sent = 0;
    std::uint64_t combined = 0;
    std::uint32_t peers = 0;
    for (const step& s : steps) {
        if (s.verb == verb::combine) combined += s.out.count;
        if (s.verb == verb::combine || s.verb == verb::copy) continue;
        if (met[s.peer] != rank) ++peers, met[s.peer] = rank;
        if (s.verb == verb::receive) continue;
        sent += s.a.count;
        if (!s.more) ++traits.messages;
    }
    traits.peers_max = std::max(traits.peers_max, peers);
    traits.steps_max = std::max(traits.steps_max, static_cast<std::uint32_t>(steps.size()));
    traits.volume += sent;
    traits.volume_max = std::max(traits.volume_max, sent);
    traits.combines += combined;
    traits.combines_max = std::max(traits.combines_max, combined);
}

} // namespace bough::detail

#endif
