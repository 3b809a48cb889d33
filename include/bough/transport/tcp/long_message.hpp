// SPDX-License-Identifier: BSL-1.0
// tcp_long_message: the message of a connection that was announced by its header alone. Its payload
// stays on the socket, with everything behind it, until the message is taken or released.
//
// If neither happens soon, the payload is read into memory of its own, as far as the cap for
// unexpected bytes allows. So it does not stand in the way of other operations.
//
// In a gap between two parts of its payload (frame.hpp) the owner reads the frames that overtake it.
#ifndef BOUGH_TRANSPORT_TCP_LONG_MESSAGE_HPP
#define BOUGH_TRANSPORT_TCP_LONG_MESSAGE_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/transport/detail/due_events.hpp>
#include <bough/transport/tcp/frame.hpp>
#include <bough/transport/tcp/input.hpp>
#include <bough/transport/tcp/memory.hpp>
#include <bough/transport/tcp/sockets.hpp>
#include <bough/transport/tcp/stream.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// The bytes behind a payload: padding, and its sender's verdict.
class tcp_tail {
public:
    void begin(std::size_t bytes) noexcept {
        bytes_ = bytes;
        done_ = 0;
    }
    std::span<std::byte> rest() noexcept { return std::span(all_).subspan(done_, bytes_ - done_); }
    void add(std::size_t bytes) noexcept { done_ += bytes; }
    bool is_whole() const noexcept { return done_ == bytes_; }
    std::size_t size() const noexcept { return bytes_; }
    // Whether the message counts. Pre: the tail is whole.
    errc verdict() const noexcept {
        if (all_[bytes_ - 1] == whole_message) return errc::ok;
        return all_[bytes_ - 1] == void_message ? errc::peer_aborted : errc::protocol_error;
    }

private:
    std::array<std::byte, most_tail_bytes> all_{};
    std::size_t bytes_ = 0, done_ = 0;
};

// The gap that comes next in a payload, or the one whose frames are being read.
class tcp_gap {
public:
    void begin() noexcept {
        left_ = 0;
        got_ = 0;
        is_over_ = is_broken_ = false;
    }
    std::uint64_t left() const noexcept { return left_; } // bytes of its frames that were not read
    void overtaken_by(std::uint64_t bytes) noexcept { left_ -= bytes; }
    bool is_over() const noexcept { return is_over_; }     // the one at which the payload is
    bool is_broken() const noexcept { return is_broken_; } // no gap has this header
    void leave() noexcept { is_over_ = false; }            // the payload has gone on

    std::span<std::byte> rest() noexcept { return std::span(header_).subspan(got_); }
    // More of its header has come.
    void add(std::size_t bytes) noexcept {
        got_ += bytes;
        if (got_ != header_.size()) return;
        got_ = 0;
        is_over_ = true;
        is_broken_ = !decode_gap(header_, left_);
        if (is_broken_) left_ = 0;
    }

private:
    gap_header header_{};
    std::size_t got_ = 0; // of the header
    std::uint64_t left_ = 0;
    bool is_over_ = false, is_broken_ = false;
};

class tcp_long_message {
public:
    // Pre: all of them outlive this.
    tcp_long_message(tcp_memory& memory, tcp_budget& budget, tcp_input& input) noexcept
        : memory_(memory), budget_(budget), input_(input) {}
    tcp_long_message(const tcp_long_message&) = delete;
    tcp_long_message& operator=(const tcp_long_message&) = delete;

    // There is none.
    bool empty() const noexcept { return phase_ == phase::none; }
    // It waits to be taken: reading the socket would not help.
    bool is_announced() const noexcept { return phase_ == phase::announced; }
    // The same, and give_up_waiting() must still be called a few times, which may end the wait.
    bool is_impatient() const noexcept { return is_announced() && turns_ < patience; }
    // Is this the arrival whose payload is still to be read?
    bool is_on_stream(std::uint64_t handle) const noexcept {
        return (is_announced() || phase_ == phase::spilling) && handle == handle_;
    }

    // So many bytes of frames come before the rest of it; it goes on when they have been read.
    std::uint64_t gap_left() const noexcept { return gap_.left(); }
    // A frame of so many bytes is one of them. Pre: bytes <= gap_left().
    void overtaken_by(std::uint64_t bytes) noexcept { gap_.overtaken_by(bytes); }

    // A message of so many bytes, with this handle in the memory, begins. Pre: empty().
    void begin(std::uint64_t handle, std::uint64_t bytes) noexcept {
        phase_ = phase::announced;
        handle_ = handle;
        bytes_ = bytes;
        done_ = 0;
        turns_ = 0;
        gap_.begin();
        tail_.begin(frame_tail_bytes(frame_kind::long_message, bytes));
    }
    // Counts the polls in which nobody took the message. True: it need not wait any more, because
    // it may be read into memory of its own, or is known to be lost. Pre: is_announced().
    template <class Stream>
    bool give_up_waiting(Stream& stream) {
        if (input_.has_ended()) return lose(); // its sender has broken the protocol
        if (++turns_ < patience) return false;
        if (memory_.may_own(budget_, bytes_)) {
            memory_.give_own(*memory_.find(handle_), budget_);
            phase_ = phase::spilling;
            return true;
        }
        if (turns_ % 64 != 0 || !has_hung_up(stream.socket().native_handle())) return false;
        // Its sender is gone. If the rest of it has not come by now, it never will. Frames in its gaps may hide
        // that until it is taken: how long they are cannot be known before they are read.
        const std::uint64_t least = bytes_ + gaps_in(bytes_) * gap_header{}.size() + tail_.size();
        if (input_.size() + stream.coming() >= least) return false;
        return lose();
    }
    // Reads payload and tail. True: they are complete, or nothing more of them will come. False: more
    // has to come, or the frames of a gap have to be read before.
    template <class Stream>
    bool read_on(Stream& stream, tcp_reading& now) {
        std::byte* const target = phase_ == phase::taking     ? into_
                                  : phase_ == phase::spilling ? memory_.find(handle_)->own.get()
                                                              : nullptr;
        while (!is_whole() && gap_.left() == 0) {
            if (input_.size() != 0) {
                read_from_chunk(target);
            } else {
                if (input_.has_ended()) return true;
                if (!now.may_read) return false;
                read_from_stream(stream, target, now);
            }
            if (gap_.is_broken()) return true;
        }
        return gap_.left() == 0;
    }
    // How reading it has ended. ok: it is whole.
    errc outcome() const noexcept {
        if (is_whole()) return tail_.verdict();
        return gap_.is_broken() ? errc::protocol_error : errc::peer_dead;
    }

    // Reads it to where it shall go. Pre: is_on_stream(its handle); `into` has the right length.
    // False: more of it has to come, and finish() will tell the end of the take.
    template <class Stream>
    bool take(Stream& stream, std::span<std::byte> into, std::uint64_t id) {
        tcp_arrival& a = *memory_.find(handle_);
        if (phase_ == phase::spilling && done_ != 0)
            std::memcpy(into.data(), a.own.get(), static_cast<std::size_t>(done_));
        phase_ = phase::taking;
        into_ = into.data();
        id_ = id;
        tcp_reading now;
        input_.begin_turn();
        const bool over = read_on(stream, now);
        if (over) phase_ = phase::none;
        if (over && outcome() != errc::ok)
            a.at = tcp_arrival::place::void_;
        else
            memory_.remove(handle_);
        return over;
    }
    // Nobody wants it. Pre: is_on_stream(its handle).
    void release() noexcept {
        memory_.remove(handle_);
        phase_ = phase::dropping;
    }
    // True: it was the id of a take under way, and `into` is not touched any more.
    bool cancel(std::uint64_t id) noexcept {
        if (phase_ != phase::taking || id_ != id) return false;
        phase_ = phase::dropping;
        return true;
    }
    // It is over. Tells the end of a take, or where the payload lies.
    void finish(rank_t peer, due_events& ends) {
        const errc code = outcome();
        if (phase_ == phase::taking) {
            ends.complete(id_, code, peer);
        } else if (phase_ != phase::dropping) {
            tcp_arrival& a = *memory_.find(handle_);
            a.at = code == errc::ok ? tcp_arrival::place::own : tcp_arrival::place::void_;
            a.data = a.own.get();
        }
        phase_ = phase::none;
    }

private:
    enum class phase : std::uint8_t { none, announced, spilling, taking, dropping };
    static constexpr std::uint32_t patience = 16; // polls that it may wait to be taken

    // It cannot be had any more, and nothing comes behind it.
    bool lose() noexcept {
        memory_.find(handle_)->at = tcp_arrival::place::void_;
        phase_ = phase::none;
        input_.end();
        return true;
    }
    bool is_whole() const noexcept { return done_ == bytes_ && tail_.is_whole(); }
    // Where the part ends of which the next byte is: here, if the header of a gap is next.
    std::uint64_t end_of_part() const noexcept {
        return is_gap(done_, bytes_) && !gap_.is_over() ? done_ : part_end(done_, bytes_);
    }
    // What comes behind that part.
    std::span<std::byte> rest_behind(std::uint64_t end) noexcept { return end == bytes_ ? tail_.rest() : gap_.rest(); }
    // So many bytes have come of the part that ends there, and of what is behind it.
    void count(std::uint64_t end, std::size_t of_part, std::size_t behind) noexcept {
        done_ += of_part;
        if (of_part != 0) gap_.leave();
        if (end == bytes_)
            tail_.add(behind);
        else
            gap_.add(behind);
    }
    template <class Stream>
    void read_from_stream(Stream& stream, std::byte* target, tcp_reading& now) {
        const std::uint64_t end = end_of_part();
        const auto left = static_cast<std::size_t>(end - done_);
        io_vectors<std::byte> into;
        if (target != nullptr)
            into.add({target + done_, left});
        else
            into.add(std::span<std::byte>(memory_.trash()).first(std::min(memory_.trash().size(), left)));
        if (into.bytes() == left) into.add(rest_behind(end));
        const std::size_t n = input_.read_into(stream, into, into.bytes(), now);
        count(end, std::min(n, left), n - std::min(n, left));
    }
    void read_from_chunk(std::byte* target) noexcept {
        const std::uint64_t end = end_of_part();
        const std::size_t some = static_cast<std::size_t>(std::min<std::uint64_t>(input_.size(), end - done_));
        if (target != nullptr && some != 0) std::memcpy(target + done_, input_.front(), some);
        input_.skip(some);
        const std::span<std::byte> rest = rest_behind(end);
        const std::size_t behind = done_ + some == end ? std::min(input_.size(), rest.size()) : 0;
        std::memcpy(rest.data(), input_.front(), behind);
        input_.skip(behind);
        count(end, some, behind);
    }

    tcp_memory& memory_;
    tcp_budget& budget_;
    tcp_input& input_;
    phase phase_ = phase::none;
    std::uint32_t turns_ = 0;
    std::uint64_t handle_ = 0, id_ = 0, bytes_ = 0, done_ = 0;
    std::byte* into_ = nullptr;
    tcp_tail tail_;
    tcp_gap gap_;
};

} // namespace bough::detail

#endif
