// SPDX-License-Identifier: BSL-1.0
// What the walk keeps of a rank under a model with rendezvous: its messages that have not begun, in the
// order of its sends.
#ifndef BOUGH_MODEL_DETAIL_UNBEGUN_HPP
#define BOUGH_MODEL_DETAIL_UNBEGUN_HPP

#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/model/detail/ports.hpp>

#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::model::detail {

// A message on its way, or the notice of one, under a model without ports.
struct plain_letter {
    double there_ns = 0;
    bool announced = false; // a rendezvous: this is its notice
};

// A message that its sender has sent. letter.there_ns: since when it may begin.
template <class Letter>
struct sent_message {
    Letter letter{};
    std::uint64_t bytes = 0;
    rank_t to = no_rank;
};

template <class Letter>
struct unbegun_messages {
    double begun_ns = 0; // when its last message began, under a model without ports
    double there_ns = 0; // when its last rendezvous was at the receiver

    constexpr bool empty() const noexcept { return first_ == waiting_.size(); }
    constexpr const sent_message<Letter>& front() const noexcept { return waiting_[first_]; } // Pre: !empty()
    constexpr void add(const sent_message<Letter>& m) { waiting_.push_back(m); }
    constexpr sent_message<Letter> take() { // Pre: !empty()
        const sent_message<Letter> m = waiting_[first_];
        if (++first_ == waiting_.size()) waiting_.clear(), first_ = 0;
        return m;
    }

private:
    bough::detail::plain_list<sent_message<Letter>> waiting_;
    std::size_t first_ = 0;
};

} // namespace bough::model::detail

#endif
