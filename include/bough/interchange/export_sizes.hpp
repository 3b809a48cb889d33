// SPDX-License-Identifier: BSL-1.0
// Computes the bytes of slices, for file formats that count in bytes. A vector of `bytes` bytes is
// cut into elements, and these into blocks, of which the first have one element more.
// model::block_sizes (bough/model/walk.hpp) cuts in the same way.
#ifndef BOUGH_INTERCHANGE_EXPORT_SIZES_HPP
#define BOUGH_INTERCHANGE_EXPORT_SIZES_HPP

#include <bough/core/contract.hpp>
#include <bough/core/slice.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

class export_sizes {
public:
    // Pre: blocks >= 1, element_bytes >= 1, bytes is a multiple of element_bytes.
    constexpr export_sizes(std::uint64_t bytes, block_t blocks, std::uint64_t element_bytes)
        : element_bytes_(element_bytes) {
        BOUGH_EXPECTS(element_bytes >= 1 && bytes % element_bytes == 0, "bytes: needs a whole number of elements");
        BOUGH_EXPECTS(blocks >= 1, "blocks: needs at least one");
        share_ = bytes / element_bytes / blocks;
        longer_ = bytes / element_bytes % blocks;
    }
    constexpr std::uint64_t bytes_of(const slice& s) const noexcept { return begin_of(s.last()) - begin_of(s.first); }

private:
    constexpr std::uint64_t begin_of(std::uint64_t block) const noexcept {
        return (block * share_ + (block < longer_ ? block : longer_)) * element_bytes_;
    }

    std::uint64_t element_bytes_;
    std::uint64_t share_ = 0;
    std::uint64_t longer_ = 0;
};

} // namespace bough

#endif
