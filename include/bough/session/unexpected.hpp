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
// Copies allocate, and their memory is kept for later ones (256 pieces, 2 MiB). So there is one
// allocation whenever more messages are early at a time than ever before, and none otherwise.
// Nothing else in a session allocates once its plans are bound.
#ifndef BOUGH_SESSION_UNEXPECTED_HPP
#define BOUGH_SESSION_UNEXPECTED_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/engine/engine.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

struct early_limits {
    std::uint32_t in_place = 4;                            // messages of one sender that stay in the transport uncopied
    std::uint64_t bytes_per_peer = std::uint64_t{1} << 20; // copies of one sender's messages
    std::uint64_t bytes = std::uint64_t{64} << 20;         // copies in all
};

// Wraps the part of a transport that reads arrivals, so that copies look like arrivals.
template <Transport T>
class unexpected_messages {
public:
    unexpected_messages(T& transport, const early_limits& limits) : transport_(transport), limits_(limits) {
        waiting_.reserve(16); // a rank that is only a little late allocates nothing
        copies_.reserve(32);
        spare_.reserve(32);
    }

    bool empty() const noexcept { return waiting_.empty(); }
    std::uint64_t copied_bytes() const noexcept { return copied_; }
    std::uint64_t allocations() const noexcept { return allocations_; } // since it was made

    // Keeps a message. If there is no memory to remember it, it is released, and the exception goes
    // on.
    void keep(const event& e) {
#if BOUGH_HAS_EXCEPTIONS
        try {
            append(waiting_, e);
        } catch (...) {
            release(e.id);
            throw;
        }
#else
        append(waiting_, e);
#endif
        if (!InPlaceTransport<T>) return;
        std::uint32_t in_place = 0;
        for (const event& other : waiting_) in_place += other.peer == e.peer && !is_copy(other.id);
        if (in_place <= limits_.in_place) return;
        // Copies all, the oldest first: slots become free in the order in which they were filled.
        for (event& other : waiting_)
            if (other.peer == e.peer && !is_copy(other.id)) copy_out(other);
    }

    // Call when a message of this peer has come that can be used already, as the next one may be,
    // too.
    void overtaken(rank_t peer) {
        if (!InPlaceTransport<T>) return;
        for (event& other : waiting_)
            if (other.peer == peer && !is_copy(other.id)) copy_out(other);
    }

    // Copies out all early messages, so that they hold up nothing.
    void copy_all() {
        if (!InPlaceTransport<T>) return;
        for (event& e : waiting_)
            if (!is_copy(e.id)) copy_out(e);
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
        for (const event& e : waiting_) n += wanted(e) ? 1u : 0u;
        return n;
    }
    // Takes out the first message for which `wanted(event)` holds.
    template <class F>
    bool next(event& e, F&& wanted) {
        for (std::size_t i = 0; i != waiting_.size(); ++i) {
            if (!wanted(waiting_[i])) continue;
            e = waiting_[i];
            waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
            return true;
        }
        return false;
    }
    template <class F>
    bool any(F&& wanted) const {
        for (const event& e : waiting_)
            if (wanted(e)) return true;
        return false;
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
        for (std::size_t i = 0; i != copies_.size(); ++i) {
            if (copies_[i].handle != handle) continue;
            copied_ -= cost(copies_[i].bytes.size());
            if (const std::size_t kept = copies_[i].bytes.capacity();
                kept != 0 && spare_.size() != most_spare && spare_bytes_ + kept <= most_spare_bytes) {
                spare_bytes_ += kept;
                append(spare_, std::move(copies_[i].bytes)); // has room: see copy_out
            }
            if (i + 1 != copies_.size()) copies_[i] = std::move(copies_.back());
            copies_.pop_back();
            return;
        }
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

    struct copy {
        std::uint64_t handle;
        rank_t peer;
        std::vector<std::byte> bytes;
    };

    // How much memory of used copies is kept for later ones.
    static constexpr std::size_t most_spare = 256;
    static constexpr std::size_t most_spare_bytes = std::size_t{2} << 20;

    // The memory of a copy, with its bookkeeping.
    static constexpr std::uint64_t cost(std::uint64_t bytes) noexcept { return bytes + sizeof(copy) + sizeof(event); }

    // Copies a message out. It stays where it is if there is no memory for a copy.
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
        if (e.data == nullptr && e.bytes != 0) return; // the payload is with its sender, and takes no room here
        std::uint64_t of_peer = cost(e.bytes);
        for (const copy& c : copies_)
            if (c.peer == e.peer) of_peer += cost(c.bytes.size());
        if (of_peer > limits_.bytes_per_peer || copied_ + cost(e.bytes) > limits_.bytes) return;
        make_room(copies_, copies_.size() + 1);
        make_room(spare_,
                  std::min(copies_.size() + 1 + spare_.size(), most_spare)); // where its memory may go afterwards
        copy made{next_copy_++, e.peer, {}};
        if (e.bytes != 0 && !spare_.empty()) {
            // Takes the smallest that is large enough, so that the large ones remain for large
            // messages. If none is, the largest.
            std::size_t best = 0;
            for (std::size_t i = 1; i != spare_.size(); ++i) {
                const std::size_t has = spare_[i].capacity(), known = spare_[best].capacity();
                if (known < e.bytes ? has > known : has >= e.bytes && has < known) best = i;
            }
            spare_bytes_ -= spare_[best].capacity();
            made.bytes = std::move(spare_[best]);
            if (best + 1 != spare_.size()) spare_[best] = std::move(spare_.back());
            spare_.pop_back();
        }
        allocations_ += made.bytes.capacity() < e.bytes;
        made.bytes.resize(static_cast<std::size_t>(e.bytes));
        if (!claim(e.id)) return; // its sender took it back; a later claim will say so again
        if (e.bytes != 0) std::memcpy(made.bytes.data(), e.data, made.bytes.size());
        transport_.release(e.id);
        copied_ += cost(e.bytes);
        e.id = made.handle;
        e.data = made.bytes.data();
        append(copies_, std::move(made));
    }
    template <class E>
    void make_room(std::vector<E>& list, std::size_t count) {
        if (count <= list.capacity()) return;
        ++allocations_;
        list.reserve(std::max(count, 2 * list.capacity()));
    }
    template <class E>
    void append(std::vector<E>& list, E made) {
        allocations_ += list.size() == list.capacity();
        list.push_back(std::move(made));
    }

    T& transport_;
    early_limits limits_;
    std::vector<event> waiting_;
    std::vector<copy> copies_;
    std::vector<std::vector<std::byte>> spare_;
    std::size_t spare_bytes_ = 0;
    std::uint64_t next_copy_ = first_copy;
    std::uint64_t copied_ = 0;
    std::uint64_t allocations_ = 0;
};

} // namespace bough

#endif
