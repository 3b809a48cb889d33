// SPDX-License-Identifier: BSL-1.0
// symbolic_memory: the buffers of all ranks, with a symbolic value in each block, and what steps do
// with these values.
#ifndef BOUGH_VERIFY_PROVER_SYMBOLIC_MEMORY_HPP
#define BOUGH_VERIFY_PROVER_SYMBOLIC_MEMORY_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/schedule/traits.hpp>
#include <bough/verify/bracket.hpp>
#include <bough/verify/prover/findings.hpp>
#include <bough/verify/prover/step_graph.hpp>

#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// What a block of a buffer holds.
struct symbolic_block {
    std::uint32_t bracket = no_bracket; // no_bracket: nothing yet
    block_t block = 0;                  // which block of the vector
    std::uint32_t hops = 0;             // messages on the longest way here
    bool written = false;               // has a step written it?
};

// What the memory holds.
struct symbolic_contents {
    plain_list<symbolic_block> cells{};
    plain_list<symbolic_block> under_way{}; // what messages carry
    bough::detail::brackets brackets{0};
};

template <class Goal>
class symbolic_memory {
public:
    constexpr symbolic_memory(const dimensions& at, const step_graph& graph, symbolic_contents& holds, findings& found)
        : at_(at), graph_(graph), holds_(holds), found_(found) {}

    // Puts the contribution of each rank into its input.
    constexpr void start(const Goal& goal) {
        holds_.brackets = bough::detail::brackets(at_.size);
        holds_.cells.resize(graph_.cells, symbolic_block{});
        for (rank_t r = 0; r != at_.size && at_.blocks != 0; ++r) {
            symbolic_block* const in = at(r, input);
            for (block_t b = 0; b != at_.blocks; ++b)
                if (goal.holds(at_, r, b)) in[b] = {r, b, 0, false};
        }
    }
    constexpr const symbolic_block& result(rank_t r, block_t b) const noexcept {
        return holds_.cells.data()[graph_.origins[graph_.buffers[r] + output.index] + b];
    }
    constexpr const bough::detail::brackets& brackets() const noexcept { return holds_.brackets; }

    // Runs node `n`, which is a copy or a combine. False: a fault was found.
    constexpr bool run(std::uint32_t n) {
        const step& s = graph_.steps[n];
        if (s.out.count == 0) return true; // its buffer may have no cells
        const rank_t r = graph_.rank_of[n];
        const bool combines = s.verb == verb::combine;
        symbolic_block* const cells = holds_.cells.data();
        const std::size_t* const origins = graph_.origins + graph_.buffers[r];
        const symbolic_block* const a = cells + (origins[s.a.buffer.index] + s.a.first);
        const symbolic_block* const b = combines ? cells + (origins[s.b.buffer.index] + s.b.first) : nullptr;
        symbolic_block* const out = cells + (origins[s.out.buffer.index] + s.out.first);
        for (block_t k = 0; k != s.out.count; ++k) {
            if (!may_read(n, s.a, k, a[k])) return false;
            symbolic_block made = a[k];
            if (combines && (!may_read(n, s.b, k, b[k]) || !combine(n, made, b[k], s.out.first + k))) return false;
            made.written = true;
            out[k] = made;
        }
        return true;
    }

    // Carries a message from its sender's memory to its receiver's. False: a fault was found.
    constexpr bool carry(const paired_message& m) {
        if (!read_message(m)) return false;
        write_message(m, 0);
        holds_.under_way.clear();
        return true;
    }
    // Reads what a message carries, behind what was read before. False: a fault was found.
    constexpr bool read_message(const paired_message& m) {
        const std::size_t before = holds_.under_way.size();
        const symbolic_block* const cells = holds_.cells.data();
        const std::size_t* const origins = graph_.origins + graph_.buffers[graph_.rank_of[m.send]];
        std::uint32_t most_hops = found_.traits().hops;
        for (std::uint32_t n = m.send + 1 - m.parts; n != m.send + 1; ++n) {
            const slice& from = graph_.steps[n].a;
            if (from.count == 0) continue;
            const symbolic_block* const sent = cells + (origins[from.buffer.index] + from.first);
            for (block_t k = 0; k != from.count; ++k) {
                if (!may_read(n, from, k, sent[k])) return false;
                holds_.under_way.push_back({sent[k].bracket, sent[k].block, sent[k].hops + 1, true});
                if (most_hops <= sent[k].hops) most_hops = sent[k].hops + 1;
            }
        }
        found_.traits().hops = holds_.under_way.size() == before && most_hops == 0 ? 1u : most_hops;
        return true;
    }
    // Where the next message will be kept.
    constexpr std::size_t payload_of_next() const noexcept { return holds_.under_way.size(); }
    // Writes what read_message() has read.
    constexpr void write_message(const paired_message& m, std::size_t payload) {
        const symbolic_block* carried = holds_.under_way.data() + payload;
        symbolic_block* const cells = holds_.cells.data();
        const std::size_t* const origins = graph_.origins + graph_.buffers[graph_.rank_of[m.receive]];
        for (std::uint32_t n = m.receive + 1 - m.parts; n != m.receive + 1; ++n) {
            const slice& into = graph_.steps[n].out;
            if (into.count == 0) continue;
            symbolic_block* const out = cells + (origins[into.buffer.index] + into.first);
            for (block_t k = 0; k != into.count; ++k) out[k] = *carried++;
        }
    }

private:
    constexpr symbolic_block* at(rank_t r, buffer b) noexcept {
        return holds_.cells.data() + graph_.origins[graph_.buffers[r] + b.index];
    }
    // May node `n` read block k of a slice, which holds `there`? Notes the fault if not.
    constexpr bool may_read(std::uint32_t n, const slice& s, block_t k, const symbolic_block& there) {
        // In place, the output holds the input before it is written; out of place it holds nothing.
        return there.bracket == no_bracket ? fail(fault::read_of_nothing, n, s.first + k)
               : Goal::in_place && s.buffer.index == input.index && result(graph_.rank_of[n], s.first + k).written
                   ? fail(fault::in_place_hazard, n, s.first + k)
                   : true;
    }
    constexpr bool fail(fault what, std::uint32_t n, block_t block, rank_t peer = no_rank) {
        return found_.fail(what, graph_.rank_of[n], graph_.index_of(n), block, peer);
    }
    // Combines `right` into `left`, for block `to` of the result of node `n`. False: a fault was found.
    constexpr bool combine(std::uint32_t n, symbolic_block& left, const symbolic_block& right, block_t to) {
        if (left.block != right.block) return fail(fault::mixed_blocks, n, to);
        const std::uint32_t made = holds_.brackets.combine(left.bracket, right.bracket);
        if (!allows_repeats_v<Goal> && holds_.brackets.repeats(made))
            return fail(fault::repeated_contribution, n, to, holds_.brackets.shared(left.bracket, right.bracket));
        left.bracket = made;
        if (left.hops < right.hops) left.hops = right.hops;
        return true;
    }

    dimensions at_;
    const step_graph& graph_;
    symbolic_contents& holds_;
    findings& found_;
};

} // namespace bough::detail

#endif
