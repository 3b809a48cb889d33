// SPDX-License-Identifier: BSL-1.0
// Ids for the puts of the message protocol: the id of a completion tells to which put it belongs.
#ifndef BOUGH_TRANSPORT_ONE_SIDED_PUTS_HPP
#define BOUGH_TRANSPORT_ONE_SIDED_PUTS_HPP

#include <bough/core/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI::detail {

namespace put_kind {
inline constexpr std::uint64_t greeting = 1;
inline constexpr std::uint64_t block = 2;
inline constexpr std::uint64_t piece = 3;
inline constexpr std::uint64_t direct = 4;
inline constexpr std::uint64_t state = 5;
inline constexpr std::uint64_t want = 6;
inline constexpr std::uint64_t stop = 7;
inline constexpr std::uint64_t credit = 8;
inline constexpr std::uint64_t flush = 9;
} // namespace put_kind

// No two puts that are under way have the same id.
constexpr std::uint64_t put_id(std::uint64_t kind, rank_t peer, std::uint32_t block) noexcept {
    return std::uint64_t{peer} << 10 | std::uint64_t{block} << 4 | kind;
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    return std::as_bytes(std::span(&value, 1));
}

} // namespace bough::detail

#endif
