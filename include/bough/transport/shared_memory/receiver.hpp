// SPDX-License-Identifier: BSL-1.0
// The receiver's side of a ring between two processes. What the sender wrote is read once, checked,
// and noted here. If an offset or length is impossible, the ring is broken(), and nothing more is
// read from it.
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
    // What is known of an arrival that has not been released.
    struct note {
        const std::byte* data = nullptr; // null: the payload is in the sender's private memory
        std::uint64_t bytes = 0;
        std::uint64_t place = 0; // the address of a private payload in the sender's process
        std::uint32_t where = 0; // in_segment, in_private, to_be_staged; 0: in the ring
        std::uint32_t ticket = 0;
    };

    shared_receiver() = default;
    // `heap`: that of the sender's segment, where messages lie that are read in place. `direct`:
    // the sender's private memory can be read.
    shared_receiver(const ring_view& ring, std::span<const std::byte> heap, bool direct)
        : ring_(ring), heap_(heap), direct_(direct), notes_(ring.mask + 1) {}

    bool has_arrival() const noexcept { return !broken_ && ring_.head != nullptr && next_is_there(); }
    bool has_piece() const noexcept {
        return ring_.head->stage[pieces_ % stage_pieces].sequence.load(std::memory_order_acquire) == pieces_ + 1;
    }
    bool is_opened() const noexcept { return ring_.head->opened.load(std::memory_order_acquire) != 0; }
    bool broken() const noexcept { return broken_; }
    void set_broken() noexcept { broken_ = true; }

    // Tells of the next message, once. It stays where it is until released. Its handle is `handle`
    // | slot.
    bool peek(event& e, rank_t peer, std::uint64_t handle) noexcept {
        if (!next_is_there()) {
            is_ahead_ = false;
            ring_.slots[head_ & ring_.mask].fetch_ahead();
            return false;
        }
        // More messages than the ring has room for.
        if (head_ - order_.freed() > ring_.mask) return breaks();
        const std::uint32_t index = head_ & ring_.mask;
        const slot& s = ring_.slots[index];
        note& n = notes_[index];
        const std::uint32_t length = volatile_read(s.length);
        n.where = 0;
        n.bytes = length;
        n.data = s.payload;
        if (length > short_bytes && !find_payload(s, n, length)) return false;
        ++head_;
        if (is_ahead_) ring_.slots[head_ & ring_.mask].read_ahead();
        is_ahead_ = true;
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

    // From now on the sender cannot take the message back. False: it already has. Pre: the message
    // lies in the sender's segment.
    bool claim(std::uint32_t index) noexcept { return change(index, lent::open, lent::claimed); }
    // Asks the sender to copy out the message, in pieces that are multiples of `grain` bytes long. Pre:
    // grain <= piece_bytes().
    bool want(std::uint32_t index, std::uint32_t grain = 1) noexcept {
        ring_.head->grains[lent_at(index)].store(grain, std::memory_order_relaxed);
        return change(index, lent::open, lent::wanted);
    }
    std::uint32_t piece_bytes() const noexcept { return ring_.piece_bytes; }
    // Whether the message has not been taken back.
    bool is_lent(std::uint32_t index) const noexcept {
        const lent now = ring_.head->states[lent_at(index)].load(std::memory_order_acquire);
        return now == lent::open || now == lent::wanted || now == lent::claimed;
    }
    // Gives the bytes of a long message back to the sender. False: the sender had already taken
    // them back.
    bool give_back(std::uint32_t index) noexcept {
        const lent now = ring_.head->states[lent_at(index)].load(std::memory_order_relaxed);
        return now != lent::taken_back && change(index, now, lent::done);
    }
    // Frees the slot for another message. Pre: a long message has been given back. True: the sender has been
    // told of something. It is told of short messages by the quarter of the ring, as a sender that runs ahead
    // reads that line all the time, and each write would wait for it. If the sender finds the ring full
    // meanwhile, most of it are messages which this rank has still to use.
    bool release(std::uint32_t index) noexcept {
        const std::uint32_t freed = order_.release(index, ring_.mask);
        const note& n = notes_[index];
        if (n.data != ring_.slots[index].payload) [[unlikely]] {
            if (is_after(n.ticket, awaited_)) awaited_ = n.ticket;
            if (n.where != 0) return (void)tell(), true; // its bytes are back, even while an older slot is in use
        }
        return (freed - told_ > ring_.mask / 4 || is_after(awaited_, told_)) && tell();
    }
    // Tells the sender which slots are free. True: it did not know.
    bool tell() noexcept {
        if (order_.freed() == told_) return false;
        told_ = order_.freed();
        if (!is_after(awaited_, told_)) awaited_ = told_;
        ring_.head->consumed.store(told_, std::memory_order_release);
        return true;
    }

    // A piece of a staged message.
    struct piece {
        std::uint32_t ticket = 0; // of the message
        std::span<const std::byte> bytes;
    };
    // The next piece. It stays where it is until used_piece(). False: none has come.
    bool next_piece(piece& p) noexcept {
        if (broken_ || !has_piece()) return false;
        const stage_line& line = ring_.head->stage[pieces_ % stage_pieces];
        p.ticket = volatile_read(line.ticket);
        const std::uint32_t bytes = volatile_read(line.bytes);
        if (bytes == 0 || bytes > ring_.piece_bytes) return breaks();
        p.bytes = {ring_.piece(pieces_), bytes};
        return true;
    }
    void used_piece() noexcept { ring_.head->unstaged.store(++pieces_, std::memory_order_release); }

private:
    // Reads a word exactly once: the compiler may not read it again after the check.
    static std::uint32_t volatile_read(const std::uint32_t& word) noexcept {
        return static_cast<const volatile std::uint32_t&>(word);
    }
    static bool is_after(std::uint32_t ticket, std::uint32_t other) noexcept { // tickets wrap around
        return ticket != other && ticket - other < 1u << 31;
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
    // Hides from the compiler where the value came from, so that it cannot read the value there
    // again.
    template <class T>
    static void opaque(T& value) noexcept {
        asm volatile("" : "+r"(value));
    }
    bool change(std::uint32_t index, lent from, lent to) noexcept {
        return ring_.head->states[lent_at(index)].compare_exchange_strong(from, to, std::memory_order_acq_rel);
    }

    ring_view ring_;
    std::span<const std::byte> heap_;
    bool direct_ = false;
    bool broken_ = false;
    bool is_ahead_ = false; // the last messages were there as soon as this rank looked for them
    std::uint32_t head_ = 0;
    std::uint32_t pieces_ = 0; // how many pieces have been copied
    release_order order_;
    std::uint32_t told_ = 0;    // up to which ticket the sender knows that slots are free
    std::uint32_t awaited_ = 0; // up to which it is to know at once: that of a message with other memory
    std::vector<note> notes_;   // one for each slot
};

} // namespace bough::detail

#endif
