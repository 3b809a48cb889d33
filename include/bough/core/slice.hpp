// SPDX-License-Identifier: BSL-1.0
// Slices: which part of which buffer a step reads or writes. Never a pointer.
//
// A collective works on a vector that is cut into `blocks` pieces. Every buffer that a schedule
// names uses the coordinates of that one vector: block 5 of a scratch plane has room for block 5 of
// the data, no more and no less. So a slice means the same elements in every buffer, and one
// schedule serves every element type and count.
//
// A plane may be packed. Then it has no room for every block: the blocks that it holds lie one behind
// the other, in the order in which they were written. So it serves many blocks in turn with memory for
// a few, whatever their lengths (bough/schedule/packed_loads.hpp).
#ifndef BOUGH_CORE_SLICE_HPP
#define BOUGH_CORE_SLICE_HPP

#include <bough/core/config.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

// A block's number, or a number of blocks.
using block_t = std::uint32_t;

// A buffer of one rank: what it contributes, what it gets, or a numbered plane of scratch memory.
// In the in-place form input and output are the same memory. A plane of a rank is packed in all steps
// that name it, or in none.
struct buffer {
    constexpr buffer() noexcept = default;
    constexpr explicit buffer(std::uint32_t number, bool is_packed = false) noexcept
        : index(number & 0x7fff'ffffu), packed(is_packed ? 1 : 0) {}
    std::uint32_t index : 31 = 0;
    std::uint32_t packed : 1 = 0;
    friend constexpr bool operator==(const buffer&, const buffer&) = default;
};
// What a rank gives, and what it gets in the end; see above.
inline constexpr buffer input{0};
inline constexpr buffer output{1};
constexpr buffer scratch(std::uint32_t plane) noexcept { return buffer{plane + 2}; }
constexpr buffer packed_scratch(std::uint32_t plane) noexcept { return buffer{plane + 2, true}; }
constexpr bool is_scratch(buffer b) noexcept { return b.index >= 2; }
constexpr std::uint32_t scratch_plane(buffer b) noexcept { return b.index - 2u; }
// Another plane of the same kind as scratch buffer `b`.
constexpr buffer on_plane(buffer b, std::uint32_t plane) noexcept {
    return b.packed != 0 ? packed_scratch(plane) : scratch(plane);
}

// Blocks [first, first + count) of a buffer.
struct slice {
    bough::buffer buffer{};
    block_t first = 0;
    block_t count = 0;
    friend constexpr bool operator==(const slice&, const slice&) = default;
    constexpr block_t last() const noexcept { return first + count; }
    // The same blocks of another buffer.
    constexpr slice in(bough::buffer other) const noexcept { return {other, first, count}; }
};

// Do two slices share memory? An empty one shares none. Input and output count as one buffer, since
// they are one in the in-place form.
constexpr std::uint32_t storage_of(buffer b) noexcept { return b.index <= 1 ? 0 : b.index - 1u; }
constexpr bool overlap(const slice& a, const slice& b) noexcept {
    return storage_of(a.buffer) == storage_of(b.buffer) && a.count != 0 && b.count != 0 && a.first < b.last() &&
           b.first < a.last();
}

} // namespace bough

#endif
