// SPDX-License-Identifier: BSL-1.0
// tcp_lone_message: a short message for which no chunk has room. It is read into memory of its own,
// and announced when it is whole.
//
// The limits for unexpected bytes do not stop it: its sender's window bounds how many there are.
// So a short message never waits on the socket, where the rest of a long message may lie behind it.
#ifndef BOUGH_TRANSPORT_TCP_LONE_MESSAGE_HPP
#define BOUGH_TRANSPORT_TCP_LONE_MESSAGE_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/transport/tcp/frame.hpp>
#include <bough/transport/tcp/input.hpp>
#include <bough/transport/tcp/memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

class tcp_lone_message {
public:
    // Pre: all of them outlive this.
    tcp_lone_message(tcp_memory& memory, tcp_budget& budget, tcp_input& input) noexcept
        : memory_(memory), budget_(budget), input_(input) {}
    tcp_lone_message(const tcp_lone_message&) = delete;
    tcp_lone_message& operator=(const tcp_lone_message&) = delete;

    // There is none.
    bool empty() const noexcept { return bytes_ == 0; }
    // What it has behind its header.
    std::uint64_t bytes() const noexcept { return bytes_; }

    // A message begins, of which the header is still to be skipped. `e`: its arrival, which lacks a
    // handle and the payload. If memory runs out, nothing has changed. Pre: empty(); `made` has bytes.
    void begin(const event& e, tcp_arrival made) {
        const std::size_t all = static_cast<std::size_t>(short_frame_bytes(made.bytes)) - frame_header_bytes;
        const std::uint64_t handle = memory_.add_own(std::move(made), budget_);
        event_ = e;
        event_.id = handle;
        event_.data = memory_.find(handle)->data;
        bytes_ = all;
        done_ = 0;
    }
    // Reads it. True: it is complete, or nothing more of it will come. Pre: !empty().
    template <class Stream>
    bool read_on(Stream& stream, tcp_reading& now) {
        std::byte* const to = memory_.find(event_.id)->own.get();
        const std::size_t here = std::min(input_.size(), bytes_ - done_);
        if (here != 0) std::memcpy(to + done_, input_.front(), here);
        input_.skip(here);
        done_ += here;
        while (done_ != bytes_ && now.may_read && !input_.has_ended()) {
            std::span<std::byte> into(to + done_, bytes_ - done_);
            done_ += input_.read_into(stream, into, into.size(), now);
        }
        return done_ == bytes_ || input_.has_ended();
    }
    // It is over. True: it is whole, and `e` announces it. False: it is forgotten.
    bool finish(event& e) noexcept {
        const bool is_whole = done_ == bytes_;
        bytes_ = 0;
        if (is_whole)
            e = event_;
        else
            memory_.remove(event_.id);
        return is_whole;
    }

private:
    tcp_memory& memory_;
    tcp_budget& budget_;
    tcp_input& input_;
    event event_{};
    std::size_t bytes_ = 0, done_ = 0; // of payload and padding
};

} // namespace bough::detail

#endif
