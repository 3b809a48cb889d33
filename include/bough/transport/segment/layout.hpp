// SPDX-License-Identifier: BSL-1.0
// The layout of a rank's shared segment: a head, a ring for the messages from each other rank, and
// a heap for the rank's user, and common memory for ranks that come late.
//
//   head | ring of rank 0 | ring of rank 1 | ... (none of its own) | heap | common
// The heap and the common memory begin on a page. The latter gets its memory when it is used.
//   ring: words of the receiver, word of the sender, states of long messages, stage, slots, area, pieces
//
// This is arithmetic only. All ranks of a group agree on everything except the size of the heap.
#ifndef BOUGH_TRANSPORT_SEGMENT_LAYOUT_HPP
#define BOUGH_TRANSPORT_SEGMENT_LAYOUT_HPP

#include <bough/transport/slots.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

struct segment_head {
    alignas(64) std::atomic<std::uint32_t> openings{0}; // how often a sender has begun to use its ring
    // How the owner waits (sleep.hpp). If it is not 0, whoever changes something here must wake the
    // owner, or ring if the word asks for that.
    alignas(64) std::atomic<std::uint32_t> sleeping{0};
    std::atomic<std::uint32_t> woken{0}; // how often it has been woken for news in common memory
};

// Room for so many pieces of staged messages: while the receiver reads some, the sender fills others.
inline constexpr std::uint32_t stage_pieces = 4;

// One piece of a staged message.
struct alignas(64) stage_line {
    std::atomic<std::uint32_t> sequence{0};
    std::uint32_t ticket = 0; // of the message
    std::uint32_t bytes = 0;
};

// The place of a slot's message among the long ones.
inline std::uint32_t lent_at(std::uint32_t slot) noexcept { return slot % most_lent; }

struct ring_head {
    alignas(64) std::atomic<std::uint32_t> consumed{0}; // by the receiver: how many slots are free again
    std::atomic<std::uint32_t> unstaged{0};             // by the receiver: how many pieces it has copied
    alignas(64) std::atomic<std::uint32_t> opened{0};   // by the sender: it uses this ring
    alignas(64) std::atomic<lent> states[most_lent]{};  // of the long messages, by place
    // By the receiver: of what its pieces must be multiples, in bytes.
    std::atomic<std::uint32_t> grains[most_lent]{};
    stage_line stage[stage_pieces];
};

struct segment_layout {
    std::uint32_t ranks = 1;
    std::uint32_t slots = 16;
    std::uint32_t area_bytes = 0;  // of a ring's area for payloads of middle length; a multiple of 64
    std::uint32_t piece_bytes = 0; // of a piece of a staged message; a multiple of 64
    std::uint64_t heap_bytes = 0;
    std::uint64_t common_bytes = 0;
    bool sparse_heap = false; // the heap gets its memory only when it is reserved; may differ between ranks

    static constexpr std::uint64_t page = 4096;

    constexpr std::uint64_t ring_bytes() const noexcept {
        return sizeof(ring_head) + std::uint64_t{slots} * sizeof(slot) + area_bytes +
               std::uint64_t{stage_pieces} * piece_bytes;
    }
    // Where the ring lies for messages from `sender` to the segment's owner. Pre: sender != owner.
    constexpr std::uint64_t ring_at(std::uint32_t sender, std::uint32_t owner) const noexcept {
        return sizeof(segment_head) + ring_bytes() * (sender < owner ? sender : sender - 1);
    }
    constexpr std::uint64_t heap_at() const noexcept {
        return (sizeof(segment_head) + ring_bytes() * (ranks - 1) + page - 1) / page * page;
    }
    constexpr std::uint64_t common_at() const noexcept { return heap_at() + (heap_bytes + page - 1) / page * page; }
    constexpr std::uint64_t bytes() const noexcept { return common_at() + (common_bytes + page - 1) / page * page; }
    constexpr std::uint64_t backed_bytes() const noexcept { return sparse_heap ? heap_at() : common_at(); }
};

// Where the parts of one ring lie in this process.
struct ring_view {
    ring_head* head = nullptr;
    slot* slots = nullptr;
    std::byte* area = nullptr;
    std::uint32_t mask = 0;       // slots - 1
    std::uint32_t area_bytes = 0; // for payloads; the pieces of staged messages follow
    std::uint32_t piece_bytes = 0;

    static ring_view at(std::byte* ring, const segment_layout& layout) noexcept {
        ring_view v;
        v.head = reinterpret_cast<ring_head*>(ring);
        v.slots = reinterpret_cast<slot*>(ring + sizeof(ring_head));
        v.area = ring + sizeof(ring_head) + std::size_t{layout.slots} * sizeof(slot);
        v.mask = layout.slots - 1;
        v.area_bytes = layout.area_bytes;
        v.piece_bytes = layout.piece_bytes;
        return v;
    }
    std::byte* piece(std::uint32_t number) const noexcept {
        return area + area_bytes + std::size_t{number % stage_pieces} * piece_bytes;
    }
};

} // namespace bough::detail

#endif
