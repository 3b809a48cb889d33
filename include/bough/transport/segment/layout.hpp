// SPDX-License-Identifier: BSL-1.0
// The layout of a rank's shared segment: a head, a ring for each other rank's messages to it, and a heap for its user.
//
//   head | ring of rank 0 | ring of rank 1 | ... (none of its own) | heap, from a page's begin on
//   ring: what the receiver says, what the sender says, states of long messages, stage, slots, area
// Arithmetic only. All ranks of a group agree on everything but the size of the heap.
#ifndef BOUGH_TRANSPORT_SEGMENT_LAYOUT_HPP
#define BOUGH_TRANSPORT_SEGMENT_LAYOUT_HPP

#include <bough/transport/slots.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

struct segment_head {
    alignas(64) std::atomic<std::uint32_t> openings{0}; // how often a sender has begun to use its ring
    // Of the owner (shared_sleep.hpp). Not 0: after you have changed something, wake it or, if it says so, ring.
    alignas(64) std::atomic<std::uint32_t> sleeping{0};
};

// One piece of a staged message.
struct alignas(64) stage_line {
    std::atomic<std::uint32_t> sequence{0};
    std::uint32_t ticket = 0; // of the message
    std::uint32_t bytes = 0;
};

struct ring_head {
    alignas(64) std::atomic<std::uint32_t> consumed{0}; // the receiver's word: slots that are free again
    std::atomic<std::uint32_t> unstaged{0};             // and its other: pieces that it has copied
    alignas(64) std::atomic<std::uint32_t> opened{0};   // the sender's word: it uses this ring
    alignas(64) std::atomic<lent> states[most_slots]{}; // of the long messages, one a slot
    stage_line stage[2];
};

struct segment_layout {
    std::uint32_t ranks = 1;
    std::uint32_t slots = 16;
    std::uint32_t area_bytes = 0; // of a ring, for payloads of middle length; a multiple of 64
    std::uint64_t heap_bytes = 0;
    bool sparse_heap = false; // its memory is there when it is reserved; each rank's own affair

    static constexpr std::uint64_t page = 4096;

    constexpr std::uint64_t ring_bytes() const noexcept {
        return sizeof(ring_head) + std::uint64_t{slots} * sizeof(slot) + area_bytes;
    }
    // Of the messages from `sender` to the segment's owner. Pre: sender != owner.
    constexpr std::uint64_t ring_at(std::uint32_t sender, std::uint32_t owner) const noexcept {
        return sizeof(segment_head) + ring_bytes() * (sender < owner ? sender : sender - 1);
    }
    constexpr std::uint64_t heap_at() const noexcept {
        return (sizeof(segment_head) + ring_bytes() * (ranks - 1) + page - 1) / page * page;
    }
    constexpr std::uint64_t bytes() const noexcept { return heap_at() + (heap_bytes + page - 1) / page * page; }
    constexpr std::uint64_t backed_bytes() const noexcept { return sparse_heap ? heap_at() : bytes(); }
};

// Where the parts of one ring lie in this process.
struct ring_view {
    ring_head* head = nullptr;
    slot* slots = nullptr;
    std::byte* area = nullptr;
    std::uint32_t mask = 0;       // slots - 1
    std::uint32_t area_bytes = 0; // of the payloads; the pieces of staged messages, if there are any, follow
    std::uint32_t piece_bytes = 0;

    static ring_view at(std::byte* ring, const segment_layout& layout, bool staged) noexcept {
        ring_view v;
        v.head = reinterpret_cast<ring_head*>(ring);
        v.slots = reinterpret_cast<slot*>(ring + sizeof(ring_head));
        v.area = ring + sizeof(ring_head) + std::size_t{layout.slots} * sizeof(slot);
        v.mask = layout.slots - 1;
        v.area_bytes = staged ? layout.area_bytes / 2 : layout.area_bytes;
        v.piece_bytes = staged ? layout.area_bytes / 4 : 0;
        return v;
    }
    std::byte* piece(std::uint32_t number) const noexcept {
        return area + area_bytes + std::size_t{number & 1} * piece_bytes;
    }
};

} // namespace bough::detail

#endif
