// SPDX-License-Identifier: BSL-1.0
// WireUp: how ranks that cannot talk yet learn of each other: their addresses, the key of the job, who shares a node.
// A launcher, PMIx or another transport gives one; a transport between processes takes one when it is made.
//
// Valid expressions on a wire-up `w`:
//   w.rank(), w.size()                     who I am, of how many
//   w.exchange(mine, all, timeout_ns)      -> status: every rank's bytes, in order of rank
// Optional:
//   w.address()                            -> std::string: the numeric address at which the other ranks reach
//                                          this one; empty: not known. tcp listens there unless its options
//                                          say otherwise
// Semantics:
//   W1  exchange is collective: every rank calls it as often as the others, with as many bytes
//   W2  `mine` has at most most_wire_up_bytes bytes; `all` has size() times as many: the bytes of rank
//       r begin at r * mine.size(). Another length is invalid_argument on this rank
//   W3  it returns when every rank has called it, or with deadline after `timeout_ns`, or with
//       peer_dead if it learns that a rank is gone, or with another error that says why one will not
//       come; `peer` is the rank that is missing or gone, if it is known; after an error nothing more
//       can be exchanged
//   W4  only the ranks of the job hear it: what is exchanged may be secret
//   W5  one thread at a time; it may block, and is not needed once the transports are made
#ifndef BOUGH_CONCEPTS_WIRE_UP_HPP
#define BOUGH_CONCEPTS_WIRE_UP_HPP

#include <bough/concepts/members.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI {

inline constexpr std::size_t most_wire_up_bytes = 1024; // the most that one rank gives to one exchange

namespace detail {
// What a WireUp needs, by name; explain_wire_up uses the same names.
template <class W>
concept Exchanges = requires(W& w, std::span<const std::byte> mine, std::span<std::byte> all,
                             std::uint64_t timeout_ns) {
    { w.exchange(mine, all, timeout_ns) } -> std::same_as<status>;
};
template <class W>
concept SaysAddress = requires(const W& w) {
    w.address();
};
} // namespace detail

template <class W>
concept WireUp = detail::HasRank<W> && detail::HasSize<W> && detail::Exchanges<W>;

// Checks what W2 asks for. Use it when you write a WireUp.
constexpr status check_exchange(std::span<const std::byte> mine, std::span<const std::byte> all, rank_t size) noexcept {
    if (mine.size() > most_wire_up_bytes) return invalid_argument("mine: longer than most_wire_up_bytes");
    if (all.size() != mine.size() * size) return invalid_argument("all: must have size() times mine.size() bytes");
    return {};
}

} // namespace bough

#endif
