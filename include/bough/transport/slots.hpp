// SPDX-License-Identifier: BSL-1.0
// Slots: what the rings of in_process and shared_memory have in common.
//
// A slot has two cache lines. The first one has sequence number, length, envelope and up to 24 bytes
// of payload, which arrive together. The payload goes on in the second one, up to 88 bytes; whoever
// waits fetches that line along with the first. A slot is full when its sequence equals the ticket
// of the message that is expected there. A longer payload lies elsewhere, and the slot says where.
// The receiver tells by one counter, on a line of its own, how many slots are free again. The sender
// looks at that counter only when it thinks that the ring is full. So a short message moves one or
// two cache lines from sender to receiver, and they touch nothing else in common. A receiver that finds
// each message there already asks for the lines of the next one; so does a sender to which nothing has
// come since its last message. Then neither waits for a line.
#ifndef BOUGH_TRANSPORT_SLOTS_HPP
#define BOUGH_TRANSPORT_SLOTS_HPP

#include <bough/concepts/transport.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

inline constexpr std::uint32_t short_bytes = 88;    // longest payload that travels in its slot
inline constexpr std::uint32_t one_line_bytes = 24; // and in its first line
inline constexpr std::uint32_t most_slots = 256;    // of a ring
inline constexpr std::uint32_t most_lent = 64;      // long messages of a ring: as many as a word has bits

struct alignas(64) slot {
    std::atomic<std::uint32_t> sequence{0};
    std::uint32_t length = 0;
    envelope tag{};
    std::byte payload[short_bytes]; // the first one_line_bytes are in the line of the sequence

    // Pre: bytes.size() <= short_bytes.
    void put(std::span<const std::byte> bytes) noexcept {
        if (bytes.size() == 8)
            std::memcpy(payload, bytes.data(), 8);
        else if (!bytes.empty())
            std::memcpy(payload, bytes.data(), bytes.size());
    }
    // For who waits for the slot to be filled: the second line comes along with the first. It costs
    // nothing as long as nobody writes there.
    void fetch_ahead() const noexcept { __builtin_prefetch(payload + one_line_bytes); }
    // For whoever reads the slot next: if it has been filled already, its lines come meanwhile.
    void read_ahead() const noexcept {
        __builtin_prefetch(this);
        fetch_ahead();
    }
    // For whoever fills the slot next: its lines come meanwhile, so the writes need not wait for them.
    // `both`: the payload will go on in the second one.
    void own_ahead(bool both) noexcept {
        own_line(this);
        if (both) own_line(payload + one_line_bytes);
    }

private:
    static void own_line(void* line) noexcept {
#if defined(__x86_64__)
        // Of the builtin some compilers make a fetch to read.
        asm volatile("prefetchw %0" : : "m"(*static_cast<std::byte*>(line)));
#else
        __builtin_prefetch(line, 1);
#endif
    }
};
static_assert(sizeof(slot) == 128);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

// The state of a long message, which stays in its sender's memory until it has been read. If the
// receiver claims it while the sender takes it back, exactly one of them succeeds.
enum class lent : std::uint32_t {
    unused = 0,
    open = 1,       // the receiver may claim it, and the sender may take it back
    claimed = 2,    // the receiver reads it
    done = 3,       // the bytes belong to the sender again
    taken_back = 4, // the receiver must not read it
    deserted = 5,   // there is no receiver any more
    wanted = 6,     // the receiver waits for it to be copied out piece by piece
};

// Slots may be released in any order. This counts how many are free in the order of the ring, which
// is what the sender needs.
class release_order {
public:
    // Releases a slot. Returns how many slots, counted from the first message on, are free again
    // without a gap.
    std::uint32_t release(std::uint32_t index, std::uint32_t mask) noexcept {
        if (index == (freed_ & mask) && gaps_ == 0) return ++freed_; // most are released in order
        released_[index / 64] |= std::uint64_t{1} << index % 64;
        ++gaps_;
        for (std::uint32_t at = freed_ & mask; (released_[at / 64] >> at % 64 & 1) != 0; at = freed_ & mask) {
            released_[at / 64] &= ~(std::uint64_t{1} << at % 64);
            --gaps_;
            ++freed_;
        }
        return freed_;
    }

    std::uint32_t freed() const noexcept { return freed_; }

private:
    std::uint32_t freed_ = 0;
    std::uint32_t gaps_ = 0;                       // how many slots were released before older ones
    std::uint64_t released_[most_slots / 64] = {}; // which
};

} // namespace bough::detail

#endif
