// SPDX-License-Identifier: BSL-1.0
// mix_hash: mixes one more value into a hash. The result is the same on every machine, since ranks
// compare it.
//
//   h = mix_hash(mix_hash(h, op_id<O>), count);
#ifndef BOUGH_OP_MIX_HASH_HPP
#define BOUGH_OP_MIX_HASH_HPP

#include <bough/core/config.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

constexpr std::uint64_t mix_hash(std::uint64_t h, std::uint64_t value) noexcept {
    h = (h ^ value) * 0x9e37'79b9'7f4a'7c15u;
    return h ^ h >> 32;
}

} // namespace bough::detail

#endif
