// SPDX-License-Identifier: BSL-1.0
// block_sizes: how many bytes a slice has when a vector of so many bytes is cut into a plan's blocks.
#ifndef BOUGH_MODEL_BLOCK_SIZES_HPP
#define BOUGH_MODEL_BLOCK_SIZES_HPP

#include <bough/core/contract.hpp>
#include <bough/core/slice.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::model {

// `bytes` bytes are cut into elements, and these into blocks; the first
// (elements mod blocks) blocks have one element more.
class block_sizes {
public:
    // Pre: blocks >= 1, element_bytes >= 1, bytes is a multiple of element_bytes.
    constexpr block_sizes(std::uint64_t bytes, block_t blocks, std::uint64_t element_bytes)
        : element_bytes_(element_bytes) {
        BOUGH_EXPECTS(element_bytes >= 1 && bytes % element_bytes == 0, "bytes: needs a whole number of elements");
        BOUGH_EXPECTS(blocks >= 1, "blocks: needs at least one");
        share_bytes_ = bytes / element_bytes / blocks * element_bytes;
        longer_ = static_cast<block_t>(bytes / element_bytes % blocks);
    }
    constexpr std::uint64_t bytes_of(const slice& s) const noexcept {
        if (longer_ == 0) return s.count * share_bytes_;
        return s.count * share_bytes_ + (elements_extra(s.last()) - elements_extra(s.first)) * element_bytes_;
    }

private:
    constexpr std::uint64_t elements_extra(block_t before) const noexcept {
        return before < longer_ ? before : longer_;
    }

    std::uint64_t element_bytes_;
    std::uint64_t share_bytes_ = 0; // of each block, at least
    block_t longer_ = 0;
};

} // namespace bough::model

#endif
