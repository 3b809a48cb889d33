// SPDX-License-Identifier: BSL-1.0
// tcp_window: the books about the short messages that the peer of one connection may send.
//
// It may have as many of them on the way, or lying here, as the window has room for, headers
// included. When they are used up, it is told so (credit), and may send as much again.
#ifndef BOUGH_TRANSPORT_TCP_WINDOW_HPP
#define BOUGH_TRANSPORT_TCP_WINDOW_HPP

#include <bough/core/config.hpp>

#include <cstdint>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

class tcp_window {
public:
    explicit tcp_window(std::uint64_t bytes) noexcept : bytes_(bytes) {}

    // The peer may send a short frame of so many bytes.
    bool has_room(std::uint64_t frame_bytes) const noexcept { return frame_bytes <= bytes_ - owed_; }
    // It has come. Pre: has_room().
    void add(std::uint64_t frame_bytes) noexcept { owed_ += frame_bytes; }
    // Where the bytes of frames are counted that are used up.
    std::uint64_t* counter() noexcept { return &used_up_; }
    // Bytes that are used up, and of which the peer has not been told.
    std::uint64_t used_up() const noexcept { return used_up_; }
    // They are a fourth of the window, which is worth telling the peer.
    bool owes_credit() const noexcept { return used_up_ >= bytes_ / 4; }
    // The peer is being told of all of them: it may send as much again.
    void credit_given() noexcept { owed_ -= std::exchange(used_up_, 0); }

private:
    std::uint64_t bytes_;
    std::uint64_t owed_ = 0; // bytes of frames that have come, less those that the peer knows to be used up
    std::uint64_t used_up_ = 0;
};

} // namespace bough::detail

#endif
