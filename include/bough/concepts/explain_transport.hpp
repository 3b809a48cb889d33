// SPDX-License-Identifier: BSL-1.0
// explain_transport: what a type lacks to be a Transport, in a sentence.
//
//   static_assert(bough::explain_transport<my_link>());           // true, or an error that says what to write
//   static_assert(bough::explain_in_place_transport<my_link>());  // the same for the refinements
//   static_assert(bough::explain_waitable_transport<my_link>());
//   static_assert(bough::explain_descriptor_transport<my_link>());
//   static_assert(bough::explain_gathering_transport<my_link>());
//   static_assert(bough::explain_optional_members<my_link>());    // those that it has, are they what bough looks for?
#ifndef BOUGH_CONCEPTS_EXPLAIN_TRANSPORT_HPP
#define BOUGH_CONCEPTS_EXPLAIN_TRANSPORT_HPP

#include <bough/concepts/transport.hpp>

namespace bough::inline BOUGH_ABI {

namespace detail {
template <class>
inline constexpr bool no_transport = false; // dependent, so that only the branch that is taken fails
} // namespace detail

template <class T>
consteval bool explain_transport() {
    if constexpr (!detail::HasRank<T>)
        static_assert(detail::no_transport<T>,
                      "bough: a Transport needs `rank_t rank() const`: which rank of its group this end is");
    if constexpr (!detail::HasSize<T>)
        static_assert(detail::no_transport<T>,
                      "bough: a Transport needs `rank_t size() const`: how many ranks its group has");
    if constexpr (!detail::PostsSends<T>)
        static_assert(detail::no_transport<T>,
                      "bough: a Transport needs `posted post_send(rank_t to, const envelope& tag, std::span<const "
                      "std::byte> bytes, std::uint64_t id)`: sends, or refuses with would_block; never waits");
    if constexpr (!detail::Takes<T>)
        static_assert(detail::no_transport<T>,
                      "bough: a Transport needs `posted take(std::uint64_t handle, std::span<std::byte> into, "
                      "std::uint64_t id)`: puts the payload of an arrival where the caller wants it");
    if constexpr (!detail::Releases<T>)
        static_assert(detail::no_transport<T>, "bough: a Transport needs `void release(std::uint64_t handle)`: the "
                                               "payload of an arrival is not needed any more");
    if constexpr (!detail::Polls<T>)
        static_assert(detail::no_transport<T>,
                      "bough: a Transport needs `std::size_t poll(std::span<event> events)`: fills in what has "
                      "happened, says how many; never waits");
    if constexpr (!detail::Cancels<T>)
        static_assert(detail::no_transport<T>,
                      "bough: a Transport needs `errc cancel(std::uint64_t id)`: gives a pending post up, whose event "
                      "then says so");
    if constexpr (!detail::HasClock<T>)
        static_assert(detail::no_transport<T>,
                      "bough: a Transport needs `std::uint64_t now_ns() const`: a clock that never goes back");
    return Transport<T>;
}

template <class T>
consteval bool explain_in_place_transport() {
    constexpr bool transport = explain_transport<T>();
    if constexpr (transport && !detail::Claims<T>)
        static_assert(detail::no_transport<T>,
                      "bough: an InPlaceTransport needs `bool claim(std::uint64_t handle)`: may the payload be read "
                      "where it landed? false if its sender took it back");
    return InPlaceTransport<T>;
}

template <class T>
consteval bool explain_waitable_transport() {
    constexpr bool transport = explain_transport<T>();
    if constexpr (transport && !WaitableTransport<T>)
        static_assert(detail::no_transport<T>,
                      "bough: a WaitableTransport needs `void wait(std::uint32_t idle, std::uint64_t deadline_ns)`: "
                      "spins, yields or sleeps after the idle-th poll in a row that found nothing");
    return WaitableTransport<T>;
}

template <class T>
consteval bool explain_descriptor_transport() {
    constexpr bool transport = explain_transport<T>();
    if constexpr (transport && !detail::HasDescriptor<T>)
        static_assert(
            detail::no_transport<T>,
            "bough: a DescriptorTransport needs `int descriptor()`: the file descriptor that is readable, while "
            "armed, when there may be something; -1 if there is none");
    if constexpr (transport && !detail::Arms<T>)
        static_assert(
            detail::no_transport<T>,
            "bough: a DescriptorTransport needs `bool arm()`: from now on the descriptor tells of news; false "
            "if there may be some already");
    if constexpr (transport && !detail::Disarms<T>)
        static_assert(
            detail::no_transport<T>,
            "bough: a DescriptorTransport needs `void disarm()`: no more notifications; the descriptor is not "
            "readable any more");
    return DescriptorTransport<T>;
}

// Memory that all ranks see.
template <class T>
consteval bool explain_shares_memory() {
    constexpr bool transport = explain_transport<T>();
    if constexpr (transport && !detail::SaysCommonBytes<T>)
        static_assert(detail::no_transport<T>, "bough: a transport that SharesMemory needs `std::uint64_t "
                                               "common_bytes() const`: how much memory of each rank all ranks see");
    if constexpr (transport && !detail::HasCommon<T>)
        static_assert(detail::no_transport<T>,
                      "bough: a transport that SharesMemory needs `std::span<std::byte> common(rank_t owner, "
                      "std::uint64_t offset, std::uint64_t bytes)`: that part of the owner's memory");
    if constexpr (transport && !detail::Wakes<T>)
        static_assert(detail::no_transport<T>, "bough: a transport that SharesMemory needs `void wake(rank_t peer)`: "
                                               "there is news in memory for a peer that may be asleep");
    return SharesMemory<T>;
}

template <class T>
consteval bool explain_gathering_transport() {
    constexpr bool transport = explain_transport<T>();
    if constexpr (transport && !detail::Flushes<T>)
        static_assert(detail::no_transport<T>, "bough: a GatheringTransport needs `void flush()`: hands over what the "
                                               "system takes of what has been posted; never waits");
    if constexpr (transport && !detail::SaysUnsent<T>)
        static_assert(detail::no_transport<T>, "bough: a GatheringTransport needs `bool unsent() const`: is something "
                                               "that was posted still in this process?");
    if constexpr (transport && !detail::CountsAccepted<T>)
        static_assert(detail::no_transport<T>,
                      "bough: a GatheringTransport needs `std::uint64_t accepted(rank_t to) const`: a count that grows "
                      "with each post to that rank");
    if constexpr (transport && !detail::CountsHandedOver<T>)
        static_assert(detail::no_transport<T>,
                      "bough: a GatheringTransport needs `std::uint64_t handed_over(rank_t to)`: how much of "
                      "accepted(to) has left this process");
    return GatheringTransport<T>;
}

// Checks optional members: one that has the name but cannot be used as such would otherwise be
// ignored without a word. (A constrained member whose constraint does not hold does not count.)
template <class T>
consteval bool explain_optional_members() {
    if constexpr (!WaitableTransport<T> && requires { &T::wait; })
        static_assert(detail::no_transport<T>,
                      "bough: a Transport's wait, if it has one, is `void wait(std::uint32_t idle, std::uint64_t "
                      "deadline_ns)`");
    if constexpr (!InPlaceTransport<T> && requires { &T::claim; })
        static_assert(detail::no_transport<T>,
                      "bough: a Transport's claim, if it has one, is `bool claim(std::uint64_t handle)`");
    if constexpr (!PiecewiseTransport<T> && requires { &T::take_pieces; })
        static_assert(detail::no_transport<T>,
                      "bough: a Transport's take_pieces, if it has one, is `posted take_pieces(std::uint64_t handle, "
                      "std::uint64_t grain, std::uint64_t id)`");
    if constexpr (!PollsPeers<T> && requires { &T::poll_from; })
        static_assert(detail::no_transport<T>,
                      "bough: a Transport's poll_from, if it has one, is `bool poll_from(rank_t from, event& e)`, and "
                      "the transport has `bool claim(std::uint64_t handle)`, too");
    if constexpr (!KnowsCores<T> && requires { &T::cores; })
        static_assert(detail::no_transport<T>,
                      "bough: a Transport's cores, if it has them, are `std::uint32_t cores() const`");
    if constexpr (!KnowsCosts<T> && requires { &T::default_costs; })
        static_assert(detail::no_transport<T>,
                      "bough: a Transport's default_costs, if it has them, are `auto default_costs() const`, which "
                      "returns a CostModel");
    if constexpr (!KnowsLevels<T> && requires { &T::levels; })
        static_assert(detail::no_transport<T>, "bough: a Transport's levels, if it knows them, are "
                                               "`std::shared_ptr<const two_levels> levels() const`");
    if constexpr (!KnowsSwitchTime<T> && requires { &T::switch_ns; })
        static_assert(detail::no_transport<T>,
                      "bough: a Transport's switch_ns, if it has one, is `double switch_ns() const`");
    if constexpr (!SaysWays<T> && requires { &T::way_of; })
        static_assert(detail::no_transport<T>,
                      "bough: a Transport's way_of, if it has one, is `protocol way_of(rank_t peer, std::size_t bytes, "
                      "bool combines) const`");
    if constexpr (!KeepsEarly<T> && requires { &T::early_bytes; })
        static_assert(detail::no_transport<T>, "bough: a Transport's early_bytes, if it has them, are "
                                               "`std::uint64_t early_bytes(rank_t peer) const`");
    if constexpr (!KnowsForks<T> && requires { &T::forked; })
        static_assert(detail::no_transport<T>, "bough: a Transport's forked, if it has one, is `bool forked() const`");
    if constexpr (!GatheringTransport<T> && requires { &T::unsent; }) return explain_gathering_transport<T>();
    if constexpr (!SharesMemory<T> && requires { &T::common_bytes; }) return explain_shares_memory<T>();
    if constexpr (!WaitsForLate<T> && requires { &T::wait_for_late; })
        static_assert(detail::no_transport<T>,
                      "bough: a Transport's wait_for_late, if it has one, is `void wait_for_late(std::uint32_t idle, "
                      "std::uint64_t deadline_ns)`");
    if constexpr (!HearsOfStarts<T> && requires { &T::operation_started; })
        static_assert(detail::no_transport<T>,
                      "bough: a Transport's operation_started, if it has one, is `void operation_started()`");
    if constexpr (!detail::HasDescriptor<T> && requires { &T::descriptor; })
        static_assert(detail::no_transport<T>, "bough: a Transport's descriptor, if it has one, is `int descriptor()`");
    if constexpr (!(detail::Arms<T> && detail::Disarms<T>)&&requires {
                      &T::arm;
                      &T::disarm;
                  })
        static_assert(detail::no_transport<T>,
                      "bough: a Transport's arm and disarm, if it has them, are `bool arm()` and `void disarm()`");
    return true;
}

} // namespace bough

#endif
