// SPDX-License-Identifier: BSL-1.0
// remapped: a sink that renames the ranks, buffers and blocks of a small collective inside a larger one.
#ifndef BOUGH_ALGORITHM_DETAIL_REMAP_HPP
#define BOUGH_ALGORITHM_DETAIL_REMAP_HPP

#include <bough/concepts/step_sink.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// The buffers that the small collective calls input, output and scratch(0). Small collectives take turns
// in the same planes, and what is packed in one may not be in another; so packed planes have every
// second number.
struct renamed_buffers {
    buffer in = input;
    buffer out = output;
    std::uint32_t first_plane = 0;

    constexpr buffer operator()(buffer b) const noexcept {
        if (b == input) return in;
        if (b == output) return out;
        return on_plane(b, first_plane + 2 * scratch_plane(b) + b.packed);
    }
};

// The pieces of the larger vector that a slice becomes; neighbouring pieces are joined.
class pieces {
public:
    constexpr void clear() { list_.clear(); }
    constexpr void add(buffer where, block_t first, block_t count) {
        if (!list_.empty() && list_.back().last() == first)
            list_.back().count += count;
        else
            list_.push_back({where, first, count});
    }
    constexpr std::size_t size() const noexcept { return list_.size(); }
    constexpr const slice& operator[](std::size_t i) const noexcept { return list_[i]; }

private:
    plain_list<slice> list_;
};

// `rank_of(r)` names ranks; `cut(s, p)` adds the pieces of a slice, its buffer already renamed, to p.
template <class Sink, class RankOf, class Cut>
class remapped {
public:
    constexpr remapped(Sink& out, renamed_buffers buffers, RankOf rank_of, Cut cut)
        : out_(out), buffers_(buffers), rank_of_(std::move(rank_of)), cut_(std::move(cut)) {}

    constexpr void send(rank_t to, slice from) { move(verb::send, to, from, false); }
    constexpr void receive(rank_t from, slice into) { move(verb::receive, from, into, false); }
    constexpr void send_part(rank_t to, slice from) { move(verb::send, to, from, true); }
    constexpr void receive_part(rank_t from, slice into) { move(verb::receive, from, into, true); }
    constexpr void combine(slice lower, slice upper, slice out) {
        rename(lower, a_);
        rename(upper, b_);
        rename(out, c_);
        for (std::size_t i = 0; i != c_.size(); ++i) out_.combine(a_[i], b_[i], c_[i]);
    }
    constexpr void copy(slice from, slice to) {
        rename(from, a_);
        rename(to, c_);
        for (std::size_t i = 0; i != c_.size(); ++i)
            if (!(a_[i] == c_[i])) out_.copy(a_[i], c_[i]);
    }

private:
    constexpr void rename(slice s, pieces& into) {
        into.clear();
        cut_(s.in(buffers_(s.buffer)), into);
    }
    constexpr void move(verb what, rank_t peer, slice s, bool more) {
        rename(s, a_);
        const rank_t other = rank_of_(peer);
        if (a_.size() == 0) a_.add(buffers_(s.buffer), 0, 0); // a message without blocks is still a message
        for (std::size_t i = 0; i != a_.size(); ++i) {
            const bool goes_on = more || i + 1 != a_.size();
            push_step(out_,
                      what == verb::send ? send_step(other, a_[i], goes_on) : receive_step(other, a_[i], goes_on));
        }
    }

    Sink& out_;
    renamed_buffers buffers_;
    RankOf rank_of_;
    Cut cut_;
    pieces a_, b_, c_;
};

} // namespace bough::detail

#endif
