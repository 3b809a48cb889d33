// SPDX-License-Identifier: BSL-1.0
// A prepared operation: a bound schedule with all the memory that it needs to run. It is made once
// and run many times. After the first run with a given layout (count, element size, blocks),
// running it again allocates nothing and computes no offsets. A plan of few steps also keeps the
// layouts before: a program may call it with a few lengths in turns.
#ifndef BOUGH_ENGINE_PREPARED_HPP
#define BOUGH_ENGINE_PREPARED_HPP

#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/search.hpp>
#include <bough/engine/bound.hpp>
#include <bough/engine/call.hpp>
#include <bough/engine/engine.hpp>
#include <bough/engine/prepared/block_offsets.hpp>
#include <bough/engine/prepared/kept_layouts.hpp>
#include <bough/engine/prepared/scratch_planes.hpp>
#include <bough/engine/straight_order.hpp>
#include <bough/engine/straight_run.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI {

template <int>
class basic_prepared {
public:
    explicit basic_prepared(bound_schedule bound)
        : bound_(std::move(bound)), waits_(bound_.steps.size(), 0), ready_(bound_.steps.size(), 0),
          blocked_(bound_.steps.size(), 0), held_(bound_.steps.size(), held_message{}),
          places_(bound_.places.size(), place_bytes{}), buffers_(2 + bound_.planes.size(), nullptr),
          incoming_(bound_.channels.begin(), bound_.channels.end()), operands_(bound_.series_operands(), nullptr),
          scratch_(bound_),
          straight_list_(bound_.steps.size() <= most_short_steps ? straight_order(bound_.view())
                                                                 : detail::plain_list<straight_step>{}),
          engine_(bound_.view(), {waits_, held_, ready_, blocked_, places_, buffers_, operands_}),
          straight_(straight_list_, places_, buffers_) {
        for (const bound_step& s : bound_.steps)
            if (s.verb == verb::send) outgoing_.push_back({s.peer});
        const auto before = [](const outgoing_channel& a, const outgoing_channel& b) { return a.peer < b.peer; };
        const auto same = [](const outgoing_channel& a, const outgoing_channel& b) { return a.peer == b.peer; };
        std::sort(outgoing_.begin(), outgoing_.end(), before);
        outgoing_.erase(std::unique(outgoing_.begin(), outgoing_.end(), same), outgoing_.end());
    }

    // The engine's spans point into this object.
    basic_prepared(const basic_prepared&) = delete;
    basic_prepared& operator=(const basic_prepared&) = delete;

    // Points the buffers at the data of a call. Allocates scratch if this call needs more than any
    // before it.
    void prepare(const call& c) {
        // The input is only read: no step writes buffer 0 (verify: write_to_input).
        buffers_[0] = const_cast<std::byte*>(c.input);
        buffers_[1] = c.output;
        if (!engine_.done()) { // the last run ended with its session: what it sent ahead does not count
            for (outgoing_channel& channel : outgoing_) channel = {.peer = channel.peer};
            engine_.forget();
        }
        if (!laid_out_.key.is_of(c)) find_layout(c);
        BOUGH_EXPECTS(c.combine_many == nullptr || bound_.series_operands() != 0 || !combines(),
                      "combine_many: only for plans that combine in series");
    }

    // The same for a call that had the layout of this number. False: that layout is no longer kept, or
    // the last run ended with its session. Then prepare() must be called.
    bool prepare_again(std::uint64_t number, const std::byte* from, std::byte* into) noexcept {
        if (!engine_.done()) return false;
        if (laid_out_.number != number &&
            !return_to([number](const detail::layout_name& known) { return known.number == number; }))
            return false;
        buffers_[0] = const_cast<std::byte*>(from);
        buffers_[1] = into;
        return true;
    }
    // Does the call have the layout of the one that was prepared last?
    bool is_laid_out_for(const call& c) const noexcept { return laid_out_.key.is_of(c); }
    // The number of that layout: two that differ never have the same.
    std::uint64_t layout_number() const noexcept { return laid_out_.number; }

    bough::engine& engine() noexcept { return engine_; }
    // The other way to run a call, if its messages are short (bough/engine/straight_run.hpp).
    straight_run& straight() noexcept { return straight_; }
    // Is the call that was prepared last a short one? It has no more than so many steps, and messages
    // of no more than so many bytes.
    bool is_short() const noexcept { return laid_out_.is_short; }
    static constexpr std::uint64_t short_message = 1024;
    static constexpr std::size_t most_short_steps = 256;
    // Starts the engine with the call that was prepared.
    template <EnginePort Port>
    void start(const call& c, Port& port) {
        for (incoming_channel& channel : incoming_) channel.arrived = 0;
        engine_.start(c, port);
    }
    // The call that was prepared is done without messages: none is awaited.
    void skip_messages() noexcept {
        for (incoming_channel& channel : incoming_) channel.arrived = channel.count;
    }
    // The engine goes on with what the straight run has begun.
    template <EnginePort Port>
    BOUGH_COLD void resume(Port& port) {
        for (incoming_channel& channel : incoming_) channel.arrived = 0;
        straight_.for_each_done([this](std::uint32_t i) {
            const bound_step& s = bound_.steps[i];
            if (s.verb != verb::receive) return;
            for (incoming_channel& channel : incoming_) channel.arrived += channel.peer == s.peer;
        });
        engine_.resume(straight_, port);
    }
    // What comes from one peer, and how many messages of it have come in the current run.
    struct incoming_channel : bound_channel {
        incoming_channel() = default;
        incoming_channel(const bound_channel& c) noexcept : bound_channel(c) {}
        std::uint32_t arrived = 0;
    };
    detail::plain_list<incoming_channel>& incoming() noexcept { return incoming_; }
    // What this operation has sent to one peer. `ahead`: bytes that count as sent ahead, and whether this
    // rank has asked the peer if it has started the operation, or knows that it has
    // (bough/session/ahead.hpp). `last`: where its last message ends in a transport that gathers
    // (bough/session/departures.hpp).
    struct outgoing_channel {
        rank_t peer = no_rank;
        bool has_asked = false, has_started = false;
        std::uint64_t ahead = 0, last = 0;
    };
    detail::plain_list<outgoing_channel>& outgoing() noexcept { return outgoing_; }
    const bound_schedule& bound() const noexcept { return bound_; }
    std::size_t scratch_bytes() const noexcept { return scratch_.bytes(); }
    // All its memory, scratch included.
    std::size_t memory_bytes() const noexcept {
        const auto of = [](const auto&... lists) {
            return (std::size_t{0} + ... + (lists.capacity() * sizeof(lists[0])));
        };
        return sizeof(*this) + scratch_.bytes() + scratch_.index_bytes() + laid_out_.key.list_bytes() + kept_.bytes() +
               of(bound_.steps, bound_.places, bound_.after, bound_.waits, bound_.start, bound_.channels,
                  bound_.receives, bound_.planes, waits_, ready_, blocked_, held_, places_, buffers_, incoming_,
                  outgoing_, operands_, bound_.operands, straight_list_);
    }
    bool combines() const noexcept {
        return detail::any_of(bound_.steps, [](const bound_step& s) { return s.verb == verb::combine; });
    }
    // Do messages of the current run lie in the input (0), or the output (1)?
    bool sends_or_receives(std::uint32_t buffer) const noexcept {
        return detail::any_of(bound_.steps, [&](const bound_step& s) {
            const std::uint32_t place = s.verb == verb::send ? s.a : s.out;
            return (s.verb == verb::send || s.verb == verb::receive) && places_[place].buffer == buffer &&
                   places_[place].bytes != 0;
        });
    }
    // True: every message goes straight from input to output, with no scratch and no message in
    // parts.
    bool direct() const noexcept { return bound_.planes.empty(); }

private:
    // Makes the kept layout that is wanted the current one. False: there is none.
    template <class F>
    bool return_to(F&& is_wanted) noexcept {
        return kept_.exchange(is_wanted, laid_out_, places_, buffers_.begin() + 2);
    }

    BOUGH_NEVER_INLINE void find_layout(const call& c) {
        if (!return_to([&c](const detail::layout_name& known) { return known.key.is_of(c); })) lay_out(c);
    }

    bool has_short_messages() const noexcept {
        return !detail::any_of(bound_.steps, [this](const bound_step& s) {
            const std::uint32_t place = s.verb == verb::send ? s.a : s.out;
            return (s.verb == verb::send || s.verb == verb::receive) && places_[place].bytes > short_message;
        });
    }
    // Finds where each place of the schedule lies, for the lengths in this call.
    void lay_out(const call& c) {
        const block_t count = std::max<block_t>(bound_.blocks, 1);
        const detail::block_offsets blocks(c, count);
        if (bound_.steps.size() <= most_short_steps && !laid_out_.key.is_of_none())
            kept_.keep(laid_out_, places_, buffers_.begin() + 2, bound_.planes.size());
        BOUGH_EXPECTS(c.row_offsets.empty() || c.repeat != 0 || direct(),
                      "row_offsets: only for plans that need no scratch");
        BOUGH_EXPECTS(!is_matrix(c) || c.repeat != 0 || c.count % count == 0,
                      "count: the blocks of a matrix have one length");
        const std::size_t scratch_before = scratch_.bytes();
        scratch_.lay_out(bound_, blocks);
        if (scratch_.bytes() != scratch_before) kept_.clear(); // their planes lie in memory that is gone
        laid_out_.key.forget();                                // memory may run out below
        laid_out_.number = ++layouts_;
        for (std::size_t k = 0; k != bound_.planes.size(); ++k) buffers_[2 + k] = scratch_.plane(k);
        for (std::size_t i = 0; i != places_.size(); i += 1 + bound_.places[i].parts)
            if (bound_.places[i].parts == 0)
                places_[i] = where(i, c, blocks);
            else
                lay_out_parts(i, blocks);
        laid_out_.key.assign(c);
        laid_out_.is_short = bound_.steps.size() <= most_short_steps && c.row_offsets.empty() && has_short_messages();
    }

    // Where a place lies that is not a message in parts.
    place_bytes where(std::size_t i, const call& c, const detail::block_offsets& blocks) const {
        const bound_place& p = bound_.places[i];
        if (p.buffer < 2 && is_matrix(c)) return in_matrix(p, c, blocks);
        std::uint64_t offset = 0;
        switch (p.buffer) {
        case 0: offset = blocks.length(c.input_block, p.first); break;
        case 1: offset = blocks.length(c.output_block, p.first); break;
        default: offset = scratch_.offset(i, p, blocks);
        }
        return {.offset = offset, .bytes = blocks.length(p), .buffer = p.buffer};
    }

    static bool is_matrix(const call& c) noexcept { return c.row != 0 || !c.placed.empty(); }
    // How many blocks of the output lie before this one.
    static std::uint64_t place_of(block_t block, const call& c) {
        if (c.placed.empty()) return (block - c.output_block) / c.row;
        const auto found =
            std::lower_bound(c.placed.begin(), c.placed.end(), block,
                             [](const placed_block& placed, block_t wanted) { return placed.block < wanted; });
        BOUGH_EXPECTS(found != c.placed.end() && found->block == block,
                      "plan: a step names a block that has no place in this rank's output");
        return found->place;
    }
    // Where a place in the input or the output of an alltoall, or of a neighbourhood collective, lies.
    static place_bytes in_matrix(const bound_place& p, const call& c, const detail::block_offsets& blocks) {
        if (p.count == 0) return {.offset = 0, .bytes = 0, .buffer = p.buffer};
        const bool column = p.buffer == 1;
        const std::uint64_t first = column ? place_of(p.first, c) : p.first - c.input_block;
        BOUGH_EXPECTS((column && !c.placed.empty()) || first + p.count <= c.row,
                      "plan: a step names blocks that are not in this rank's row or column");
        BOUGH_EXPECTS(!column || p.count == 1, "plan: a step names several blocks of an output that is no vector");
        const std::span<const std::uint64_t> offsets = column ? c.column_offsets : c.row_offsets;
        // Without offsets, all blocks of a matrix have this length.
        const std::uint64_t one = blocks.begin(1);
        if (offsets.empty()) return {.offset = first * one, .bytes = p.count * one, .buffer = p.buffer};
        const auto at = static_cast<std::size_t>(first);
        return {.offset = offsets[at] * c.element_bytes,
                .bytes = (offsets[at + p.count] - offsets[at]) * c.element_bytes,
                .buffer = p.buffer};
    }

    // Lays out a message in parts: one part lies behind the other.
    void lay_out_parts(std::size_t message, const detail::block_offsets& blocks) {
        std::uint64_t end = 0; // of the parts so far
        for (std::size_t i = message + 1; i <= message + bound_.places[message].parts; ++i) {
            const bound_place& part = bound_.places[i];
            places_[i] = {.offset = end, .bytes = blocks.length(part), .buffer = part.buffer};
            end += places_[i].bytes;
        }
        places_[message] = {.offset = 0, .bytes = end, .buffer = bound_.places[message].buffer};
    }

    bound_schedule bound_;
    detail::plain_list<std::uint32_t> waits_, ready_, blocked_;
    detail::plain_list<held_message> held_;
    detail::plain_list<place_bytes> places_;
    detail::plain_list<std::byte*> buffers_;
    detail::plain_list<incoming_channel> incoming_;
    detail::plain_list<outgoing_channel> outgoing_;
    detail::plain_list<const std::byte*> operands_;
    detail::scratch_planes scratch_;
    detail::layout_name laid_out_; // the current one
    detail::kept_layouts kept_;
    std::uint64_t layouts_ = 0; // how many there were
    detail::plain_list<straight_step> straight_list_;
    bough::engine engine_;
    straight_run straight_;
};
using prepared = basic_prepared<0>;
BOUGH_COMPILED_COMMON(class basic_prepared<0>)

} // namespace bough

#endif
