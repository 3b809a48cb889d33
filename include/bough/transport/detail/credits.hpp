// SPDX-License-Identifier: BSL-1.0
// Keeps the number of messages between two ranks that are not used up below a window: counts what
// was sent and used up, and what each side knows of that.
#ifndef BOUGH_TRANSPORT_DETAIL_CREDITS_HPP
#define BOUGH_TRANSPORT_DETAIL_CREDITS_HPP

#include <bough/core/rank.hpp>

#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class message_credits {
public:
    message_credits(rank_t ranks, std::uint32_t window) : window_(window), peers_(ranks) {}
    void set_window(std::uint32_t window) noexcept { window_ = window; }

    // Whether one more message may be sent to the rank.
    bool has_room(rank_t to) const noexcept { return peers_[to].sent - peers_[to].freed < window_; }
    void sent(rank_t to) noexcept { ++peers_[to].sent; }
    // The rank says how many of the messages to it are used up. The last 16 bits of the number will
    // do, because windows are smaller.
    void freed(rank_t to, std::uint16_t used) noexcept {
        std::uint32_t& freed = peers_[to].freed;
        freed += static_cast<std::uint16_t>(used - static_cast<std::uint16_t>(freed));
    }

    // A message from the rank is used up.
    void use(rank_t from) noexcept { ++peers_[from].used; }
    // How many are: to be told to the rank.
    std::uint32_t used(rank_t from) const noexcept { return peers_[from].used; }
    void told(rank_t from) noexcept { peers_[from].told = peers_[from].used; }
    // Whether the rank does not know of half a window of messages that are used up.
    bool owes(rank_t from) const noexcept { return peers_[from].used - peers_[from].told >= (window_ + 1) / 2; }

private:
    struct peer {
        std::uint32_t sent = 0, freed = 0; // messages to the peer, and how many of them it has used up
        // Messages from it that are used up, and of how many it knows that.
        std::uint32_t used = 0, told = 0;
    };

    std::uint32_t window_;
    std::vector<peer> peers_;
};

} // namespace bough::detail

#endif
