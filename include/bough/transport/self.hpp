// SPDX-License-Identifier: BSL-1.0
// self: the transport of a group of one rank. It has nothing to send and nobody to wait for, and
// needs no operating system.
#ifndef BOUGH_TRANSPORT_SELF_HPP
#define BOUGH_TRANSPORT_SELF_HPP

#include <bough/concepts/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI {

class self {
public:
    constexpr rank_t rank() const noexcept { return 0; }
    constexpr rank_t size() const noexcept { return 1; }
    constexpr posted post_send(rank_t, const envelope&, std::span<const std::byte>, std::uint64_t) noexcept {
        return posted::failed; // there is no other rank
    }
    constexpr posted take(std::uint64_t, std::span<std::byte>, std::uint64_t) noexcept { return posted::failed; }
    constexpr void release(std::uint64_t) noexcept {}
    constexpr bool claim(std::uint64_t) noexcept { return true; }
    constexpr std::size_t poll(std::span<event>) noexcept { return 0; }
    constexpr errc cancel(std::uint64_t) noexcept { return errc::invalid_argument; }
    constexpr std::uint64_t now_ns() const noexcept { return 0; } // a rank alone never waits
};

static_assert(InPlaceTransport<self>);

} // namespace bough

#endif
