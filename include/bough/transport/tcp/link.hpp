// SPDX-License-Identifier: BSL-1.0
// tcp_link: one connection of a rank, with the messages that come in and go out over it. Its two
// wake-up handlers, one for reading and one for writing, have memory of their own, so that going to
// sleep allocates nothing.
#ifndef BOUGH_TRANSPORT_TCP_LINK_HPP
#define BOUGH_TRANSPORT_TCP_LINK_HPP

#include <bough/transport/tcp/incoming.hpp>
#include <bough/transport/tcp/outgoing.hpp>
#include <bough/transport/tcp/stream.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// Memory for one handler of Asio.
struct wake_room {
    alignas(std::max_align_t) std::array<std::byte, 256> bytes;
    bool used = false;
};

template <class T>
struct wake_allocator {
    using value_type = T;
    wake_room* room;

    explicit wake_allocator(wake_room* r) noexcept : room(r) {}
    template <class U>
    wake_allocator(const wake_allocator<U>& other) noexcept : room(other.room) {}

    T* allocate(std::size_t n) {
        if (room->used || n * sizeof(T) > room->bytes.size()) return static_cast<T*>(::operator new(n * sizeof(T)));
        room->used = true;
        return reinterpret_cast<T*>(room->bytes.data());
    }
    void deallocate(T* p, std::size_t) noexcept {
        if (reinterpret_cast<std::byte*>(p) == room->bytes.data())
            room->used = false;
        else
            ::operator delete(p);
    }
    template <class U>
    bool operator==(const wake_allocator<U>& other) const noexcept {
        return room == other.room;
    }
};

// Must outlive the event loop, which may have handlers in it until its end.
struct wake_rooms {
    wake_room read, write;
};

// Which polls read a link (event_loop.hpp).
enum class tcp_heat : std::uint8_t {
    hot,      // each one
    cold,     // none, until the event loop says that there is something to read
    recalled, // each one, though the event loop still listens
};

// `Stream`: as tcp_stream.
template <class Stream>
struct tcp_link {
    // `mine`, `theirs`: the windows (handshake.hpp) of this rank and of its peer.
    tcp_link(Stream&& connected, wake_rooms& room, tcp_memory& memory, rank_t to, std::uint64_t most_unexpected,
             std::uint64_t mine, std::uint64_t theirs)
        : peer(to), rooms(room), stream(std::move(connected)), in(memory, to, most_unexpected, mine), out(theirs) {}

    bool has_to_write() const noexcept { return (!out.idle() && !out.broken()) || stream.holds(); }
    // How many of the frames that `out` has accepted have left this process. A stream that holds
    // bytes itself does not know where frames end in them. So the frames that it has taken by now
    // count as gone only when all bytes that it holds now have gone.
    std::uint64_t handed_over() noexcept {
        if (!stream.holds()) return left_ = taken_ = out.handed_over();
        if (stream.pushed() >= due_) {
            left_ = taken_;
            taken_ = out.handed_over();
            due_ = stream.written();
        }
        return left_;
    }
    // As tcp_outgoing::flush(), after the bytes that the stream holds.
    template <class F>
    void flush(F&& written) {
        stream.push();
        if (!out.idle()) out.flush(stream, written);
    }

    rank_t peer;
    wake_rooms& rooms;
    Stream stream;
    tcp_incoming in;
    tcp_outgoing out;
    bool open = true;
    tcp_heat heat = tcp_heat::hot;
    bool waiting = false;     // the event loop will say when there is room to write; or a goodbye waits for it
    bool dirty = false;       // in the list of links that have something to write
    std::uint32_t misses = 0; // reads in a row that found nothing

private:
    std::uint64_t left_ = 0, taken_ = 0; // frames that have left; frames that leave with byte due_
    std::uint64_t due_ = 0;
};

} // namespace bough::detail

#endif
