// SPDX-License-Identifier: BSL-1.0
// Early messages: those that come before this rank has started their operation.
//
// They stay where they landed. The transport's slots bound their number, and a sender without a
// free slot is told would_block. When a sender has several there, they are copied out, so that they
// do not hold up messages of another communicator. Copies have a cap in bytes, per peer and per
// group; beyond it messages stay where they are. Messages whose payload is still with their sender
// stay, too.
//
// There are two more occasions to copy. One is when a message of a started operation comes behind
// them, as a transport may free its slots only in the order in which they were filled. The other is
// when nothing comes for a while, as such a message may be waiting for a slot; then messages that
// operations in flight hold are copied out, too.
//
// Copies allocate, and their memory is kept for later ones, up to early_limits::kept_bytes. So there
// is one allocation whenever more messages are early at a time than ever before, and none otherwise.
// Nothing else in a session allocates once its plans are bound. What a message costs does not depend
// on how many wait (early_list.hpp).
#ifndef BOUGH_SESSION_UNEXPECTED_HPP
#define BOUGH_SESSION_UNEXPECTED_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/moved_list.hpp>
#include <bough/engine/engine.hpp>
#include <bough/session/early_list.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

struct early_limits {
    // Messages of one sender that stay in the transport uncopied.
    std::uint32_t in_place = 4;
    std::uint64_t bytes_per_peer = std::uint64_t{1} << 20; // copies of one sender's messages
    std::uint64_t bytes = std::uint64_t{64} << 20;         // copies in all
    // Memory of used copies that is kept for later ones.
    std::uint64_t kept_bytes = std::uint64_t{2} << 20;
};

// Wraps the part of a transport that reads arrivals, so that copies look like arrivals.
template <Transport T>
class unexpected_messages {
public:
    unexpected_messages(T& transport, const early_limits& limits)
        : transport_(transport), limits_(limits), waiting_(transport.size()) {
        copies_.reserve(32);
        free_.fill(none);
    }

    bool empty() const noexcept { return waiting_.empty(); }
    std::size_t size() const noexcept { return waiting_.size(); }
    std::uint64_t copied_bytes() const noexcept { return copied_; }
    // Since it was made.
    std::uint64_t allocations() const noexcept { return allocations_ + waiting_.allocations(); }

    // Keeps a message. If there is no memory to remember it, nothing has happened.
    void keep(const event& e) {
        waiting_.append(e, !is_copy(e.id));
        // Copies all of this sender's, so that slots become free in the order in which they were filled.
        if (waiting_.peer(e.peer).in_place > limits_.in_place) overtaken(e.peer);
    }

    // Call when a message of this peer has come that can be used already, as the next one may be,
    // too.
    void overtaken(rank_t peer) {
        if (!InPlaceTransport<T>) return;
        for (detail::early_message* m = waiting_.first_of(peer); m != nullptr;) {
            detail::early_message* const next = m->after_of_peer;
            copy_out(*m);
            m = next;
        }
    }

    // Copies out all early messages, so that they hold up nothing.
    void copy_all() {
        if (!InPlaceTransport<T> || waiting_.in_place() == 0) return;
        for (detail::early_message* m = waiting_.first(); m != nullptr; m = m->after)
            if (m->in_place) copy_out(*m);
    }
    // Copies out a message that an operation holds.
    void detach(held_message& held) {
        if (!InPlaceTransport<T> || is_copy(held.handle)) return;
        event e;
        e.peer = held.peer;
        e.id = held.handle;
        e.data = held.data;
        e.bytes = held.bytes;
        copy_out(e);
        held.handle = e.id;
        held.data = e.data;
    }

    template <class F>
    std::size_t count(F&& wanted) const {
        std::size_t n = 0;
        for (const detail::early_message* m = waiting_.first(); m != nullptr; m = m->after)
            n += wanted(m->what) ? 1u : 0u;
        return n;
    }
    // Takes out the first message for which `wanted(event)` holds.
    template <class F>
    bool next(event& e, F&& wanted) {
        for (detail::early_message* m = waiting_.first(); m != nullptr; m = m->after)
            if (wanted(std::as_const(m->what))) return e = waiting_.take_out(*m), true;
        return false;
    }
    // Takes out the first message of this call.
    bool next_of(event& e, const envelope& call) {
        detail::early_message* const m = waiting_.find(call);
        if (m == nullptr) return false;
        e = waiting_.take_out(*m);
        return true;
    }
    template <class F>
    bool any(F&& wanted) const {
        return count(wanted) != 0;
    }
    // Releases the messages for which `unwanted(event)` holds.
    template <class F>
    std::uint64_t drop(F&& unwanted) {
        std::uint64_t dropped = 0;
        for (event e; next(e, unwanted); ++dropped) release(e.id);
        return dropped;
    }

    // Like the transport's functions, but for arrivals and for copies.
    void release(std::uint64_t handle) {
        if (!is_copy(handle)) return transport_.release(handle);
        const auto at = static_cast<std::uint32_t>(handle - first_copy);
        copy& ended = copies_[at];
        const std::uint64_t bytes = cost(ended.used);
        copied_ -= bytes;
        waiting_.peer(ended.peer).copied -= bytes;
        if (kept_ + ended.bytes.capacity() > limits_.kept_bytes) ended.bytes = {};
        put_back(at);
    }
    bool claim(std::uint64_t handle) {
        if constexpr (InPlaceTransport<T>)
            return is_copy(handle) || transport_.claim(handle);
        else
            return true;
    }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        return transport_.take(handle, into, id);
    }
    // Pre: a message whose payload is with its sender; so it is no copy.
    posted take_pieces(std::uint64_t handle, std::uint64_t grain, std::uint64_t id) {
        if constexpr (PiecewiseTransport<T>)
            return transport_.take_pieces(handle, grain, id);
        else
            return posted::would_block;
    }

private:
    // Handles of transports are below 2^63.
    static constexpr std::uint64_t first_copy = std::uint64_t{1} << 63;
    static constexpr bool is_copy(std::uint64_t handle) noexcept { return handle >= first_copy; }

    static constexpr std::uint32_t none = 0xffff'ffffu;

    struct copy {
        rank_t peer = no_rank;
        std::uint32_t next_free = none;
        std::uint64_t used = 0;       // bytes of the message
        std::vector<std::byte> bytes; // a power of two; empty: it has no memory
    };

    // The memory of a copy, with its bookkeeping.
    static constexpr std::uint64_t cost(std::uint64_t bytes) noexcept { return bytes + sizeof(copy) + sizeof(event); }

    // Which of the free lists has copies of at least so many bytes.
    static constexpr std::size_t list_for(std::uint64_t bytes) noexcept {
        return bytes == 0 ? 0 : bytes <= 64 ? 1 : static_cast<std::size_t>(std::bit_width(bytes - 1) - 5);
    }
    void put_back(std::uint32_t at) noexcept {
        const std::size_t list = list_for(copies_[at].bytes.size());
        kept_ += copies_[at].bytes.capacity();
        copies_[at].next_free = std::exchange(free_[list], at);
    }
    // A copy that is free, with memory for so many bytes. It stays free if memory runs out.
    std::uint32_t free_copy(std::uint64_t bytes) {
        const std::size_t needed = list_for(bytes);
        std::size_t list = needed;
        // Memory of up to 8 times as much will do; larger ones remain for larger messages.
        while (list != needed + 3 && list + 1 != free_.size() && free_[list] == none) ++list;
        if (bytes == 0 || free_[list] == none) list = 0;
        if (free_[list] == none) {
            allocations_ += copies_.size() == copies_.capacity();
            copies_.emplace_back();
            put_back(static_cast<std::uint32_t>(copies_.size() - 1));
        }
        copy& found = copies_[free_[list]];
        if (list == 0 && bytes != 0) {
            std::vector<std::byte> made(std::size_t{32} << needed);
            ++allocations_;
            found.bytes = std::move(made);
        } else {
            kept_ -= found.bytes.capacity();
        }
        return std::exchange(free_[list], found.next_free);
    }

    // Copies a message out. It stays where it is if there is no memory for a copy.
    void copy_out(detail::early_message& m) {
        copy_out(m.what);
        if (is_copy(m.what.id)) waiting_.leaves_transport(m);
    }
    void copy_out(event& e) {
#if BOUGH_HAS_EXCEPTIONS
        try {
            try_to_copy_out(e);
        } catch (...) {
        }
#else
        try_to_copy_out(e);
#endif
    }
    void try_to_copy_out(event& e) {
        // The payload is with its sender, and takes no room here.
        if (e.data == nullptr && e.bytes != 0) return;
        std::uint64_t& of_peer = waiting_.peer(e.peer).copied;
        const std::uint64_t bytes = cost(e.bytes);
        if (of_peer + bytes > limits_.bytes_per_peer || copied_ + bytes > limits_.bytes) return;
        const std::uint32_t at = free_copy(e.bytes);
        if (!claim(e.id)) return put_back(at); // its sender took it back; a later claim will say so again
        copy& made = copies_[at];
        made.peer = e.peer;
        made.used = e.bytes;
        if (e.bytes != 0) std::memcpy(made.bytes.data(), e.data, static_cast<std::size_t>(e.bytes));
        transport_.release(e.id);
        of_peer += bytes;
        copied_ += bytes;
        e.id = first_copy + at;
        e.data = made.bytes.data();
    }

    T& transport_;
    early_limits limits_;
    detail::early_list waiting_;
    detail::moved_list<copy> copies_;
    std::array<std::uint32_t, 60> free_; // copies that are not in use, by list_for() their memory
    std::uint64_t kept_ = 0;             // bytes of memory that those have
    std::uint64_t copied_ = 0;
    std::uint64_t allocations_ = 0;
};

} // namespace bough

#endif
