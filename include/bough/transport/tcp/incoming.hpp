// SPDX-License-Identifier: BSL-1.0
// tcp_incoming: reads one tcp connection and announces the messages that come in over it.
//
// Short messages are read many at a time into a chunk and announced with their payload there. A
// long message is announced by its header. Its payload stays on the socket, with everything behind
// it, until the message is taken or released. A taken payload is read straight to where it shall
// go. If neither happens soon, the payload is read into memory of its own, as far as the cap for
// unexpected bytes allows. So it does not stand in the way of other operations.
//
// The peer may have as many short messages on the way, or lying here, as this rank's window has
// room for, headers included. A message beyond that is a protocol error, which is seen before
// anything of the message is kept.
#ifndef BOUGH_TRANSPORT_TCP_INCOMING_HPP
#define BOUGH_TRANSPORT_TCP_INCOMING_HPP

#include <bough/concepts/transport.hpp>
#include <bough/transport/detail/due_events.hpp>
#include <bough/transport/tcp/frame.hpp>
#include <bough/transport/tcp/memory.hpp>
#include <bough/transport/tcp/sockets.hpp>
#include <bough/transport/tcp/stream.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

class tcp_incoming {
public:
    // `most`: how many bytes of unexpected messages are kept at the most. `window`: what the peer
    // was told about that. Pre: window <= most.
    tcp_incoming(tcp_memory& memory, rank_t peer, std::uint64_t most, std::uint64_t window)
        : memory_(memory), peer_(peer), window_(window) {
        budget_.most = most;
    }
    tcp_incoming(const tcp_incoming&) = delete;
    tcp_incoming& operator=(const tcp_incoming&) = delete;

    // Everything that came has been announced, and nothing more will come.
    bool ended() const noexcept { return drained_; }
    // Why: ok, or protocol_error.
    errc fault() const noexcept { return fault_; }
    // A long message waits to be taken: reading the socket would not help.
    bool blocked() const noexcept { return mode_ == mode::announced; }
    // The same, and poll() must still be called a few times, which may end the wait: see
    // `patience`.
    bool is_impatient() const noexcept { return mode_ == mode::announced && turns_ < patience; }
    // Credit that the peer has sent since the last call.
    std::uint64_t credit() noexcept { return std::exchange(credit_, 0); }
    // Bytes of short frames that are used up and that the peer has not been told of.
    std::uint64_t used_up() const noexcept { return used_up_; }
    // They are a fourth of the window, which is worth telling the peer.
    bool owes_credit() const noexcept { return used_up_ >= window_ / 4; }
    // The peer is being told of all of them: it may send as much again.
    void credit_given() noexcept { owed_ -= std::exchange(used_up_, 0); }
    // For the caller that sees the peer break a rule which this class cannot see.
    void report_protocol_error() noexcept { (void)broken(); }

    // Writes arrivals to `events`, and appends the ends of takes to `ends`. Sets `moved` if bytes
    // were read.
    template <class Stream>
    std::size_t poll(Stream& stream, std::span<event> events, due_events& ends, bool& moved) {
        std::size_t found = 0;
        bool may_read = true;
        for (;;) {
            if (mode_ != mode::none) {
                if (mode_ == mode::announced && !give_up_waiting(stream)) return found;
                if (mode_ != mode::none && !read_on(stream, may_read, moved)) return found;
                if (mode_ != mode::none) finish(ends);
                continue;
            }
            if (found == events.size()) return found;
            switch (next_frame(events[found])) {
            case parsed::arrival: ++found; continue;
            case parsed::nothing: continue;
            case parsed::more: break;
            }
            if (ended_) {
                drained_ = true;
                return found;
            }
            if (!may_read) return found;
            read_frames(stream, may_read, moved);
        }
    }

    // Is this the arrival whose payload is still to be read?
    bool is_stream(std::uint64_t handle) const noexcept {
        return (mode_ == mode::announced || mode_ == mode::spilling) && handle == handle_;
    }
    // Pre: is_stream(handle); `into` has the right length.
    template <class Stream>
    posted take(Stream& stream, std::span<std::byte> into, std::uint64_t id) {
        tcp_arrival& a = *memory_.find(handle_);
        if (mode_ == mode::spilling && done_ != 0)
            std::memcpy(into.data(), a.own.get(), static_cast<std::size_t>(done_));
        mode_ = mode::taking;
        into_ = into.data();
        id_ = id;
        bool may_read = true, moved = false;
        const bool over = read_on(stream, may_read, moved);
        if (over && outcome() != errc::ok) {
            a.at = tcp_arrival::place::void_;
            mode_ = mode::none;
            return posted::failed;
        }
        memory_.remove(handle_);
        if (!over) return posted::pending;
        mode_ = mode::none;
        return posted::complete;
    }
    // Pre: is_stream(handle).
    void release() noexcept {
        memory_.remove(handle_);
        mode_ = mode::dropping;
    }
    // True: it was the id of a take under way, and `into` is not touched any more.
    bool cancel(std::uint64_t id) noexcept {
        if (mode_ != mode::taking || id_ != id) return false;
        mode_ = mode::dropping;
        return true;
    }

    // Called when the connection is gone: nothing more will come. Arrivals in memory stay.
    void drop(due_events& ends) {
        ended_ = drained_ = true;
        if (mode_ != mode::none) finish(ends);
        if (chunk_ != nullptr) memory_.close_chunk(chunk_);
        chunk_ = nullptr;
        begin_ = end_ = header_got_ = 0;
    }

private:
    enum class mode : std::uint8_t { none, announced, spilling, taking, dropping };
    enum class parsed : std::uint8_t { arrival, nothing, more };
    static constexpr std::uint32_t patience = 16; // polls that a long message may wait to be taken

    std::size_t here() const noexcept { return end_ - begin_; } // bytes of the chunk that are not looked at yet
    const std::byte* front() const noexcept { return chunk_->bytes.data() + begin_; }

    // --- Frames in a chunk, or a header alone where there is no room for a chunk -------------------------------------

    parsed next_frame(event& e) {
        if (fault_ != errc::ok) return parsed::more;
        if (chunk_ == nullptr && header_got_ == header_.size()) use_chunk();
        if (chunk_ != nullptr && here() >= header_.size()) {
            std::memcpy(header_.data(), front(), header_.size());
        } else if (chunk_ != nullptr || header_got_ != header_.size()) {
            return parsed::more;
        }
        frame f;
        if (decode_frame(header_, sequence_, f) != frame_fault::none) return broken();
        const std::size_t tail = frame_tail_bytes(f.kind, frame_payload_bytes(f));
        const std::uint64_t all = header_.size() + f.bytes + tail;
        if (f.kind == frame_kind::message && chunk_ != nullptr && here() < all) {
            if (begin_ + all <= tcp_chunk::capacity || move_to_front(static_cast<std::size_t>(all)))
                return parsed::more;
        }
        if (f.kind == frame_kind::message && (owed_ += short_frame_bytes(f.bytes)) > window_) return broken();
        ++sequence_;
        after_long_ = f.kind == frame_kind::long_message;
        const std::byte* payload = chunk_ != nullptr ? front() + header_.size() : nullptr;
        if (chunk_ != nullptr) begin_ += header_.size();
        header_got_ = 0;
        if (f.kind == frame_kind::credit && f.bytes > most_frame_bytes - credit_) return broken();
        if (f.kind == frame_kind::credit) credit_ += f.bytes;
        if (f.kind == frame_kind::nothing || f.kind == frame_kind::credit) return parsed::nothing;
        e = {};
        e.peer = peer_;
        e.bytes = f.bytes;
        e.envelope = f.tag;
        tcp_arrival a;
        a.peer = peer_;
        a.bytes = f.bytes;
        if (f.kind == frame_kind::message) a.credit = &used_up_;
        if (f.kind == frame_kind::message && (f.bytes == 0 || (payload != nullptr && here() >= f.bytes + tail))) {
            a.at = tcp_arrival::place::chunk;
            a.data = f.bytes == 0 ? nullptr : payload;
            a.chunk = f.bytes == 0 ? nullptr : chunk_;
            if (f.bytes != 0) begin_ += static_cast<std::size_t>(f.bytes) + tail;
            e.data = a.data;
            e.id = memory_.add(std::move(a));
            return parsed::arrival;
        }
        a.at = tcp_arrival::place::stream;
        e.id = handle_ = memory_.add(std::move(a));
        mode_ = mode::announced;
        bytes_ = f.bytes;
        done_ = 0;
        tail_bytes_ = tail;
        tail_done_ = 0;
        has_verdict_ = f.kind == frame_kind::long_message;
        turns_ = 0;
        return parsed::arrival;
    }
    parsed broken() noexcept {
        fault_ = errc::protocol_error;
        ended_ = true;
        return parsed::more;
    }

    // Moves a header that was read alone into a chunk, if the caps allow one.
    void use_chunk() {
        chunk_ = memory_.open_chunk(budget_);
        if (chunk_ == nullptr) return;
        std::memcpy(chunk_->bytes.data(), header_.data(), header_got_);
        begin_ = 0;
        end_ = header_got_;
        header_got_ = 0;
    }
    // Makes room in a chunk for a frame of so many bytes. False: there is none.
    bool move_to_front(std::size_t all) {
        if (all > tcp_chunk::capacity) return false;
        tcp_chunk* to = chunk_->live == 0 ? chunk_ : memory_.open_chunk(budget_);
        if (to == nullptr) return false;
        std::memmove(to->bytes.data(), front(), here());
        if (to != chunk_) memory_.close_chunk(chunk_);
        chunk_ = to;
        end_ = here();
        begin_ = 0;
        return true;
    }

    template <class Stream>
    void read_frames(Stream& stream, bool& may_read, bool& moved) {
        if (chunk_ != nullptr && begin_ == end_) // frames begin where payloads are aligned
            begin_ = end_ = chunk_->live == 0 ? 0 : (end_ + frame_alignment - 1) / frame_alignment * frame_alignment;
        if (chunk_ == nullptr) use_chunk();
        if (chunk_ != nullptr && tcp_chunk::capacity - begin_ < header_.size() && !move_to_front(header_.size())) {
            header_got_ = here();
            std::memcpy(header_.data(), front(), header_got_);
            memory_.close_chunk(chunk_);
            chunk_ = nullptr;
        }
        std::span<std::byte> into = chunk_ != nullptr ? std::span<std::byte>(chunk_->bytes).subspan(end_)
                                                      : std::span<std::byte>(header_).subspan(header_got_);
        // After a long message another one is likely. Only its header is read here, so that its
        // payload need not be copied.
        if (chunk_ != nullptr && after_long_ && here() < header_.size()) into = into.first(header_.size() - here());
        std::size_t n = 0;
        switch (stream.read(into, n)) {
        case io_result::some: break;
        case io_result::would_block: may_read = false; return;
        case io_result::closed: ended_ = true; return;
        }
        moved = true;
        may_read = n == into.size();
        (chunk_ != nullptr ? end_ : header_got_) += n;
    }

    // --- A long message ----------------------------------------------------------------------------------------------

    // Counts the polls in which nobody took the message. True: it need not wait any more, because
    // it may be read into memory of its own, or is known to be lost.
    template <class Stream>
    bool give_up_waiting(Stream& stream) {
        if (++turns_ < patience) return false;
        if (memory_.may_own(budget_, bytes_)) {
            memory_.give_own(*memory_.find(handle_), budget_);
            mode_ = mode::spilling;
            return true;
        }
        if (turns_ % 64 != 0 || !has_hung_up(stream.socket().native_handle())) return false;
        // Its sender is gone. If the rest of it has not come by now, it never will.
        if (here() + stream.coming() >= bytes_ + tail_bytes_) return false;
        memory_.find(handle_)->at = tcp_arrival::place::void_;
        mode_ = mode::none;
        ended_ = true;
        begin_ = end_;
        return true;
    }

    // Reads payload and tail. True: they are complete, or nothing more of them will come.
    template <class Stream>
    bool read_on(Stream& stream, bool& may_read, bool& moved) {
        std::byte* const target = mode_ == mode::taking     ? into_
                                  : mode_ == mode::spilling ? memory_.find(handle_)->own.get()
                                                            : nullptr;
        if (here() != 0) {
            const std::size_t some = static_cast<std::size_t>(std::min<std::uint64_t>(here(), bytes_ - done_));
            if (target != nullptr && some != 0) std::memcpy(target + done_, front(), some);
            begin_ += some;
            done_ += some;
            const std::size_t of_tail = std::min(here(), tail_bytes_ - tail_done_);
            std::memcpy(tail_.data() + tail_done_, front(), of_tail);
            begin_ += of_tail;
            tail_done_ += of_tail;
        }
        while (done_ != bytes_ || tail_done_ != tail_bytes_) {
            if (ended_) return true;
            if (!may_read) return false;
            io_vectors<std::byte> into;
            if (target != nullptr)
                into.add({target + done_, static_cast<std::size_t>(bytes_ - done_)});
            else
                into.add(std::span<std::byte>(memory_.trash())
                             .first(static_cast<std::size_t>(
                                 std::min<std::uint64_t>(memory_.trash().size(), bytes_ - done_))));
            if (done_ + into.bytes() == bytes_)
                into.add(std::span(tail_).subspan(tail_done_, tail_bytes_ - tail_done_));
            std::size_t n = 0;
            switch (stream.read(into, n)) {
            case io_result::some: break;
            case io_result::would_block: may_read = false; return false;
            case io_result::closed: ended_ = true; return true;
            }
            moved = true;
            may_read = n == into.bytes();
            const std::size_t of_payload = static_cast<std::size_t>(std::min<std::uint64_t>(n, bytes_ - done_));
            done_ += of_payload;
            tail_done_ += n - of_payload;
        }
        return true;
    }
    // How reading the message has ended. ok: it is whole.
    errc outcome() noexcept {
        if (done_ != bytes_ || tail_done_ != tail_bytes_) return errc::peer_dead;
        if (!has_verdict_ || tail_[tail_bytes_ - 1] == whole_message) return errc::ok;
        if (tail_[tail_bytes_ - 1] == void_message) return errc::peer_aborted;
        broken();
        return errc::protocol_error;
    }
    void finish(due_events& ends) {
        const errc code = outcome();
        if (mode_ == mode::taking) {
            ends.complete(id_, code, peer_);
        } else if (mode_ == mode::spilling || mode_ == mode::announced) {
            tcp_arrival& a = *memory_.find(handle_);
            a.at = code == errc::ok ? tcp_arrival::place::own : tcp_arrival::place::void_;
            a.data = a.own.get();
        }
        mode_ = mode::none;
    }

    tcp_memory& memory_;
    rank_t peer_;
    tcp_budget budget_;
    tcp_chunk* chunk_ = nullptr;
    std::size_t begin_ = 0, end_ = 0;
    frame_header header_{};
    std::size_t header_got_ = 0; // bytes of a header that is read alone
    std::uint32_t sequence_ = 0;
    bool after_long_ = false;
    bool ended_ = false, drained_ = false;
    errc fault_ = errc::ok;

    std::uint64_t window_;
    // Bytes of short frames that have come, less those that the peer knows to be used up.
    std::uint64_t owed_ = 0;
    std::uint64_t credit_ = 0; // that the peer has given
    std::uint64_t used_up_ = 0;

    mode mode_ = mode::none;
    bool has_verdict_ = false;
    std::uint32_t turns_ = 0;
    std::uint64_t handle_ = 0, id_ = 0, bytes_ = 0, done_ = 0;
    std::byte* into_ = nullptr;
    std::array<std::byte, most_tail_bytes> tail_{};
    std::size_t tail_bytes_ = 0, tail_done_ = 0;
};

} // namespace bough::detail

#endif
