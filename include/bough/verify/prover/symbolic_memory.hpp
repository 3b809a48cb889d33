// SPDX-License-Identifier: BSL-1.0
// symbolic_memory: the buffers of all ranks, with a symbolic value in each block, and what steps do
// with these values.
#ifndef BOUGH_VERIFY_PROVER_SYMBOLIC_MEMORY_HPP
#define BOUGH_VERIFY_PROVER_SYMBOLIC_MEMORY_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/block_places.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/schedule/traits.hpp>
#include <bough/verify/bracket.hpp>
#include <bough/verify/prover/findings.hpp>
#include <bough/verify/prover/step_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// What a block of a buffer holds.
struct symbolic_block {
    std::uint32_t bracket = no_bracket; // no_bracket: nothing yet
    block_t block = 0;                  // which block of the vector
    std::uint32_t hops = 0;             // messages on the longest way here
    bool written = false;               // has a step written it?
};

template <class Goal>
class symbolic_memory {
public:
    constexpr symbolic_memory(const dimensions& at, const step_graph& graph, findings& found)
        : at_(at), graph_(graph), found_(found), brackets_(at.size) {
        first_.reserve(at_.size);
        blocks_.reserve(std::size_t{3} * at_.size * at_.blocks); // input, output and a plane of scratch
    }

    // Adds the memory of the next rank, with its contribution in the input. `touched` has what its steps
    // touch, and all of the input and the output.
    constexpr void add_rank(const Goal& goal, block_places<>& touched) {
        const auto r = static_cast<rank_t>(first_.size());
        first_.push_back(origins_.size());
        blocks_.resize(touched.settle(blocks_.size()), symbolic_block{});
        for (std::size_t b = 0; b != touched.buffers(); ++b) origins_.push_back(touched.origin(b));
        for (block_t b = 0; b != at_.blocks; ++b)
            if (goal.holds(at_, r, b)) at(r, input, b) = {brackets_.leaf(r), b, 0, false};
    }
    constexpr const symbolic_block& result(rank_t r, block_t b) const noexcept { return blocks_[place(r, output, b)]; }
    constexpr const bough::detail::brackets& brackets() const noexcept { return brackets_; }

    // Runs node `n`, which is a copy or a combine. False: a fault was found.
    constexpr bool run(std::uint32_t n) {
        const step& s = graph_.step_of(n);
        for (block_t k = 0; k != s.out.count; ++k) {
            symbolic_block made = read(n, s.a, k);
            if (s.verb == verb::combine) combine(n, made, read(n, s.b, k), s.out.first + k);
            if (found_.failed()) return false;
            made.written = true;
            at(graph_.rank_of(n), s.out.buffer, s.out.first + k) = made;
        }
        return true;
    }

    // Reads what a message carries. Returns where that is kept; after a fault it is not whole.
    constexpr std::size_t read_message(const step_graph::message& m) {
        const std::size_t payload = under_way_.size();
        std::uint32_t& most_hops = found_.traits().hops;
        for (std::uint32_t n = m.send + 1 - m.parts; n != m.send + 1; ++n) {
            const slice& from = graph_.step_of(n).a;
            for (block_t k = 0; k != from.count; ++k) {
                const symbolic_block& sent = read(n, from, k);
                if (found_.failed()) return payload;
                under_way_.push_back({sent.bracket, sent.block, sent.hops + 1, true});
                most_hops = std::max(most_hops, sent.hops + 1);
            }
        }
        if (under_way_.size() == payload) most_hops = std::max(most_hops, 1u);
        return payload;
    }
    // Writes what read_message() has read.
    constexpr void write_message(const step_graph::message& m, std::size_t payload) {
        for (std::uint32_t n = m.receive + 1 - m.parts; n != m.receive + 1; ++n) {
            const slice& into = graph_.step_of(n).out;
            for (block_t k = 0; k != into.count; ++k)
                at(graph_.rank_of(n), into.buffer, into.first + k) = under_way_[payload++];
        }
    }
    // Forgets all messages that were read.
    constexpr void forget_messages() noexcept { under_way_.clear(); }

private:
    constexpr std::size_t place(rank_t r, buffer b, block_t k) const noexcept {
        return origins_[first_[r] + b.index] + k;
    }
    constexpr symbolic_block& at(rank_t r, buffer b, block_t k) noexcept { return blocks_[place(r, b, k)]; }

    // Block k of a slice that node `n` reads. Notes a fault if the node must not read it.
    constexpr const symbolic_block& read(std::uint32_t n, const slice& s, block_t k) {
        const rank_t r = graph_.rank_of(n);
        const block_t block = s.first + k;
        const symbolic_block& found = at(r, s.buffer, block);
        // In place, the output holds the input before it is written; out of place it holds nothing.
        if (found.bracket == no_bracket)
            found_.fail(fault::read_of_nothing, r, graph_.index_of(n), block);
        else if (Goal::in_place && s.buffer == input && at(r, output, block).written)
            found_.fail(fault::in_place_hazard, r, graph_.index_of(n), block);
        return found;
    }

    // Combines `right` into `left`, for block `to` of the result of node `n`.
    constexpr void combine(std::uint32_t n, symbolic_block& left, const symbolic_block& right, block_t to) {
        if (found_.failed()) return;
        if (left.block != right.block) {
            found_.fail(fault::mixed_blocks, graph_.rank_of(n), graph_.index_of(n), to);
            return;
        }
        const std::uint32_t made = brackets_.combine(left.bracket, right.bracket);
        if (brackets_.repeats(made) && !allows_repeats_v<Goal>)
            found_.fail(fault::repeated_contribution, graph_.rank_of(n), graph_.index_of(n), to,
                        brackets_.shared(left.bracket, right.bracket));
        left.bracket = made;
        left.hops = std::max(left.hops, right.hops);
    }

    dimensions at_;
    const step_graph& graph_;
    findings& found_;
    bough::detail::brackets brackets_;
    std::vector<std::size_t> first_;   // by rank: where its buffers begin in origins_
    std::vector<std::size_t> origins_; // by buffer: where in blocks_ its block 0 would be
    std::vector<symbolic_block> blocks_;
    std::vector<symbolic_block> under_way_; // what messages carry
};

} // namespace bough::detail

#endif
