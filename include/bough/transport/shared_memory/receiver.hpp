// SPDX-License-Identifier: BSL-1.0
// The receiver's side of a ring between two processes. What the sender wrote is read once, checked, and noted here: an
// offset or length that cannot be makes the ring broken(), and nothing more is read from it.
#ifndef BOUGH_TRANSPORT_SHARED_MEMORY_RECEIVER_HPP
#define BOUGH_TRANSPORT_SHARED_MEMORY_RECEIVER_HPP

#include <bough/core/config.hpp>
#include <bough/transport/segment/layout.hpp>
#include <bough/transport/shared_memory/sender.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class shared_receiver {
public:
    // Of an arrival that has not been released.
    struct note {
        const std::byte* data = nullptr; // null: in the sender's private memory
        std::uint64_t bytes = 0;
        std::uint64_t place = 0; // of a private one: its address there
        std::uint32_t where = 0; // in_segment, in_private, to_be_staged; 0: in the ring
        std::uint32_t ticket = 0;
    };

    shared_receiver() = default;
    // `heap`: of the sender's segment, where its messages in place lie. `direct`: private memory may be read.
    shared_receiver(const ring_view& ring, std::span<const std::byte> heap, bool direct)
        : ring_(ring), heap_(heap), direct_(direct), notes_(ring.mask + 1) {}

    bool has_arrival() const noexcept { return !broken_ && ring_.head != nullptr && next_is_there(); }
    bool has_piece() const noexcept {
        return ring_.head->stage[pieces_ & 1].sequence.load(std::memory_order_acquire) == pieces_ + 1;
    }
    bool is_opened() const noexcept { return ring_.head->opened.load(std::memory_order_acquire) != 0; }
    bool broken() const noexcept { return broken_; }
    void set_broken() noexcept { broken_ = true; }

    // The next message, once; it stays where it is until released. `handle` | slot is its handle.
    bool peek(event& e, rank_t peer, std::uint64_t handle) noexcept {
        if (!next_is_there()) return false;
        if (head_ - order_.freed() > ring_.mask) return breaks(); // more than it has room for
        const std::uint32_t index = head_ & ring_.mask;
        const slot& s = ring_.slots[index];
        note& n = notes_[index];
        const std::uint32_t length = volatile_read(s.length);
        n.where = 0;
        n.bytes = length;
        n.data = s.payload;
        if (length > short_bytes && !find_payload(s, n, length)) return false;
        ++head_;
        n.ticket = head_;
        e.what = event::kind::arrived;
        e.code = errc::ok;
        e.peer = peer;
        e.id = handle | index;
        e.envelope = s.tag;
        e.data = n.data;
        e.bytes = n.bytes;
        return true;
    }
    const note& at(std::uint32_t index) const noexcept { return notes_[index]; }

    // From now on its sender cannot take it back; false: it has. Pre: a message in the sender's segment.
    bool claim(std::uint32_t index) noexcept { return change(index, lent::open, lent::claimed); }
    // Asks for a message piece by piece.
    bool want(std::uint32_t index) noexcept { return change(index, lent::open, lent::wanted); }
    // Whether the message has not been taken back.
    bool is_lent(std::uint32_t index) const noexcept {
        const lent now = ring_.head->states[index].load(std::memory_order_acquire);
        return now == lent::open || now == lent::wanted || now == lent::claimed;
    }
    // The bytes of a long message are the sender's again. False: they were before.
    bool give_back(std::uint32_t index) noexcept {
        const lent now = ring_.head->states[index].load(std::memory_order_relaxed);
        return now != lent::taken_back && change(index, now, lent::done);
    }
    // The slot is free for another message. Pre: a long one has been given back.
    void release(std::uint32_t index) noexcept {
        ring_.head->consumed.store(order_.release(index, ring_.mask), std::memory_order_release);
    }

    // The next piece of a staged message; `use(ticket, bytes)` returns false if that is nonsense. True: there was one.
    template <class F>
    bool unstage(F&& use) {
        if (broken_ || !has_piece()) return false;
        const stage_line& line = ring_.head->stage[pieces_ & 1];
        const std::uint32_t ticket = volatile_read(line.ticket);
        const std::uint32_t bytes = volatile_read(line.bytes);
        if (bytes > ring_.piece_bytes || !use(ticket, std::span<const std::byte>(ring_.piece(pieces_), bytes))) {
            broken_ = true;
            return false;
        }
        ring_.head->unstaged.store(++pieces_, std::memory_order_release);
        return true;
    }

private:
    // Once: a compiler may not read it again after the check.
    static std::uint32_t volatile_read(const std::uint32_t& word) noexcept {
        return static_cast<const volatile std::uint32_t&>(word);
    }
    bool next_is_there() const noexcept {
        return ring_.slots[head_ & ring_.mask].sequence.load(std::memory_order_acquire) == head_ + 1;
    }
    bool find_payload(const slot& s, note& n, std::uint32_t length) noexcept {
        if (length <= ring_.area_bytes) {
            std::uint32_t offset = 0;
            std::memcpy(&offset, s.payload, sizeof offset);
            opaque(offset);
            if (offset <= ring_.area_bytes - length) {
                n.data = ring_.area + offset;
                return true;
            }
        } else if (length >= in_segment) {
            std::uint64_t place = 0, bytes = 0;
            std::memcpy(&place, s.payload, sizeof place);
            std::memcpy(&bytes, s.payload + 8, sizeof bytes);
            opaque(place);
            opaque(bytes);
            n.where = length;
            n.bytes = bytes;
            n.place = place;
            n.data = nullptr;
            if (length == in_private && direct_) return bytes != 0 || breaks();
            if (length == to_be_staged && !direct_) return bytes != 0 || breaks();
            if (length == in_segment && place <= heap_.size() && bytes <= heap_.size() - place) {
                n.data = heap_.data() + place;
                return true;
            }
        }
        return breaks();
    }
    BOUGH_COLD bool breaks() noexcept {
        broken_ = true;
        return false;
    }
    // The compiler knows nothing of where the value came from, so it cannot read it there again.
    template <class T>
    static void opaque(T& value) noexcept {
        asm volatile("" : "+r"(value));
    }
    bool change(std::uint32_t index, lent from, lent to) noexcept {
        return ring_.head->states[index].compare_exchange_strong(from, to, std::memory_order_acq_rel);
    }

    ring_view ring_;
    std::span<const std::byte> heap_;
    bool direct_ = false;
    bool broken_ = false;
    std::uint32_t head_ = 0;
    std::uint32_t pieces_ = 0; // that have been copied
    release_order order_;
    std::vector<note> notes_; // a slot
};

} // namespace bough::detail

#endif
