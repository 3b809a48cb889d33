// SPDX-License-Identifier: BSL-1.0
// The tapes of the walk: steps of ranks that wait, from the one at which they wait, so that they need not be
// emitted again.
#ifndef BOUGH_MODEL_DETAIL_TAPES_HPP
#define BOUGH_MODEL_DETAIL_TAPES_HPP

#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/step.hpp>
#include <bough/model/taped_step.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::model::detail {

struct tape {
    bough::detail::plain_list<taped_step> steps;
    std::size_t next = 0;
    bool complete = false; // the plan has no more steps for this rank

    constexpr bool empty() const noexcept { return next == steps.size(); }
    constexpr void clear() noexcept { steps.clear(), next = 0, complete = false; }
};

template <int>
class basic_tapes {
public:
    // Of `ranks` ranks `visited` are visited; the tapes of these have room for `steps` steps in all.
    constexpr basic_tapes(rank_t ranks, rank_t visited, std::size_t steps)
        : ranks_(ranks), room_(steps / visited), keeps_(visited <= most_at_once) {
        if (room_ < least_room) room_ = 0;
    }

    // All ranks have been visited once.
    constexpr void begin_pass() noexcept { keeps_ = true; }
    // Are the steps of a rank that waits to be kept? In a large group not in the first pass, as it may be
    // the only one.
    constexpr bool begin() {
        if (room_ == 0 || !keeps_) return false;
        if (tapes_.empty()) tapes_ = std::vector<tape>(ranks_, tape{});
        return true;
    }
    // Keeps the next step of a rank. False: there is no room, or the message has too many parts. Pre: begin().
    constexpr bool keep(rank_t rank, verb what, rank_t peer, std::uint64_t bytes, std::uint32_t parts) {
        bough::detail::plain_list<taped_step>& kept = tapes_[rank].steps;
        if (kept.size() == room_ || parts > taped_step::most_parts) return false;
        if (kept.capacity() == 0) kept.reserve(room_ < 64 ? room_ : 64);
        kept.push_back({bytes, peer, what, parts & taped_step::most_parts});
        return true;
    }
    // All steps of the rank up to the end of the plan are kept. Pre: begin().
    constexpr void complete(rank_t rank) noexcept { tapes_[rank].complete = true; }
    // The tape of a rank; null: nothing is kept of it.
    constexpr tape* find(rank_t rank) noexcept {
        return tapes_.empty() || tapes_[rank].empty() ? nullptr : &tapes_[rank];
    }

private:
    static constexpr std::size_t least_room = 16; // steps of a rank; keeping fewer does not pay
    static constexpr rank_t most_at_once = 128;   // ranks whose steps are kept from the first pass on

    rank_t ranks_;
    std::size_t room_; // of each tape, in steps
    bool keeps_;
    std::vector<tape> tapes_; // by rank; made when the first rank keeps steps
};
using tapes = basic_tapes<0>;

} // namespace bough::model::detail

#endif
