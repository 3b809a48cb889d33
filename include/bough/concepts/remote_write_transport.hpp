// SPDX-License-Identifier: BSL-1.0
// RemoteWriteTransport: ranks that write into each other's memory. Nothing is received: a waiting
// rank looks at its own region.
//
// Valid expressions on a `t` of type X:
//   X::keeps_byte_order                        a constant bool: see W5
//   t.rank(), t.size()                         who I am, of how many
//   t.region()                                 -> span<byte>: my memory that the peers write
//   t.put(to, offset, first, second, id)       -> posted: `first` and behind it `second` go into the
//                                              region of `to`
//   t.flush(to, id)                            -> posted: done when what I had put there before has
//                                              landed (W6)
//   t.poll(events)                             -> how many of `events` were filled: ends of posts, and
//                                              losses
//   t.now_ns()                                 a monotonic clock; virtual for a simulated transport
// Semantics:
//   W1  nothing is called back inside a post; a `pending` post has exactly one event, any other none
//   W2  a put changes the bytes [offset, offset + first + second) of that region and no others; one
//       that does not fit into the region, to oneself or to no rank of the group is `failed`
//   W3  the bytes of a put belong to the transport from post to its completion, which is local: they
//       are the caller's again, and may or may not have landed
//   W4  a put never waits for the peer: would_block instead of waiting or of unbounded queueing; poll
//       makes room
//   W5  keeps_byte_order: the last 8 bytes of a put, if they are an aligned word of the region,
//       land at once. A reader that reads that word with acquire finds the rest of the put, and all
//       earlier puts of that rank to this one. If it is false, bytes and puts land in any order,
//       each byte by itself
//   W6  keeps_byte_order makes flush() needless, and it may be missing; otherwise it is there
//   W7  poll never blocks
//   W8  regions have one size on all ranks, begin on a cache line, are zero when the group is made, and
//       stay at their place when the transport is moved. They are there from the making of the group:
//       no put comes too early
//   W9  one thread at a time per object
//   W10 the loss of a peer is reported once (event::lost): nothing of it lands from then on, pending posts to it have had
//       their events, and later ones fail. All puts of a peer that left after their completion have landed before
//   W14 a put that is complete needs its rank no more: it lands though that rank makes no further call, or its process
//       ends. A transport that keeps such puts back says how far it has got (GatheringRemoteWrites)
// W11 to W13 are those of the refinements below.
#ifndef BOUGH_CONCEPTS_REMOTE_WRITE_TRANSPORT_HPP
#define BOUGH_CONCEPTS_REMOTE_WRITE_TRANSPORT_HPP

#include <bough/concepts/members.hpp>
#include <bough/concepts/transport.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

// Knows when everything that was put before has landed.
template <class X>
concept FlushableRemoteWrites = requires(X& t, rank_t to, std::uint64_t id) {
    { t.flush(to, id) } -> std::same_as<posted>;
};

namespace detail {
// What a RemoteWriteTransport needs, by name; explain_remote_write_transport uses the same names.
template <class X>
concept SaysByteOrder = requires {
    requires std::same_as < std::remove_cvref_t<decltype(X::keeps_byte_order)>,
    bool > ;
    typename std::bool_constant<X::keeps_byte_order>;
};
template <class X>
concept OrdersOrFlushes = requires {
    requires X::keeps_byte_order || FlushableRemoteWrites<X>;
};
template <class X>
concept HasRegion = requires(const X& x) {
    { x.region() } -> std::same_as<std::span<std::byte>>;
};
template <class X>
concept Puts = requires(X& x, rank_t to, std::uint64_t offset, std::span<const std::byte> bytes, std::uint64_t id) {
    { x.put(to, offset, bytes, bytes, id) } -> std::same_as<posted>;
};
} // namespace detail

template <class X>
concept RemoteWriteTransport = detail::SaysByteOrder<X> && detail::OrdersOrFlushes<X> && detail::HasRank<X> &&
    detail::HasSize<X> && detail::HasRegion<X> && detail::Puts<X> && detail::Polls<X> && detail::HasClock<X>;

// Memory of a rank, beside its region, into which its peers may put once they are told of it. A key
// is no secret.
struct exposure {
    std::uint64_t place = 0; // the place of its first byte; the next byte is at place + 1
    std::uint64_t key = 0;   // 0: none

    constexpr explicit operator bool() const noexcept { return key != 0; }
    friend constexpr bool operator==(const exposure&, const exposure&) noexcept = default;
};

// Ranks may also lend memory outside their regions: expose() gives a key, which the owner sends to
// its peers; put_exposed() writes there; conceal() ends it.
template <class X>
concept ExposingRemoteWrites = RemoteWriteTransport<X> &&
    requires(X& t, std::span<std::byte> memory, const exposure& e, rank_t to, std::span<const std::byte> bytes,
             std::uint64_t id) {
    { t.expose(memory) } -> std::same_as<exposure>;
    t.conceal(e);
    { t.put_exposed(to, e, bytes, id) } -> std::same_as<posted>;
};

// Has a counter, at the target, of what has landed.
template <class X>
concept CountedRemoteWrites = RemoteWriteTransport<X> && requires(const X& c, rank_t from) {
    { c.landed(from) } -> std::same_as<std::uint64_t>;
};

// A put that is complete may stay in this process for a while, as when a network sends only while
// its process calls it. poll() hands over what the network takes now. unsent() is true while
// something is still here; then keep polling. The two counters say how far the transport has got,
// in a unit of its own: what had been put to a peer when accepted() was n lands without this rank
// once handed_over() is n or more. What was put to a lost peer counts as handed over.
template <class X>
concept GatheringRemoteWrites =
    RemoteWriteTransport<X> && detail::SaysUnsent<X> && detail::CountsAccepted<X> && detail::CountsHandedOver<X>;

// Knows how to wait: called after the n-th poll in a row that found nothing (n from 1), by somebody who has looked at the
// region, too. May spin, yield or sleep, the latter until something may have landed or `deadline_ns` of now_ns() has
// passed; 0: no deadline is known, so not for long. After it has let the peers know that it sleeps it asks `landed()` a
// last time, and returns if that is true.
template <class X>
concept WaitableRemoteWrites = RemoteWriteTransport<X> &&
    requires(X& t, std::uint32_t idle, std::uint64_t deadline_ns, bool (*landed)()) {
    t.wait(idle, deadline_ns, landed);
};

} // namespace bough

#endif
