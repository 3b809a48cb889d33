// SPDX-License-Identifier: BSL-1.0
// A prepared operation: a bound schedule with all the memory that it needs to run. It is made once
// and run many times. After the first run with a given layout (count, element size, blocks),
// running it again allocates nothing and computes no offsets.
#ifndef BOUGH_ENGINE_PREPARED_HPP
#define BOUGH_ENGINE_PREPARED_HPP

#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/engine/bound.hpp>
#include <bough/engine/call.hpp>
#include <bough/engine/engine.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// The element at which block b begins when `count` elements are cut into `blocks`: the first count
// % blocks are one longer.
constexpr std::uint64_t block_begin(std::uint64_t count, block_t blocks, block_t b) noexcept {
    const std::uint64_t longer = count % blocks;
    return std::uint64_t{b} * (count / blocks) + (b < longer ? b : longer);
}

class prepared {
public:
    explicit prepared(bound_schedule bound)
        : bound_(std::move(bound)), waits_(bound_.steps.size(), 0), ready_(bound_.steps.size(), 0),
          blocked_(bound_.steps.size(), 0), held_(bound_.steps.size(), held_message{}),
          places_(bound_.places.size(), place_bytes{}), buffers_(2 + bound_.planes.size(), nullptr),
          incoming_(bound_.channels.begin(), bound_.channels.end()),
          engine_(bound_.view(), {waits_, held_, ready_, blocked_, places_, buffers_}) {
        find_pieces();
        for (const bound_step& s : bound_.steps)
            if (s.verb == verb::send) outgoing_.push_back({s.peer});
        const auto before = [](const outgoing_channel& a, const outgoing_channel& b) { return a.peer < b.peer; };
        const auto same = [](const outgoing_channel& a, const outgoing_channel& b) { return a.peer == b.peer; };
        std::sort(outgoing_.begin(), outgoing_.end(), before);
        outgoing_.erase(std::unique(outgoing_.begin(), outgoing_.end(), same), outgoing_.end());
    }

    // The engine's spans point into this object.
    prepared(const prepared&) = delete;
    prepared& operator=(const prepared&) = delete;

    // Points the buffers at the data of a call. Allocates scratch if this call needs more than any
    // before it.
    void prepare(const call& c) {
        // The input is only read: no step writes buffer 0 (verify: write_to_input).
        buffers_[0] = const_cast<std::byte*>(c.input);
        buffers_[1] = c.output;
        if (!engine_.done()) // the last run ended with its session: what it sent ahead does not count
            for (outgoing_channel& channel : outgoing_) channel.ahead = 0;
        if (is_laid_out(c)) return;
        lay_out(c);
    }

    bough::engine& engine() noexcept { return engine_; }
    // What comes from one peer, and how many messages of it have come in the current run.
    struct incoming_channel : bound_channel {
        incoming_channel(const bound_channel& c) noexcept : bound_channel(c) {}
        std::uint32_t arrived = 0;
    };
    std::vector<incoming_channel>& incoming() noexcept { return incoming_; }
    // What this operation has sent to one peer. `ahead`: bytes while it was not the oldest
    // (bough/session/ahead.hpp). `last`: where its last message ends in a transport that gathers
    // (bough/session/departures.hpp).
    struct outgoing_channel {
        rank_t peer = no_rank;
        std::uint64_t ahead = 0, last = 0;
    };
    std::vector<outgoing_channel>& outgoing() noexcept { return outgoing_; }
    const bound_schedule& bound() const noexcept { return bound_; }
    std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }
    // All its memory, scratch included.
    std::size_t memory_bytes() const noexcept {
        const auto of = [](const auto&... lists) {
            return (std::size_t{0} + ... + (lists.capacity() * sizeof(lists[0])));
        };
        return sizeof(*this) + scratch_bytes_ +
               of(bound_.steps, bound_.places, bound_.after, bound_.waits, bound_.start, bound_.channels,
                  bound_.receives, bound_.planes, waits_, ready_, blocked_, held_, places_, buffers_, incoming_,
                  outgoing_, offsets_, row_offsets_, column_offsets_, pieces_, piece_of_);
    }
    // Do messages of the current run lie in the input (0), or the output (1)?
    bool sends_or_receives(std::uint32_t buffer) const noexcept {
        return std::any_of(bound_.steps.begin(), bound_.steps.end(), [&](const bound_step& s) {
            const std::uint32_t place = s.verb == verb::send ? s.a : s.out;
            return (s.verb == verb::send || s.verb == verb::receive) && places_[place].buffer == buffer &&
                   places_[place].bytes != 0;
        });
    }
    // True: every message goes straight from input to output, with no scratch and no message in
    // parts.
    bool direct() const noexcept { return bound_.planes.empty(); }

private:
    static constexpr std::size_t line = 64;

    // A piece: neighbouring blocks of a scratch plane that are used. A plane has memory for its
    // pieces only, one behind the other.
    struct piece {
        std::uint32_t plane;
        block_t first, last;
        std::size_t offset; // in the plane
        friend constexpr bool operator<(const piece& a, const piece& b) noexcept {
            return a.plane != b.plane ? a.plane < b.plane : a.first < b.first;
        }
    };

    void find_pieces() {
        const auto for_each_used = [this](auto&& f) { // places in planes, except those of messages in parts
            for (std::size_t i = 0; i < bound_.places.size(); i += 1 + bound_.places[i].parts)
                if (const bound_place& p = bound_.places[i]; p.buffer >= 2 && p.parts == 0 && p.count != 0)
                    f(i, piece{p.buffer - 2, p.first, p.first + p.count, 0});
        };
        for_each_used([this](std::size_t, const piece& used) { pieces_.push_back(used); });
        std::sort(pieces_.begin(), pieces_.end());
        std::size_t kept = 0;
        for (const piece& p : pieces_)
            if (kept != 0 && pieces_[kept - 1].plane == p.plane && p.first <= pieces_[kept - 1].last)
                pieces_[kept - 1].last = std::max(pieces_[kept - 1].last, p.last);
            else
                pieces_[kept++] = p;
        pieces_.resize(kept);
        piece_of_.assign(bound_.places.size(), 0);
        for_each_used([this](std::size_t i, const piece& used) {
            const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), used);
            piece_of_[i] = static_cast<std::uint32_t>(after - pieces_.begin() - 1);
        });
    }

    bool is_laid_out(const call& c) const noexcept {
        if (c.count != count_ || c.element_bytes != element_bytes_ || c.input_block != first_block_[0] ||
            c.output_block != first_block_[1] || c.row != row_)
            return false;
        // Most calls do not say where blocks begin.
        const std::size_t said = c.offsets.size() | c.row_offsets.size() | c.column_offsets.size();
        return (said == 0 && !has_offsets_) || has_same_offsets(c);
    }
    BOUGH_COLD bool has_same_offsets(const call& c) const noexcept {
        const auto same = [](const std::vector<std::uint64_t>& a, std::span<const std::uint64_t> b) {
            return a.size() == b.size() && (a.empty() || std::equal(a.begin(), a.end(), b.begin()));
        };
        return same(offsets_, c.offsets) && same(row_offsets_, c.row_offsets) &&
               same(column_offsets_, c.column_offsets);
    }

    // Where a place in the input or the output of an alltoall lies.
    static place_bytes in_matrix(const call& c, const bound_place& p, std::uint64_t block_bytes) {
        if (p.count == 0) return {.offset = 0, .bytes = 0, .buffer = p.buffer};
        const bool column = p.buffer == 1;
        const std::uint64_t first = (p.first - (column ? c.output_block : c.input_block)) / (column ? c.row : 1);
        BOUGH_EXPECTS(first + p.count <= c.row && (!column || p.count == 1),
                      "plan: a step names blocks that are not in this rank's row or column");
        const std::span<const std::uint64_t> offsets = column ? c.column_offsets : c.row_offsets;
        if (offsets.empty()) return {.offset = first * block_bytes, .bytes = p.count * block_bytes, .buffer = p.buffer};
        return {.offset = offsets[first] * c.element_bytes,
                .bytes = (offsets[first + p.count] - offsets[first]) * c.element_bytes,
                .buffer = p.buffer};
    }

    void lay_out(const call& c) {
        const block_t blocks = bound_.blocks == 0 ? 1 : bound_.blocks;
        BOUGH_EXPECTS(c.offsets.empty() || c.offsets.size() == std::size_t{blocks} + 1,
                      "offsets: one per block is needed, and the end");
        BOUGH_EXPECTS(c.row_offsets.empty() || direct(), "row_offsets: only for plans that need no scratch");
        BOUGH_EXPECTS(c.row == 0 || c.count % blocks == 0, "count: the blocks of a matrix have one length");
        const auto begin = [&](block_t b) {
            return (c.offsets.empty() ? block_begin(c.count, blocks, b) : c.offsets[b]) * c.element_bytes;
        };
        std::size_t total = 0, next_piece = 0;
        plane_at_.assign(bound_.planes.size(), 0);
        for (std::size_t k = 0; k != bound_.planes.size(); ++k) {
            const plane_extent& extent = bound_.planes[k];
            plane_at_[k] = total;
            std::size_t bytes = 0;
            for (; next_piece != pieces_.size() && pieces_[next_piece].plane == k; ++next_piece) {
                piece& p = pieces_[next_piece];
                p.offset = bytes;
                bytes += begin(p.last) - begin(p.first);
            }
            if (extent.packed != not_a_step)
                for (std::uint32_t part = 1; part <= bound_.places[extent.packed].parts; ++part) {
                    const bound_place& p = bound_.places[extent.packed + part];
                    bytes += begin(p.first + p.count) - begin(p.first);
                }
            total += (bytes + line - 1) / line * line;
        }
        if (total != 0 && total + line > scratch_bytes_) {
            scratch_.reset(new std::byte[total + line]); // not cleared: unused pages are never touched
            scratch_bytes_ = total + line;
        }
        std::byte* base = scratch_.get();
        base += (line - reinterpret_cast<std::uintptr_t>(base) % line) % line;
        for (std::size_t k = 0; k != bound_.planes.size(); ++k) buffers_[2 + k] = base + plane_at_[k];
        for (std::size_t i = 0; i != places_.size(); ++i) {
            const bound_place& p = bound_.places[i];
            if (p.parts != 0) {
                places_[i] = {.offset = 0, .bytes = 0, .buffer = p.buffer};
                for (const std::size_t whole = i; i != whole + p.parts;) {
                    const bound_place& part = bound_.places[++i];
                    const std::uint64_t bytes = begin(part.first + part.count) - begin(part.first);
                    places_[i] = {.offset = places_[whole].bytes, .bytes = bytes, .buffer = part.buffer};
                    places_[whole].bytes += bytes;
                }
                continue;
            }
            places_[i].buffer = p.buffer;
            places_[i].bytes = begin(p.first + p.count) - begin(p.first);
            if (p.buffer >= 2)
                places_[i].offset =
                    p.count == 0 ? 0
                                 : pieces_[piece_of_[i]].offset + begin(p.first) - begin(pieces_[piece_of_[i]].first);
            else if (c.row == 0)
                places_[i].offset = begin(p.first) - begin(p.buffer == 0 ? c.input_block : c.output_block);
            else
                places_[i] = in_matrix(c, p, begin(1));
        }
        count_ = c.count;
        element_bytes_ = c.element_bytes;
        first_block_ = {c.input_block, c.output_block};
        row_ = c.row;
        offsets_.assign(c.offsets.begin(), c.offsets.end());
        row_offsets_.assign(c.row_offsets.begin(), c.row_offsets.end());
        column_offsets_.assign(c.column_offsets.begin(), c.column_offsets.end());
        has_offsets_ = !(offsets_.empty() && row_offsets_.empty() && column_offsets_.empty());
    }

    bound_schedule bound_;
    std::vector<std::uint32_t> waits_, ready_, blocked_;
    std::vector<held_message> held_;
    std::vector<place_bytes> places_;
    std::vector<std::byte*> buffers_;
    std::vector<incoming_channel> incoming_;
    std::vector<outgoing_channel> outgoing_;
    std::unique_ptr<std::byte[]> scratch_;
    std::vector<std::size_t> plane_at_; // where each scratch plane begins, bytes
    std::size_t scratch_bytes_ = 0;
    std::uint64_t count_ = ~std::uint64_t{0};
    std::uint32_t element_bytes_ = 0;
    std::array<block_t, 2> first_block_{}; // of input and output
    block_t row_ = 0;
    bool has_offsets_ = false;
    std::vector<std::uint64_t> offsets_, row_offsets_, column_offsets_;
    std::vector<piece> pieces_;           // sorted
    std::vector<std::uint32_t> piece_of_; // by place, for places in planes
    bough::engine engine_;
};

} // namespace bough

#endif
