// SPDX-License-Identifier: BSL-1.0
// explain_remote_write_transport: what a type lacks to be a RemoteWriteTransport, in a sentence.
//
//   static_assert(bough::explain_remote_write_transport<my_nic>()); // true, or an error that says what to write
#ifndef BOUGH_CONCEPTS_EXPLAIN_REMOTE_WRITE_TRANSPORT_HPP
#define BOUGH_CONCEPTS_EXPLAIN_REMOTE_WRITE_TRANSPORT_HPP

#include <bough/concepts/remote_write_transport.hpp>

namespace bough::inline BOUGH_ABI {

namespace detail {
template <class>
inline constexpr bool no_remote_writes = false; // dependent, so that only the branch that is taken fails
} // namespace detail

template <class X>
consteval bool explain_remote_write_transport() {
    if constexpr (!detail::SaysByteOrder<X>)
        static_assert(
            detail::no_remote_writes<X>,
            "bough: a RemoteWriteTransport needs `static constexpr bool keeps_byte_order`: do bytes of a put, "
            "and puts to one peer, become visible in order?");
    else if constexpr (!detail::OrdersOrFlushes<X>)
        static_assert(detail::no_remote_writes<X>,
                      "bough: a RemoteWriteTransport that does not keep the order of bytes needs `posted flush(rank_t "
                      "to, std::uint64_t id)`: done when all that was put there before has landed");
    if constexpr (!detail::HasRank<X>)
        static_assert(detail::no_remote_writes<X>,
                      "bough: a RemoteWriteTransport needs `rank_t rank() const`: which rank of its group this end is");
    if constexpr (!detail::HasSize<X>)
        static_assert(detail::no_remote_writes<X>,
                      "bough: a RemoteWriteTransport needs `rank_t size() const`: how many ranks its group has");
    if constexpr (!detail::HasRegion<X>)
        static_assert(detail::no_remote_writes<X>,
                      "bough: a RemoteWriteTransport needs `std::span<std::byte> region() const`: the memory of this "
                      "rank that its peers write");
    if constexpr (!detail::Puts<X>)
        static_assert(detail::no_remote_writes<X>,
                      "bough: a RemoteWriteTransport needs `posted put(rank_t to, std::uint64_t offset, "
                      "std::span<const std::byte> first, std::span<const std::byte> second, std::uint64_t id)`: writes "
                      "both, one behind the other, into the region of `to`, or refuses with would_block; never waits");
    if constexpr (!detail::Polls<X>)
        static_assert(detail::no_remote_writes<X>,
                      "bough: a RemoteWriteTransport needs `std::size_t poll(std::span<event> events)`: fills in which "
                      "posts have ended and which peers are lost, says how many; never waits");
    if constexpr (!detail::HasClock<X>)
        static_assert(
            detail::no_remote_writes<X>,
            "bough: a RemoteWriteTransport needs `std::uint64_t now_ns() const`: a clock that never goes back");
    return RemoteWriteTransport<X>;
}

} // namespace bough

#endif
