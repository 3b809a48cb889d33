// SPDX-License-Identifier: BSL-1.0
// memory_size: lengths and counts of 64 bits as lengths of memory.
//
// Where a std::size_t has 32 bits, a length that is cut to it is a short one, and what is written there
// then lies behind the memory. These functions keep it too long instead: no memory is so long, and
// whoever asks for it is refused.
#ifndef BOUGH_CORE_MEMORY_SIZE_HPP
#define BOUGH_CORE_MEMORY_SIZE_HPP

#include <bough/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace bough::inline BOUGH_ABI::detail {

// A length that does not fit is the longest of all. Size: another type than std::size_t, for tests.
template <class Size = std::size_t>
constexpr Size memory_size(std::uint64_t length) noexcept {
    constexpr Size longest = std::numeric_limits<Size>::max();
    return length > longest ? longest : static_cast<Size>(length);
}
constexpr std::uint64_t capped_sum(std::uint64_t a, std::uint64_t b) noexcept {
    return b > ~std::uint64_t{0} - a ? ~std::uint64_t{0} : a + b;
}
constexpr std::uint64_t capped_product(std::uint64_t a, std::uint64_t b) noexcept {
    return a != 0 && b > ~std::uint64_t{0} / a ? ~std::uint64_t{0} : a * b;
}
// Can memory be so long? Addresses are subtracted, so half of all is the most.
template <class Size = std::size_t>
constexpr bool fits_memory(std::uint64_t bytes) noexcept {
    return bytes <= std::numeric_limits<Size>::max() / 2;
}

} // namespace bough::detail

#endif
