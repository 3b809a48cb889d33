// SPDX-License-Identifier: BSL-1.0
// block_offsets: where the blocks of a call's vector begin.
#ifndef BOUGH_ENGINE_PREPARED_BLOCK_OFFSETS_HPP
#define BOUGH_ENGINE_PREPARED_BLOCK_OFFSETS_HPP

#include <bough/core/contract.hpp>
#include <bough/core/slice.hpp>
#include <bough/engine/bound_view.hpp>
#include <bough/engine/call.hpp>

#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

namespace detail {

// `count` elements cut into `blocks`: the first count % blocks of them are one element longer than
// the others.
struct even_blocks {
    constexpr even_blocks(std::uint64_t count, block_t blocks) noexcept
        : length(count / blocks), longer(count % blocks) {}
    constexpr std::uint64_t begin(block_t b) const noexcept { return b * length + (b < longer ? b : longer); }

    std::uint64_t length, longer;
};

// In bytes from the beginning of the vector.
class block_offsets {
public:
    // Pre: blocks != 0. The call's offsets outlive this object.
    block_offsets(const call& c, block_t blocks)
        : given_(offsets_of(c).data()), repeat_(c.repeat), even_(c.count, blocks), element_bytes_(c.element_bytes) {
        BOUGH_EXPECTS(offsets_of(c).empty() || offsets_of(c).size() == std::size_t{repeat_ != 0 ? repeat_ : blocks} + 1,
                      "offsets: one per block is needed, and the end");
    }

    // Where block `b` begins. Behind the last block: where that ends.
    std::uint64_t begin(block_t b) const noexcept {
        if (repeat_ != 0) return (b / repeat_ * given_[repeat_] + given_[b % repeat_]) * element_bytes_;
        return (given_ != nullptr ? given_[b] : even_.begin(b)) * element_bytes_;
    }
    std::uint64_t length(block_t first, block_t last) const noexcept { return begin(last) - begin(first); }
    std::uint64_t length(const bound_place& p) const noexcept { return length(p.first, p.first + p.count); }

private:
    const std::uint64_t* given_; // null: the blocks are even
    block_t repeat_;             // the lengths of so many blocks are given; 0: of all
    even_blocks even_;
    std::uint32_t element_bytes_;
};

} // namespace detail

// The element at which block b begins when `count` elements are cut into `blocks`: the first count
// % blocks are one longer.
constexpr std::uint64_t block_begin(std::uint64_t count, block_t blocks, block_t b) noexcept {
    return detail::even_blocks(count, blocks).begin(b);
}

} // namespace bough

#endif
