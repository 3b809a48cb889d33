// SPDX-License-Identifier: BSL-1.0
// tcp_incoming: reads one tcp connection and announces the messages that come in over it.
//
//   tcp_input          bytes that have been read (input.hpp): short messages lie in a chunk, and are
//                      announced with their payload there
//   tcp_long_message   the message whose payload is still on the socket (long_message.hpp): it is
//                      announced by its header, and read straight to where it shall go
//   tcp_lone_message   a short message for which no chunk has room (lone_message.hpp), perhaps in a
//                      gap of the long one
//   tcp_window         how many short messages the peer may have on the way, or lying here
//                      (window.hpp). One beyond that is a protocol error, which is seen before
//                      anything of the message is kept
//
// A short message never stays on the socket. The rest of a long message may lie behind it, and this rank
// may be waiting for that before it uses up any short one: it would wait for ever.
#ifndef BOUGH_TRANSPORT_TCP_INCOMING_HPP
#define BOUGH_TRANSPORT_TCP_INCOMING_HPP

#include <bough/concepts/transport.hpp>
#include <bough/transport/detail/due_events.hpp>
#include <bough/transport/tcp/frame.hpp>
#include <bough/transport/tcp/input.hpp>
#include <bough/transport/tcp/lone_message.hpp>
#include <bough/transport/tcp/long_message.hpp>
#include <bough/transport/tcp/memory.hpp>
#include <bough/transport/tcp/window.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

class tcp_incoming {
public:
    // `most`: how many bytes of unexpected messages are kept at the most. `window`: what the peer
    // was told about that. Pre: window <= most.
    tcp_incoming(tcp_memory& memory, rank_t peer, std::uint64_t most, std::uint64_t window)
        : memory_(memory), peer_(peer), budget_{.most = most}, input_(memory, budget_),
          message_(memory, budget_, input_), lone_(memory, budget_, input_), window_(window) {}
    tcp_incoming(const tcp_incoming&) = delete;
    tcp_incoming& operator=(const tcp_incoming&) = delete;

    // Everything that came has been announced, and nothing more will come.
    bool ended() const noexcept { return drained_; }
    // Why: ok, or protocol_error.
    errc fault() const noexcept { return fault_; }
    // A long message waits to be taken: reading the socket would not help.
    bool blocked() const noexcept { return message_.is_announced(); }
    // The same, and poll() must still be called a few times, which may end the wait.
    bool is_impatient() const noexcept { return message_.is_impatient(); }
    // Something may be here that was not looked at, of which no socket tells: poll() must be called.
    bool has_more() const noexcept { return input_.has_read_enough() && !drained_; }
    // Credit that the peer has sent since the last call.
    std::uint64_t credit() noexcept { return std::exchange(credit_, 0); }
    // Of the short frames that have come.
    tcp_window& window() noexcept { return window_; }
    const tcp_window& window() const noexcept { return window_; }
    // For the caller that sees the peer break a rule which this class cannot see.
    void report_protocol_error() noexcept { (void)broken(); }

    // Writes arrivals to `events`, and appends the ends of takes to `ends`. Sets `moved` if bytes
    // were read. If memory runs out behind the first arrival, that is all for now: the next call tries
    // again.
    template <class Stream>
    std::size_t poll(Stream& stream, std::span<event> events, due_events& ends, bool& moved) {
        std::size_t found = 0;
        tcp_reading now;
        input_.begin_turn();
#if BOUGH_HAS_EXCEPTIONS
        try {
            while (step(stream, events, found, ends, now)) continue;
        } catch (...) {
            if (found == 0) throw;
        }
#else
        while (step(stream, events, found, ends, now)) continue;
#endif
        if (found == events.size()) input_.end_turn();
        moved |= now.moved;
        return found;
    }

    // Is this the arrival whose payload is still to be read?
    bool is_stream(std::uint64_t handle) const noexcept { return message_.is_on_stream(handle); }
    // Pre: is_stream(handle); `into` has the right length.
    template <class Stream>
    posted take(Stream& stream, std::span<std::byte> into, std::uint64_t id) {
        const bool over = message_.take(stream, into, id);
        input_.end_turn();
        if (!over) return posted::pending;
        return is_whole() ? posted::complete : posted::failed;
    }
    // Pre: is_stream(its handle).
    void release() noexcept {
        message_.release();
        input_.end_turn();
    }
    // True: it was the id of a take under way, and `into` is not touched any more.
    bool cancel(std::uint64_t id) noexcept { return message_.cancel(id); }

    // Called when the connection is gone: nothing more will come. Arrivals in memory stay.
    void drop(due_events& ends) {
        drained_ = true;
        if (event none; !lone_.empty()) (void)lone_.finish(none);
        if (!message_.empty()) finish(ends);
        input_.drop();
    }

private:
    enum class parsed : std::uint8_t { arrival, nothing, more };

    // Goes on with the long message, or with the next frame. False: that is all for now.
    template <class Stream>
    bool step(Stream& stream, std::span<event> events, std::size_t& found, due_events& ends, tcp_reading& now) {
        if (!message_.empty() && message_.gap_left() == 0) {
            if (message_.is_announced() && !message_.give_up_waiting(stream)) return false;
            if (!message_.empty() && !message_.read_on(stream, now)) return message_.gap_left() != 0;
            if (!message_.empty()) finish(ends);
            return true;
        }
        if (found == events.size()) return false;
        if (!lone_.empty()) {
            const std::uint64_t bytes = lone_.bytes();
            if (!lone_.read_on(stream, now)) return false;
            if (!lone_.finish(events[found])) return true;
            if (!message_.empty()) message_.overtaken_by(bytes);
            return ++found, true;
        }
        switch (next_frame(events[found])) {
        case parsed::arrival: ++found; return true;
        case parsed::nothing: return true;
        case parsed::more: break;
        }
        if (input_.has_ended() && !message_.empty()) { // in a gap, of which the rest will not come
            input_.end();                              // a part of a frame is no payload
            message_.overtaken_by(message_.gap_left());
            return true;
        }
        if (input_.has_ended()) return drained_ = true, false;
        if (!now.may_read) return false;
        // After a long message another one is likely. Only its header is read here, so that its
        // payload need not be copied; and nothing that lies behind a gap.
        input_.read(stream, message_.empty() ? after_long_ ? frame_header_bytes : 0 : message_.gap_left(), now);
        return true;
    }

    parsed next_frame(event& e) {
        if (fault_ != errc::ok) return parsed::more;
        const frame_header* const header = input_.header();
        if (header == nullptr) return parsed::more;
        frame f;
        if (decode_frame(*header, sequence_, f) != frame_fault::none) return broken();
        const bool is_short = f.kind == frame_kind::message;
        const std::uint64_t all = is_short ? short_frame_bytes(f.bytes) : frame_header_bytes; // until the next frame
        const bool overtakes = !message_.empty();                                             // and so it is in a gap
        if (overtakes && (f.kind == frame_kind::long_message || all > message_.gap_left())) return broken();
        if (is_short && input_.chunk() != nullptr && input_.size() < all && input_.make_room(all)) return parsed::more;
        if (is_short && !window_.has_room(all)) return broken();
        if (f.kind == frame_kind::credit && f.bytes > most_frame_bytes - credit_) return broken();
        memory_.make_room(); // once its header is skipped, nothing may fail
        const bool is_lone = is_short && f.bytes != 0 && (input_.chunk() == nullptr || input_.size() < all);
        e = {};
        e.peer = peer_;
        e.bytes = f.bytes;
        e.envelope = f.tag;
        tcp_arrival a;
        a.peer = peer_;
        a.bytes = f.bytes;
        if (is_short) a.credit = window_.counter();
        if (is_lone) lone_.begin(e, std::move(a));
        input_.skip_header();
        if (is_short) window_.add(all);
        ++sequence_;
        after_long_ = f.kind == frame_kind::long_message;
        if (overtakes) message_.overtaken_by(is_lone ? frame_header_bytes : all);
        switch (f.kind) {
        case frame_kind::credit: credit_ += f.bytes; return parsed::nothing;
        case frame_kind::nothing: return parsed::nothing;
        case frame_kind::long_message:
            a.at = tcp_arrival::place::stream;
            e.id = memory_.add(std::move(a));
            message_.begin(e.id, f.bytes);
            return parsed::arrival;
        case frame_kind::message: break;
        }
        if (is_lone) return parsed::nothing;
        a.at = tcp_arrival::place::chunk;
        if (f.bytes != 0) {
            a.data = input_.front();
            a.chunk = input_.chunk();
            input_.skip(static_cast<std::size_t>(all) - frame_header_bytes);
        }
        e.data = a.data;
        e.id = memory_.add(std::move(a));
        return parsed::arrival;
    }
    parsed broken() noexcept {
        fault_ = errc::protocol_error;
        input_.end();
        return parsed::more;
    }
    bool is_whole() noexcept {
        const errc code = message_.outcome();
        if (code == errc::protocol_error) broken();
        return code == errc::ok;
    }
    void finish(due_events& ends) {
        (void)is_whole();
        message_.finish(peer_, ends);
    }

    tcp_memory& memory_;
    rank_t peer_;
    tcp_budget budget_;
    tcp_input input_;
    tcp_long_message message_;
    tcp_lone_message lone_;
    tcp_window window_;
    std::uint64_t credit_ = 0; // that the peer has given
    std::uint32_t sequence_ = 0;
    bool after_long_ = false; // the last frame announced a long message
    bool drained_ = false;
    errc fault_ = errc::ok;
};

} // namespace bough::detail

#endif
