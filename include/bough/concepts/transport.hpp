// SPDX-License-Identifier: BSL-1.0
// Transport: a way to move (envelope, bytes) between the ranks of a group. A transport is a completion queue; matching,
// early messages, credits, deadlines and poison are written once above it (bough/execute).
//
// Valid expressions on a transport `t`:
//   t.rank(), t.size()                         who I am, of how many
//   t.post_send(to, envelope, bytes, id)       -> posted: complete, pending, would_block or failed
//   t.poll(events)                             -> how many of `events` were filled
//   t.take(handle, into, id)                   -> posted: the payload of the arrival with this handle goes to `into`
//   t.release(handle)                          the payload of that arrival is not needed (any more)
//   t.cancel(id)                               -> errc: gives a pending post up; its event says cancelled
//   t.now_ns()                                 a monotonic clock; virtual for a simulated transport
// Semantics:
//   T1  nothing is called back inside a post; a post that is already done says `complete` and has no event
//   T2  every `pending` post has exactly one event; a refused or failed one none
//   T3  messages from one peer arrive in the order in which they were posted
//   T4  the bytes of a send belong to the transport from post to completion; those of an arrival to the caller from
//       its event to release or take
//   T5  post_send never waits for the peer: would_block instead of waiting or of unbounded queueing
//       (an arrival that is used up makes room, in whatever order arrivals are released)
//   T6  poll never blocks
//   T7  `into` must be as long as the message: else take fails, nothing is truncated, and the arrival is still there
//   T8  one thread at a time per object
//   T9  after the event of a cancelled post the transport does not touch its bytes. The message of a send arrives whole or
//       can neither be claimed nor taken (and is released all the same); that of a take is used up, and its send ends well
//   T10 the loss of a peer is reported once (event::lost), after everything that it sent, also when nothing is posted;
//       posts to it fail from then on, not before: its last words may say why
// Receives are not posted: a message arrives with its envelope first, and whoever knows the operations decides where the
// payload goes. That is how messages are matched by operation and never land in the wrong buffer.
#ifndef BOUGH_CONCEPTS_TRANSPORT_HPP
#define BOUGH_CONCEPTS_TRANSPORT_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough {

// What the ranks must agree on in one call. What may rightly differ per rank is left out (0).
struct call_signature {
    std::uint64_t count = 0; // elements
    rank_t root = 0;
    std::uint16_t op = 0;  // folded op_id
    std::uint8_t type = 0; // folded type_id
    std::uint8_t kind = 0; // goal::...::kind
    friend constexpr bool operator==(const call_signature& a, const call_signature& b) noexcept {
        struct words { // compared on every message
            std::uint64_t first, second;
        };
        const auto x = std::bit_cast<words>(a);
        const auto y = std::bit_cast<words>(b);
        return ((x.first ^ y.first) | (x.second ^ y.second)) == 0;
    }
};

// Travels beside every payload, 32 bytes; together with a sequence number and a short payload it fills one cache line.
struct envelope {
    std::uint32_t epoch = 0;     // of the group: late messages of an old one are dropped
    std::uint32_t operation = 0; // its number on the communicator
    std::uint32_t segment = 0;   // its number on the channel within the operation
    std::uint16_t context = 0;   // the communicator within the group
    std::uint16_t plan = 0;      // folded hash of the schedule
    call_signature signature{};
    friend constexpr bool operator==(const envelope&, const envelope&) = default;
};
static_assert(sizeof(envelope) == 32);

// What became of a post.
enum class posted : std::uint8_t {
    complete,    // done: the bytes are the caller's again; no event will come
    pending,     // accepted: an event with this id will come
    would_block, // not accepted: try again after polling
    failed,      // not accepted, and never will be: the peer is lost or the argument is wrong
};

// Something that poll found.
struct event {
    enum class kind : std::uint8_t {
        arrived,  // a message: envelope, bytes; its payload is at `data`, or still to be taken if that is null
        complete, // of the post with `id`; code says how
        lost,     // of `peer`
    };
    kind what = kind::arrived;
    errc code = errc::ok;
    rank_t peer = no_rank;
    std::uint64_t id = 0;    // of the post; of an arrival: the transport's own handle of it, below 2^63
    std::uint64_t bytes = 0; // length of the payload
    const std::byte* data = nullptr;
    bough::envelope envelope{};
};

template <class T>
concept Transport = requires(T& t, const T& c, rank_t peer, const envelope& e, std::span<const std::byte> from,
                             std::span<std::byte> into, std::uint64_t id, std::uint64_t handle,
                             std::span<event> events) {
    { c.rank() } -> std::same_as<rank_t>;
    { c.size() } -> std::same_as<rank_t>;
    { t.post_send(peer, e, from, id) } -> std::same_as<posted>;
    { t.take(handle, into, id) } -> std::same_as<posted>;
    { t.release(handle) } -> std::same_as<void>;
    { t.poll(events) } -> std::same_as<std::size_t>;
    { t.cancel(id) } -> std::same_as<errc>;
    { c.now_ns() } -> std::same_as<std::uint64_t>;
};

// Arrivals carry their payload, as far as it is within reach: it may be read at `data` after claim() says true (false: the
// sender took the message back) and until release(). So messages are combined where they landed. A message with bytes
// whose `data` is null has to be taken; claim() refuses it.
template <class T>
concept InPlaceTransport = Transport<T> && requires(T& t, std::uint64_t handle) {
    { t.claim(handle) } -> std::same_as<bool>;
};

// Knows how to wait: called after the n-th poll in a row that found nothing (n from 1). May spin, yield or sleep, the
// latter until something may have arrived or `deadline_ns` of now_ns() has passed. A deadline of 0 is none: the caller has not
// looked at the clock yet; then it returns within some milliseconds, whatever happens.
template <class T>
concept WaitableTransport = Transport<T> && requires(T& t, std::uint32_t idle, std::uint64_t deadline_ns) {
    t.wait(idle, deadline_ns);
};

// Has a file descriptor, so that a program can sleep in a loop of its own: poll(), epoll, Asio. arm() is called after a poll
// that found nothing, with no other call in between. It says true: from now on the descriptor becomes readable, and stays so,
// when a poll may find something or a refused post may be accepted; or false: that may be so already. It may be readable
// without reason. disarm() ends that, and makes it unreadable; nobody pays for notifications that are not armed. Any
// call is allowed in between, but wait() may disarm. descriptor() is always the same and belongs to the transport; it is
// not called before it is needed, and -1 if there is none after all.
template <class T>
concept DescriptorTransport = Transport<T> && requires(T& t) {
    { t.descriptor() } -> std::same_as<int>;
    { t.arm() } -> std::same_as<bool>;
    { t.disarm() } -> std::same_as<void>;
};

} // namespace bough

#endif
