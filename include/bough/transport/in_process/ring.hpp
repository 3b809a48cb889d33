// SPDX-License-Identifier: BSL-1.0
// The ring of one (sender, receiver) pair of threads: one producer, one consumer, messages in
// order.
//
// Its slots are those of bough/transport/slots.hpp. A payload of up to eager_bytes lies in cache
// lines of the ring that belong to its slot. A longer one stays in the sender's memory.
#ifndef BOUGH_TRANSPORT_IN_PROCESS_RING_HPP
#define BOUGH_TRANSPORT_IN_PROCESS_RING_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/transport/slots.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// Which way a message between threads goes. A long one is combined in place, or read to where it belongs.
constexpr protocol in_process_way(std::uint64_t bytes, std::uint32_t eager_bytes, bool combines) noexcept {
    if (bytes <= short_bytes) return protocol::in_line;
    if (bytes <= eager_bytes) return protocol::copied;
    return combines ? protocol::in_place : protocol::direct;
}

class alignas(64) in_process_ring {
public:
    // Pre: slots is a power of two, 1 to 64.
    in_process_ring(rank_t sender, rank_t receiver, std::uint32_t slots, std::uint32_t eager_bytes)
        : from(sender), to(receiver), mask_(slots - 1), stride_((eager_bytes + 63) / 64 * 64),
          eager_bytes_(eager_bytes), slots_(new slot[slots]), long_(new long_message[slots]),
          area_(new line[slots * (stride_ / 64)]) {}

    // --- the sender's side ---

    posted push(const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (tail_ - consumed_seen_ > mask_) {
            consumed_seen_ = consumed_.load(std::memory_order_acquire);
            if (tail_ - consumed_seen_ > mask_) return wants_room_ = true, posted::would_block;
        }
        const std::uint32_t index = tail_ & mask_;
        // Its end has not been polled.
        if ((open_ >> index & 1) != 0) return wants_room_ = true, posted::would_block;
        slot& s = slots_[index];
        s.tag = tag;
        posted result = posted::complete;
        const protocol way = in_process_way(bytes.size(), eager_bytes_, false);
        if (way == protocol::in_line) {
            s.length = static_cast<std::uint32_t>(bytes.size());
            s.put(bytes);
        } else if (way == protocol::copied) {
            s.length = static_cast<std::uint32_t>(bytes.size());
            std::memcpy(area(index), bytes.data(), bytes.size());
        } else {
            s.length = long_mark;
            const std::uint64_t where[2] = {reinterpret_cast<std::uintptr_t>(bytes.data()), bytes.size()};
            std::memcpy(s.payload, where, sizeof where);
            long_[index].id = id;
            long_[index].state.store(lent::open, std::memory_order_relaxed);
            open_ |= std::uint64_t{1} << index;
            result = posted::pending;
        }
        ++tail_;
        s.sequence.store(tail_, std::memory_order_release);
        return result;
    }

    // Reports the end of long messages: the receiver has read them, they were taken back, or their
    // receiver is lost.
    std::size_t acknowledged(std::span<event> events) {
        std::size_t found = 0;
        for (std::uint64_t open = open_; open != 0 && found != events.size(); open &= open - 1) {
            const auto index = static_cast<std::uint32_t>(std::countr_zero(open));
            const lent state = long_[index].state.load(std::memory_order_acquire);
            if (state == lent::open || state == lent::claimed) continue;
            open_ &= ~(std::uint64_t{1} << index);
            event& e = events[found++];
            e = {};
            e.what = event::kind::complete;
            e.code = state == lent::done ? errc::ok : state == lent::deserted ? errc::peer_dead : errc::cancelled;
            e.peer = to;
            e.id = long_[index].id;
        }
        return found;
    }
    bool has_open() const noexcept { return open_ != 0; }
    // Whether acknowledged() would find something, or there is new room for a push that was
    // refused. Asked before sleeping.
    bool has_news() noexcept {
        for (std::uint64_t open = open_; open != 0; open &= open - 1) {
            const lent state =
                long_[static_cast<std::uint32_t>(std::countr_zero(open))].state.load(std::memory_order_acquire);
            if (state != lent::open && state != lent::claimed) return true;
        }
        const bool has_room =
            tail_ - consumed_.load(std::memory_order_acquire) <= mask_ && (open_ >> (tail_ & mask_) & 1) == 0;
        return wants_room_ && has_room && !(wants_room_ = false);
    }

    // Takes a long message back; if that is too late, it ends with the usual event. False: there is
    // no such message.
    bool cancel(std::uint64_t id) noexcept {
        for (std::uint64_t open = open_; open != 0; open &= open - 1) {
            long_message& m = long_[static_cast<std::uint32_t>(std::countr_zero(open))];
            if (m.id != id) continue;
            lent expected = lent::open;
            m.state.compare_exchange_strong(expected, lent::taken_back, std::memory_order_acq_rel);
            return true;
        }
        return false;
    }
    // Takes back all messages that are open, because the sender goes away. `receiver_gone` is not 0
    // once nobody can read them.
    void cancel_all(const std::atomic<std::uint32_t>& receiver_gone) noexcept {
        for (std::uint64_t open = open_; open != 0; open &= open - 1) {
            lent expected = lent::open;
            std::atomic<lent>& state = long_[static_cast<std::uint32_t>(std::countr_zero(open))].state;
            if (state.compare_exchange_strong(expected, lent::taken_back, std::memory_order_acq_rel)) continue;
            while (state.load(std::memory_order_acquire) == lent::claimed &&
                   receiver_gone.load(std::memory_order_acquire) == 0) {
            } // the receiver is in the middle of a copy or a combine, which ends soon
        }
    }

    // The receiver is gone. Nobody will read what it has not read.
    void desert() noexcept {
        for (std::uint64_t open = open_; open != 0; open &= open - 1) {
            std::atomic<lent>& state = long_[static_cast<std::uint32_t>(std::countr_zero(open))].state;
            const lent now = state.load(std::memory_order_acquire);
            if (now == lent::open || now == lent::claimed) state.store(lent::deserted, std::memory_order_relaxed);
        }
    }

    // --- the receiver's side ---

    bool has_arrival() const noexcept {
        return slots_[head_ & mask_].sequence.load(std::memory_order_acquire) == head_ + 1;
    }
    // Tells of the next message, once. It stays where it is until released.
    bool peek(event& e) noexcept {
        const std::uint32_t index = head_ & mask_;
        const slot& s = slots_[index];
        if (s.sequence.load(std::memory_order_acquire) != head_ + 1) return s.fetch_ahead(), false;
        ++head_;
        e.what = event::kind::arrived;
        e.code = errc::ok;
        e.peer = from;
        e.id = reinterpret_cast<std::uintptr_t>(this) | index;
        e.envelope = s.tag;
        const payload_view payload = payload_of(index);
        e.data = payload.data;
        e.bytes = payload.bytes;
        return true;
    }
    static in_process_ring* of(std::uint64_t handle) noexcept {
        return reinterpret_cast<in_process_ring*>(handle & ~std::uint64_t{63});
    }
    bool claim(std::uint64_t handle) noexcept {
        const auto index = static_cast<std::uint32_t>(handle & 63);
        if (slots_[index].length != long_mark) return true;
        lent expected = lent::open;
        return long_[index].state.compare_exchange_strong(expected, lent::claimed, std::memory_order_acq_rel);
    }
    // Copies the payload and releases the message. False: the length is wrong, or the sender took
    // the message back.
    bool take(std::uint64_t handle, std::span<std::byte> into) noexcept {
        const auto index = static_cast<std::uint32_t>(handle & 63);
        const payload_view payload = payload_of(index);
        if (into.size() != payload.bytes || !claim(handle)) return false;
        if (!into.empty()) std::memcpy(into.data(), payload.data, into.size());
        release(handle);
        return true;
    }
    void release(std::uint64_t handle) noexcept {
        const auto index = static_cast<std::uint32_t>(handle & 63);
        if (slots_[index].length == long_mark) {
            lent state = long_[index].state.load(std::memory_order_relaxed);
            while (state != lent::taken_back &&
                   !long_[index].state.compare_exchange_weak(state, lent::done, std::memory_order_acq_rel)) {
            }
        }
        consumed_.store(order_.release(index, mask_), std::memory_order_release);
    }

    in_process_ring* next = nullptr; // in the receiver's list
    const rank_t from, to;

private:
    static constexpr std::uint32_t long_mark = 0xffff'ffffu;
    struct alignas(64) long_message {
        std::atomic<lent> state{lent::unused};
        std::uint64_t id = 0; // the sender's
    };
    struct alignas(64) line {
        std::byte bytes[64];
    };

    struct payload_view {
        const std::byte* data;
        std::uint64_t bytes;
    };
    // The payload of a full slot, wherever it lies.
    payload_view payload_of(std::uint32_t index) const noexcept {
        const slot& s = slots_[index];
        if (s.length <= short_bytes) return {s.payload, s.length};
        if (s.length != long_mark) return {area(index), s.length};
        std::uint64_t where[2];
        std::memcpy(where, s.payload, sizeof where);
        return {reinterpret_cast<const std::byte*>(where[0]), where[1]};
    }
    std::byte* area(std::uint32_t index) const noexcept { return area_[std::size_t{index} * (stride_ / 64)].bytes; }

    const std::uint32_t mask_;
    const std::uint32_t stride_; // bytes of a slot's eager area
    const std::uint32_t eager_bytes_;
    std::unique_ptr<slot[]> slots_;
    std::unique_ptr<long_message[]> long_;
    std::unique_ptr<line[]> area_;

    alignas(64) std::uint32_t tail_ = 0; // the sender's line
    std::uint32_t consumed_seen_ = 0;
    std::uint64_t open_ = 0;  // slots whose long message has not ended
    bool wants_room_ = false; // a push has been refused

    alignas(64) std::uint32_t head_ = 0; // the receiver's line
    release_order order_;

    alignas(64) std::atomic<std::uint32_t> consumed_{0};
};

} // namespace bough::detail

#endif
