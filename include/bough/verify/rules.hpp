// SPDX-License-Identifier: BSL-1.0
// The parts of `verify` that look at one rank only: rules that a step obeys by itself, and what is
// counted in schedules.
#ifndef BOUGH_VERIFY_RULES_HPP
#define BOUGH_VERIFY_RULES_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/block_places.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/packed_loads.hpp>
#include <bough/schedule/traits.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

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

template <Plan P>
constexpr dimensions dimensions_of(const P& plan) noexcept {
    return {plan.size(), plan.root(), plan.blocks()};
}
// The options of a proof, with what the plan's algorithm claims.
template <Plan P>
constexpr verify_options claimed_options(const P& plan, verify_options options) {
    if constexpr (requires {
                      plan.algorithm();
                      plan.at();
                  }) {
        options.in_rank_order |= bough::keeps_rank_order(plan.algorithm(), plan.at());
        if constexpr (requires { plan.algorithm().rank_consistent(plan.at()); })
            options.same_bits |= plan.algorithm().rank_consistent(plan.at());
        else if constexpr (requires { plan.algorithm().claims(plan.at()); }) {
            const claims said = plan.algorithm().claims(plan.at());
            options.same_bits |= said.says_consistent && said.rank_consistent;
        }
    }
    return options;
}

struct step_fault {
    fault what = fault::none;
    block_t block = 0;
};

// Checks one step. `next` is the step behind it, or null.
constexpr step_fault check_step(const step& s, const step* next, rank_t rank, const dimensions& at) {
    const bool sends = s.verb == verb::send, receives = s.verb == verb::receive, combines = s.verb == verb::combine;
    const auto outside = [&at](const slice& used) {
        return used.count > at.blocks || used.first > at.blocks - used.count;
    };
    if (sends || receives) {
        if (s.peer >= at.size || s.peer == rank) return {fault::bad_peer};
        if (s.more && (next == nullptr || next->verb != s.verb || next->peer != s.peer))
            return {fault::broken_message, sends ? s.a.first : s.out.first};
    } else {
        if (s.more) return {fault::broken_message, s.out.first};
        if (s.a.count != s.out.count || (combines && s.b.count != s.out.count)) return {fault::bad_slice, s.out.first};
    }
    if (!receives && outside(s.a)) return {fault::bad_slice, s.a.first};
    if (combines && outside(s.b)) return {fault::bad_slice, s.b.first};
    if (sends) return {};
    if (outside(s.out)) return {fault::bad_slice, s.out.first};
    if (s.out.buffer.index == input.index && s.out.count != 0) return {fault::write_to_input, s.out.first};
    // The blocks of a vector differ in length when its elements do not divide evenly.
    if (!receives && (s.a.first != s.out.first || (combines && s.b.first != s.out.first))) {
        const bool partly_a = s.a.first != s.out.first && overlap(s.a, s.out);
        const bool partly_b = combines && s.b.first != s.out.first && overlap(s.b, s.out);
        return {partly_a || partly_b ? fault::overlapping_operands : fault::mixed_blocks, s.out.first};
    }
    return {};
}

struct scratch_fault {
    fault what = fault::none;
    std::size_t step = 0;
    block_t block = 0;
};

// Checks what the steps of a rank do with packed planes: what is read there is held, no load has a
// block twice, and a buffer is packed in every step or in none. The largest loads count as scratch
// blocks. `kinds` has a zero for each buffer.
constexpr scratch_fault check_packed(std::span<const step> steps, block_t limit, unsigned char* kinds,
                                     packed_loads<>& loads, std::uint64_t& used) {
    loads.clear();
    const auto is_mixed = [&](const slice& s) {
        if (s.count == 0) return false;
        const auto kind = static_cast<unsigned char>(s.buffer.packed != 0 ? 2 : 1);
        return (kinds[s.buffer.index] |= kind) == 3 || (kind == 2 && !is_scratch(s.buffer));
    };
    const auto is_gone = [&](const slice& s) {
        return s.buffer.packed != 0 && s.count != 0 && loads.read(s) == not_loaded;
    };
    const step* const all = steps.data();
    const std::size_t count = steps.size();
    for (std::size_t i = 0; i != count; ++i) {
        const step& s = all[i];
        if (s.reads_a() && is_mixed(s.a)) return {fault::bad_load, i, s.a.first};
        if (s.reads_b() && is_mixed(s.b)) return {fault::bad_load, i, s.b.first};
        if (s.writes() && is_mixed(s.out)) return {fault::bad_load, i, s.out.first};
        if (s.reads_a() && is_gone(s.a)) return {fault::read_of_nothing, i, s.a.first};
        if (s.reads_b() && is_gone(s.b)) return {fault::read_of_nothing, i, s.b.first};
        if (!s.writes() || s.out.buffer.packed == 0 || s.out.count == 0) continue;
        if (loads.overlaps_another(loads.write(s))) return {fault::bad_load, i, s.out.first};
        if (loads.most_blocks() > limit) return {fault::scratch_exceeded, i, s.out.first};
    }
    used += loads.most_blocks();
    return {};
}

// Counts the scratch blocks that the steps of a rank write to planes that are not packed, each once.
// `touched` is settled; `written` has a zero for each of its places.
constexpr scratch_fault check_scratch(std::span<const step> steps, const block_places<>& touched, block_t limit,
                                      unsigned char* written, std::uint64_t& used) {
    if (touched.buffers() <= 2) return {};
    const step* const all = steps.data();
    const std::size_t count = steps.size();
    for (std::size_t i = 0; i != count; ++i) {
        const slice& out = all[i].out;
        // What is never written must not be read either.
        if (all[i].verb == verb::send || !is_scratch(out.buffer) || out.buffer.packed != 0 || out.count == 0) continue;
        unsigned char* const marks = written + touched.at(out.buffer.index, out.first);
        for (block_t k = 0; k != out.count; ++k)
            if (marks[k] == 0) {
                marks[k] = 1;
                if (++used > limit) return {fault::scratch_exceeded, i, out.first + k};
            }
    }
    return {};
}

// Adds the counts of one rank's steps to the traits of all. `met` has an entry for every rank: the
// rank whose peer it was last.
constexpr void add_counts(plan_traits& traits, std::span<const step> steps, rank_t rank, rank_t* met) {
    std::uint64_t sent = 0;
    std::uint64_t combined = 0;
    std::uint32_t peers = 0;
    const step* const end = steps.data() + steps.size();
    for (const step* s = steps.data(); s != end; ++s) {
        if (s->verb == verb::send)
            sent += s->a.count, traits.messages += s->more ? 0u : 1u;
        else if (s->verb != verb::receive) {
            if (s->verb == verb::combine) combined += s->out.count;
            continue;
        }
        if (met[s->peer] != rank) ++peers, met[s->peer] = rank;
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
