// SPDX-License-Identifier: BSL-1.0
// A hash as a message carries it: in 16 bits, to which each of its 64 contributes.
#ifndef BOUGH_CORE_FOLD_HPP
#define BOUGH_CORE_FOLD_HPP

#include <cstdint>

namespace bough::detail {

constexpr std::uint16_t fold16(std::uint64_t h) noexcept {
    return static_cast<std::uint16_t>(h ^ (h >> 16) ^ (h >> 32) ^ (h >> 48));
}

} // namespace bough::detail

#endif
