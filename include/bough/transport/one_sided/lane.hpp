// SPDX-License-Identifier: BSL-1.0
// What a rank knows about one peer with which it exchanges messages by remote writes: the ring of
// blocks that it fills, the ring that the peer fills, and notes on the messages in them. All this
// lies in the rank's own memory, where the peer cannot write.
#ifndef BOUGH_TRANSPORT_ONE_SIDED_LANE_HPP
#define BOUGH_TRANSPORT_ONE_SIDED_LANE_HPP

#include <bough/concepts/transport.hpp>
#include <bough/transport/one_sided/layout.hpp>
#include <bough/transport/slots.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// The next value of a counter that is never 0: 0 marks an unused block.
template <class Counter>
constexpr Counter next_sequence(Counter c) noexcept {
    return ++c == 0 ? Counter{1} : c;
}

// Makes an array of default values. False: memory is short.
template <class T>
bool make_array(std::unique_ptr<T[]>& made, std::size_t count) noexcept {
    made.reset(new (std::nothrow) T[count]());
    return made != nullptr;
}

// The blocks in a peer's region that this rank fills.
template <class Counter, bool Ordered>
struct blocks_out {
    // Where the first block ends in the peer's region; distance between blocks.
    std::uint64_t end = 0, stride = 0;
    std::uint32_t mask = 0;
    // Messages put there, and how many are known to be used up.
    std::uint32_t sent = 0, freed = 0;
    Counter sequence = 1; // of the next message
    // Blocks whose put is not complete: their tails are in use.
    std::uint64_t flying = 0;
    std::unique_ptr<one_sided_tail<Ordered>[]> tails; // made when this rank says hello
    // The flush that must be over before a block is used again; none where bytes land in order.
    std::unique_ptr<std::uint64_t[]> fences;

    // Allocates what sending needs. False: memory is short.
    bool open() noexcept { return make_array(tails, mask + 1) && (Ordered || make_array(fences, mask + 1)); }
    bool full() const noexcept { return sent - freed > mask; }
    std::uint32_t index() const noexcept { return sent & mask; }
    std::uint64_t end_of(std::uint32_t i) const noexcept { return end + stride * i; }
    void advance() noexcept {
        ++sent;
        sequence = next_sequence(sequence);
    }
    // Takes note of how many messages the peer says it has used up. False: that number cannot be.
    bool credit(Counter said) noexcept {
        const auto more = static_cast<Counter>(said - static_cast<Counter>(freed));
        if (more > sent - freed) return false;
        freed += more;
        return true;
    }
};

// The blocks in this rank's region that the peer fills.
template <class Counter, bool Ordered>
struct blocks_in {
    const std::byte* end = nullptr; // where the first block ends
    std::uint64_t stride = 0;
    std::uint32_t mask = 0;
    std::uint32_t seen = 0, credited = 0;
    Counter expected = 1;
    const std::byte* next = nullptr; // the word that will become `expected` when the next message is there
    release_order order;

    std::uint32_t index() const noexcept { return seen & mask; }
    const std::byte* word_of(std::uint32_t i) const noexcept { return end + stride * i - 8; }
    const std::byte* tail_of(std::uint32_t i) const noexcept {
        return end + stride * i - sizeof(one_sided_tail<Ordered>);
    }
    void advance() noexcept {
        ++seen;
        expected = next_sequence(expected);
        next = word_of(index());
    }
};

// A message from this rank that has not ended.
struct one_sided_outgoing {
    enum class phase : std::uint8_t {
        flying,   // short: the put is not complete
        open,     // long: the receiver has not said where it wants the message
        pieces,   // it goes through the two blocks for pieces
        direct,   // it is to be put where the receiver wants it
        landing,  // it has been put there
        revoking, // it is taken back or not wanted any more
        telling,  // the receiver is to be told (state)
        settling, // the state has been put: nothing but the block is still in use
        done,
    };
    phase now = phase::done;
    bool told = false; // there was an event
    errc code = errc::ok;
    std::uint64_t id = 0;
    const std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    one_sided_announcement announced{};
    std::uint64_t staged = 0;
    exposure place{};
    one_sided_said state{};
    std::uint32_t ticket = 0;
    std::uint32_t refused = 0; // how often a put to the wanted place was refused
    std::uint32_t puts = 0;    // how many puts of its bytes are not complete
    std::uint64_t fence = 0;   // the flush that must be over before it goes on

    // Whether the caller may be told. The receiver then has all that it needs, and may never poll
    // again.
    bool is_over() const noexcept { return now == phase::done || (now == phase::settling && puts == 0); }
};

// A message from the peer that has not been used up.
struct one_sided_incoming {
    enum class phase : std::uint8_t {
        none,
        short_,    // lies in its block
        announced, // long, and not taken yet
        pieces,    // taken: it comes in pieces
        direct,    // taken: it lands where this rank wanted it
        unread,    // released: its sender is to be told
    };
    phase now = phase::none;
    bool over = false;      // its event is due, with `code`
    bool cancelled = false; // the caller does not want it any more
    bool given_up = false;  // the caller's event is due or past, though the sender has said nothing
    bool told = false;      // there was an event
    errc code = errc::ok;
    const std::byte* data = nullptr;
    std::uint64_t bytes = 0, got = 0, id = 0;
    std::byte* into = nullptr;
    exposure exposed{};            // memory that was exposed for this message alone
    std::uint32_t looks = 0;       // how often its sender's answer was looked for since it was cancelled
    std::uint64_t patience_ns = 0; // if it is cancelled: until when to wait for its sender
    std::uint32_t ticket = 0;
    one_sided_want want{};
    one_sided_said stop{};
};

// All that a rank knows about one peer.
template <class Counter, bool Ordered>
struct alignas(64) one_sided_lane {
    rank_t peer = no_rank;
    bool greeted = false;    // this rank has said hello
    bool heard = false;      // the peer has said hello
    bool broken = false;     // the peer has written nonsense
    bool gone = false;       // the peer is lost or broken
    bool reported = false;   // its loss has been reported
    bool wants_room = false; // a post has been refused
    bool busy = false;       // this lane is in the list of those that have something to do
    bool credit_due = false, credit_flying = false;
    errc why = errc::peer_dead;
    std::uint64_t handle = 0;      // handle of its arrivals, without the block
    std::uint64_t there = 0;       // this rank's lane in the peer's region
    std::byte* here = nullptr;     // the peer's lane in this rank's region
    one_sided_said credit{};       // the last one that was put
    std::uint64_t credit_seen = 0; // the last one that was read

    blocks_out<Counter, Ordered> out, pieces_out;
    blocks_in<Counter, Ordered> in, pieces_in;
    std::uint32_t tickets = 0; // numbers the long messages from this rank
    std::uint64_t open = 0;    // blocks whose outgoing message has not ended
    std::uint64_t using_ = 0;  // blocks whose incoming message is not over, or whose answer has not left
    std::uint64_t want_due = 0, want_flying = 0, stop_due = 0, stop_flying = 0;
    struct only_call { // the one call that notified_blocks allows
        std::uint16_t plan = 0;
        std::uint8_t root = 0, kind = 0;
        bool known = false;
    } call;
    std::unique_ptr<one_sided_outgoing[]> outgoing; // by block; made when this rank says hello
    std::unique_ptr<one_sided_incoming[]> incoming; // by block; made when the peer has said hello

    // Flushes, used where bytes do not land in order. Flush n is over when all that was put before
    // it began has landed.
    std::uint64_t fence_begun = 0, fence_over = 0, credit_fence = 0;
    bool fence_due = false, fence_flying = false;

    std::uint64_t next_fence() noexcept {
        fence_due = true;
        return later_fence();
    }
    // The number of a flush that nobody has asked for yet: ask() for it before you wait for it.
    std::uint64_t later_fence() const noexcept { return fence_begun + 1; }
    void ask(std::uint64_t number) noexcept { fence_due |= number > fence_begun; }
    bool fenced(std::uint64_t number) const noexcept { return Ordered || fence_over >= number; }
    bool idle() const noexcept {
        return open == 0 && using_ == 0 && !credit_due && !credit_flying && (want_due | stop_due) == 0 && !fence_due &&
               !fence_flying;
    }
};

} // namespace bough::detail

#endif
