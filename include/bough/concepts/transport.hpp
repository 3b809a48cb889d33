// SPDX-License-Identifier: BSL-1.0
// Transport: a way to move (envelope, bytes) between the ranks of a group. A transport is a completion queue; matching,
// early messages, credits, deadlines and poison are written once above it (bough/session).
//
// Valid expressions on a transport `t`:
//   t.rank(), t.size()                         who I am, of how many
//   t.post_send(to, envelope, bytes, id)       -> posted: complete, pending, would_block or failed
//   t.poll(events)                             -> how many of `events` were filled
//   t.take(handle, into, id)                   -> posted: the payload of the arrival with this handle
//                                              goes to `into`
//   t.release(handle)                          the payload of that arrival is not needed (any more)
//   t.cancel(id)                               -> errc: gives a pending post up; its event says cancelled
//   t.now_ns()                                 a monotonic clock; virtual for a simulated transport
// Semantics:
//   T1  nothing is called back inside a post; a post that is already done says `complete` and has no event
//   T2  every `pending` post has exactly one event; refused and failed posts have none
//   T3  messages from one peer arrive in the order in which they were posted
//   T4  the bytes of a send belong to the transport from post to completion; those of an arrival to the
//       caller from its event to release or take
//   T5  post_send never waits for the peer: would_block instead of waiting or of unbounded queueing
//       (an arrival that is used up makes room, in whatever order arrivals are released)
//   T6  poll never blocks
//   T7  `into` must be as long as the message: else take fails, nothing is truncated, and the arrival
//       is still there
//   T8  one thread at a time per object
//   T9  after the event of a cancelled post the transport does not touch its bytes. The message of a
//       send arrives whole or can neither be claimed nor taken (and is released all the same); that of
//       a take is used up, and its send ends well
//   T10 the loss of a peer is reported once (event::lost), after everything that it sent, also when nothing is posted;
//       posts to it fail from then on, not before: its last words may say why. The report does not wait for releases: 16
//       of its messages, or as many as there is room for if that is less, may be unreleased when it comes. Those that
//       came whole can still be taken, and claimed, after it
//   T11 a post that has said `complete`, or whose event has come, needs its sender no more: its message arrives though
//       the sender makes no further call, or its process ends. A transport that keeps such messages back, to send
//       several at once or for want of room, says how far it has got (GatheringTransport)
// If memory runs out: a post_send or take that throws has done nothing. A poll hands over what it has found, throws only
// if that is nothing, and loses nothing. cancel does not throw.
// Receives are not posted: a message arrives with its envelope first, and the layer that knows the
// operations decides where the payload goes. So messages are matched by operation, and never land
// in the wrong buffer.
#ifndef BOUGH_CONCEPTS_TRANSPORT_HPP
#define BOUGH_CONCEPTS_TRANSPORT_HPP

#include <bough/concepts/members.hpp>
#include <bough/concepts/protocol.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI {

// What the ranks must agree on in one call. What may differ from rank to rank is left out (0).
struct call_signature {
    std::uint64_t count = 0; // elements
    std::uint64_t op = 0;    // op_identity
    std::uint64_t type = 0;  // type_identity
    std::uint64_t plan = 0;  // a hash of the schedule, and of how a vector is cut
    rank_t root = 0;
    std::uint8_t kind = 0; // goal::...::kind
    // 1: ranks may come late. A barrier, or a short reduce or allreduce, is done in memory that all ranks
    // see, by the rank that comes last. If the transport has none, the plan's messages do it.
    std::uint8_t late_ranks = 0;
    std::uint16_t name = 0; // of the call (number_of_name, bough/communicator/call_order.hpp); 0: it has none
    friend constexpr bool operator==(const call_signature& a, const call_signature& b) noexcept {
        using words = std::array<std::uint64_t, 5>; // compared at every start
        const auto x = std::bit_cast<words>(a);
        const auto y = std::bit_cast<words>(b);
        return ((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3]) | (x[4] ^ y[4])) == 0;
    }
};

// A signature as messages carry it: a hash of all of it, by which calls are told apart, and the low bits of each part. These
// tell what differs if the peer cannot be asked any more (bough/session/dispute.hpp).
struct call_digest {
    std::uint64_t hash = 0; // 0: the message is not one of a call
    std::uint16_t op = 0, type = 0, plan = 0, count = 0;
    friend constexpr bool operator==(const call_digest& a, const call_digest& b) noexcept {
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
    std::uint8_t kind = 0;       // of the signature
    std::uint8_t root = 0;       // of the signature, low bits
    call_digest digest{};
    friend constexpr bool operator==(const envelope&, const envelope&) = default;
};
static_assert(sizeof(envelope) == 32);

// Two signatures that differ in one part never have one hash.
constexpr std::uint64_t hash_of(const call_signature& s) noexcept {
    const std::uint64_t rest = std::uint64_t{s.name} << 40 | std::uint64_t{s.root} << 8 | s.kind;
    return s.count * 0x9e37'79b9'7f4a'7c15u + s.op * 0xbf58'476d'1ce4'e5b9u + s.type * 0x94d0'49bb'1331'11ebu +
           s.plan * 0xd6e8'feb8'6659'fd93u + rest * 0xff51'afd7'ed55'8ccdu + 1;
}
// Makes an envelope one of this call.
constexpr void sign(envelope& tag, const call_signature& s) noexcept {
    tag.kind = s.kind;
    tag.root = static_cast<std::uint8_t>(s.root);
    tag.digest.hash = hash_of(s);
    tag.digest.op = static_cast<std::uint16_t>(s.op);
    tag.digest.type = static_cast<std::uint16_t>(s.type);
    tag.digest.plan = static_cast<std::uint16_t>(s.plan);
    tag.digest.count = static_cast<std::uint16_t>(s.count);
}

// What became of a post.
enum class posted : std::uint8_t {
    complete,    // done: the bytes are the caller's again; no event will come
    pending,     // accepted: an event with this id will come
    would_block, // of post_send, not accepted: try again after polling
    failed,      // not accepted, and never will be: the peer is lost or the argument is wrong
};

// Something that poll found.
struct event {
    enum class kind : std::uint8_t {
        // A message: envelope, bytes; its payload is at `data`, or still to be taken if that is
        // null.
        arrived,
        // The next `bytes` bytes, at `data`, of the payload that is taken in pieces by the post
        // with `id`.
        piece,
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

namespace detail {
// What a Transport and its refinements need, by name; their explain_ functions use the same names.
template <class T>
concept PostsSends = requires(T& t, rank_t to, const envelope& tag, std::span<const std::byte> bytes,
                              std::uint64_t id) {
    { t.post_send(to, tag, bytes, id) } -> std::same_as<posted>;
};
template <class T>
concept Takes = requires(T& t, std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
    { t.take(handle, into, id) } -> std::same_as<posted>;
};
template <class T>
concept Releases = requires(T& t, std::uint64_t handle) {
    { t.release(handle) } -> std::same_as<void>;
};
template <class T>
concept Polls = requires(T& t, std::span<event> events) {
    { t.poll(events) } -> std::same_as<std::size_t>;
};
template <class T>
concept Cancels = requires(T& t, std::uint64_t id) {
    { t.cancel(id) } -> std::same_as<errc>;
};
template <class T>
concept Claims = requires(T& t, std::uint64_t handle) {
    { t.claim(handle) } -> std::same_as<bool>;
};
template <class T>
concept TakesPieces = requires(T& t, std::uint64_t handle, std::uint64_t grain, std::uint64_t id) {
    { t.take_pieces(handle, grain, id) } -> std::same_as<posted>;
};
template <class T>
concept PollsFrom = requires(T& t, rank_t from, event& e) {
    { t.poll_from(from, e) } -> std::same_as<bool>;
};
template <class T>
concept Flushes = requires(T& t) {
    { t.flush() } -> std::same_as<void>;
};
template <class T>
concept SaysUnsent = requires(const T& t) {
    { t.unsent() } -> std::same_as<bool>;
};
template <class T>
concept CountsAccepted = requires(const T& t, rank_t to) {
    { t.accepted(to) } -> std::same_as<std::uint64_t>;
};
template <class T>
concept CountsHandedOver = requires(T& t, rank_t to) {
    { t.handed_over(to) } -> std::same_as<std::uint64_t>;
};
template <class T>
concept SaysCommonBytes = requires(const T& t) {
    { t.common_bytes() } -> std::same_as<std::uint64_t>;
};
template <class T>
concept HasCommon = requires(T& t, rank_t owner, std::uint64_t offset, std::uint64_t bytes) {
    { t.common(owner, offset, bytes) } -> std::same_as<std::span<std::byte>>;
};
template <class T>
concept Wakes = requires(T& t, rank_t peer) {
    { t.wake(peer) } -> std::same_as<void>;
};
template <class T>
concept HasDescriptor = requires(T& t) {
    { t.descriptor() } -> std::same_as<int>;
};
template <class T>
concept Arms = requires(T& t) {
    { t.arm() } -> std::same_as<bool>;
};
template <class T>
concept Disarms = requires(T& t) {
    { t.disarm() } -> std::same_as<void>;
};
} // namespace detail

template <class T>
concept Transport = detail::HasRank<T> && detail::HasSize<T> && detail::PostsSends<T> && detail::Takes<T> &&
    detail::Releases<T> && detail::Polls<T> && detail::Cancels<T> && detail::HasClock<T>;

// Arrivals carry their payload, as far as it is within reach: it may be read at `data` after claim() says true (false: the
// sender took the message back) and until release(). So messages are combined where they landed. A message with bytes
// whose `data` is null has to be taken; claim() refuses it.
template <class T>
concept InPlaceTransport = Transport<T> && detail::Claims<T>;

// Hands over a payload piece by piece, so that it can be combined while it is in the cache, and needs no memory of its own.
// take_pieces(handle, grain, id) takes an arrival like take(). If it says `pending`, events of kind `piece` bring the
// payload, in order, each a multiple of `grain` bytes long but never empty, and then comes the event of the end. The bytes
// of a piece can be read until the next poll(). would_block: this payload is not had in pieces, and is still there; take()
// it. Pre: grain is not 0, and divides the length of the payload. A take that ends badly may have brought some pieces.
template <class T>
concept PiecewiseTransport = Transport<T> && detail::TakesPieces<T>;

// Gathers: the message of a post that has said `complete` may stay in this process for a while.
// flush() hands over what the system takes now, and does not wait; poll() does the same. unsent()
// is true while something is still here; then keep polling. The two counters say how far the
// transport has got, in a unit of its own: what had been posted to a peer when accepted() was n has
// left this process once handed_over() is n or more. What was posted to a peer that is lost counts
// as handed over. So an operation is complete when what it posted last to each of its peers has
// left.
template <class T>
concept GatheringTransport = Transport<T> && detail::Flushes<T> && detail::SaysUnsent<T> && detail::CountsAccepted<T> &&
    detail::CountsHandedOver<T>;

// Knows how to wait: called after the n-th poll in a row that found nothing (n from 1). May spin, yield or sleep, the
// latter until something may have arrived or `deadline_ns` of now_ns() has passed. A deadline of 0 is none: the caller has not
// looked at the clock yet; then it returns within some milliseconds, whatever happens.
template <class T>
concept WaitableTransport = Transport<T> && requires(T& t, std::uint32_t idle, std::uint64_t deadline_ns) {
    t.wait(idle, deadline_ns);
};

// Can look at one peer alone. poll_from(peer, e) finds the next message of that peer, as poll() would: it
// returns true if the message has come, and `e` tells of it. Each message is told of once, by poll() or
// by poll_from(), and those of one peer keep their order. False for a peer that is lost, for this rank,
// and for no rank. Short operations wait by it for the one message that they need next
// (bough/engine/straight_run.hpp). If nothing comes for some turns, the engine goes on. While a caller
// waits for that one operation, the engine looks by it for all messages that the operation awaits, and
// calls poll() in each 4th turn. poll() is also called after 63 short operations without it. wait() may
// be called after a poll_from() that found nothing, and must return for news of any peer.
template <class T>
concept PollsPeers = InPlaceTransport<T> && detail::PollsFrom<T>;

// Has a file descriptor, so that a program can sleep in a loop of its own: poll(), epoll, Asio. arm() is called after a poll
// that found nothing, with no other call in between. It says true: from now on the descriptor becomes readable, and stays so,
// when a poll may find something or a refused post may be accepted; or false: that may be so already. It may be readable
// without reason. disarm() ends that, and makes it unreadable; nobody pays for notifications that are not armed. Any
// call is allowed in between, but wait() may disarm. descriptor() is always the same and belongs to the transport; it is
// not called before it is needed, and -1 if there is none after all.
template <class T>
concept DescriptorTransport = Transport<T> && detail::HasDescriptor<T> && detail::Arms<T> && detail::Disarms<T>;

// Optional members, by which a transport says more of itself. One that has the name and another signature is an error
// (explain_optional_members in bough/concepts/explain_transport.hpp), unless the name is overloaded or a template.

// How many cores its ranks share, on all machines together: choices and waits depend on it. 0: unknown.
template <class T>
concept KnowsCores = requires(const T& t) {
    { t.cores() } -> std::convertible_to<std::uint32_t>;
};
// What messages cost, a CostModel; collectives are chosen by it where the communicator is given no other.
template <class T>
concept KnowsCosts = requires(const T& t) {
    t.default_costs();
};
// Which ranks are near each other, and what messages cost inside such a group and between groups
// (bough/select/two_levels.hpp).
template <class T>
concept KnowsLevels = requires(const T& t) {
    t.levels()->groups();
};
// What it costs to give a core from one rank to another.
template <class T>
concept KnowsSwitchTime = requires(const T& t) {
    { t.switch_ns() } -> std::convertible_to<double>;
};
// Says in which way a message of so many bytes comes from this peer, or goes there, if its bytes lie in
// ordinary memory; `combines`: it is combined where it landed, and not copied to its place. It follows
// the rule by which messages do go, so it is what happens, as long as nothing unusual does. Each way has
// one range of sizes. Pre: `peer` is another rank.
template <class T>
concept SaysWays = requires(const T& t, rank_t peer, std::size_t bytes, bool combines) {
    { t.way_of(peer, bytes, combines) } -> std::same_as<protocol>;
};
// Keeps early messages by itself, as long as no more than so many bytes of messages to this peer, each
// counted as its length and 256 more, lie there unused. 0: that is not known. A session sends ahead by it
// (bough/session/ahead.hpp). A transport that is in place need not say it: sessions copy what is early.
template <class T>
concept KeepsEarly = requires(const T& t, rank_t peer) {
    { t.early_bytes(peer) } -> std::same_as<std::uint64_t>;
};
// Is this a forked child, in which nothing may be sent any more?
template <class T>
concept KnowsForks = requires(const T& t) {
    { t.forked() } -> std::same_as<bool>;
};
namespace detail {
// The same question to any transport. True: no list of it may be used, as another thread may have been
// changing it at the fork.
template <class T>
constexpr bool is_forked(const T& t) noexcept {
    if constexpr (KnowsForks<T>)
        return t.forked();
    else
        return false;
}
} // namespace detail
// Has memory that all ranks see, in which a rank leaves its data for those that come late
// (bough/session/late_places.hpp). common_bytes(): how much each rank has, the same on all; 0: none.
// common(owner, offset, bytes): that part of the owner's memory, which was zero at first; offsets are
// multiples of 64, and its places are at the start of a cache line. Empty: the system has no memory
// left. wake(peer): the peer's wait() returns soon, and its armed descriptor becomes readable, also if
// its next poll finds nothing. What was written before wake() can be seen then.
template <class T>
concept SharesMemory = Transport<T> && detail::SaysCommonBytes<T> && detail::HasCommon<T> && detail::Wakes<T>;
// Has another way to wait() for ranks that come late, when no message is due.
template <class T>
concept WaitsForLate = Transport<T> && requires(T& t, std::uint32_t idle, std::uint64_t deadline_ns) {
    t.wait_for_late(idle, deadline_ns);
};
// Wants to be told when an operation has been started, or when something is left to be told to others,
// since perhaps no thread polls for it.
template <class T>
concept HearsOfStarts = requires(T& t) {
    t.operation_started();
};

} // namespace bough

#endif
