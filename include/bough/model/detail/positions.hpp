// SPDX-License-Identifier: BSL-1.0
// positions: how far each rank has come in a walk, for whose message it waits, and which ranks can go on.
#ifndef BOUGH_MODEL_DETAIL_POSITIONS_HPP
#define BOUGH_MODEL_DETAIL_POSITIONS_HPP

#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>

#include <cstdint>
#include <utility>

namespace bough::inline BOUGH_ABI::model::detail {

// How far a rank has come.
struct position {
    double clock_ns = 0;
    std::uint32_t done = 0;  // steps; a message in parts is one
    rank_t awaits = no_rank; // the sender of the message that it waits for
};

template <int>
class basic_positions {
public:
    // What `awaits` may be besides. No rank has this number. Where messages are not rendezvous: the message
    // was handed to the rank, which no longer waits.
    static constexpr rank_t handed = no_rank - 1;
    // Where they may be: the rank has run all its steps, and waits until its own messages have begun.
    static constexpr rank_t itself = no_rank - 1;

    constexpr explicit basic_positions(rank_t ranks) : all_(ranks, position{}) {}

    constexpr rank_t size() const noexcept { return static_cast<rank_t>(all_.size()); }
    constexpr position& operator[](rank_t rank) noexcept { return all_[rank]; }
    constexpr const position& operator[](rank_t rank) const noexcept { return all_[rank]; }

    constexpr bool awaits(rank_t rank, rank_t from) const noexcept {
        return waiting_ != 0 && all_[rank].awaits == from;
    }
    // A visit of the rank has ended there.
    constexpr void leave(rank_t rank, const position& at) noexcept {
        all_[rank] = at;
        if (at.awaits != no_rank) ++waiting_;
    }
    // A rank that waits can go on. `then`: no_rank, handed or itself.
    constexpr void wake(rank_t rank, rank_t then) {
        all_[rank].awaits = then;
        --waiting_;
        woken_.push_back(rank);
    }
    // Those that were woken since the last call. False: none.
    constexpr bool take_woken(bough::detail::plain_list<rank_t>& now) noexcept {
        now.clear();
        std::swap(now, woken_);
        return !now.empty();
    }

private:
    bough::detail::plain_list<position> all_; // by rank
    bough::detail::plain_list<rank_t> woken_;
    rank_t waiting_ = 0;
};
using positions = basic_positions<0>;

} // namespace bough::model::detail

#endif
