// SPDX-License-Identifier: BSL-1.0
// Membership: which ranks of a session's group are lost, which epoch the group is in, and which
// communicators it has.
//
// It only remembers, and calls nothing. A rank that is lost stays lost in later epochs. What becomes
// of operations that need it is decided in bough/session/failure.hpp.
#ifndef BOUGH_SESSION_MEMBERSHIP_HPP
#define BOUGH_SESSION_MEMBERSHIP_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/status.hpp>
#include <bough/session/contexts.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

template <int>
class basic_membership {
public:
    basic_membership(rank_t rank, rank_t size) : rank_(rank), why_lost_(size, errc::ok) {}

    rank_t rank() const noexcept { return rank_; } // this rank
    rank_t size() const noexcept { return static_cast<rank_t>(why_lost_.size()); }
    bool is_peer(rank_t r) const noexcept { return r < size() && r != rank_; }

    bool any_lost() const noexcept { return any_lost_; }
    bool is_lost(rank_t r) const noexcept { return why_lost_[r] != errc::ok; }
    errc why_lost(rank_t r) const noexcept { return why_lost_[r]; } // ok: it is not
    // Pre: `why` is not ok. The first reason is kept.
    void lose(rank_t r, errc why) noexcept {
        if (!is_lost(r)) why_lost_[r] = why;
        any_lost_ = true;
    }

    std::uint32_t epoch() const noexcept { return epoch_; }
    std::uint32_t first_epoch() const noexcept { return first_epoch_; } // of this transport
    // For a transport that takes the place of another one. Pre: nothing has been sent, and nothing
    // has come.
    void start_at(std::uint32_t epoch) noexcept { epoch_ = first_epoch_ = epoch; }
    bool is_of_epoch(const envelope& tag) const noexcept { return tag.epoch == epoch_; }
    bool is_of_past(const envelope& tag) const noexcept { return contexts::before(tag.epoch, epoch_); }
    bool is_of_future(const envelope& tag) const noexcept { return contexts::before(epoch_, tag.epoch); }
    // From now on, communicators count their operations anew.
    void begin_epoch() noexcept {
        ++epoch_;
        communicators_.clear();
    }

    bough::contexts& communicators() noexcept { return communicators_; }
    const bough::contexts& communicators() const noexcept { return communicators_; }

private:
    rank_t rank_;
    std::uint32_t epoch_ = 1, first_epoch_ = 1;
    bool any_lost_ = false;
    detail::plain_list<errc> why_lost_; // by rank
    bough::contexts communicators_;
};
using membership = basic_membership<0>;

} // namespace bough::detail

#endif
