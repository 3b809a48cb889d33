// SPDX-License-Identifier: BSL-1.0
// run_time_type: an element type that is known at run time only: how an element lies in memory, how it
// travels, and by what ranks compare it.
//
//   run_time_type{.size = 8}                              8 bytes, one element behind the other
//   run_time_type{.size = 8, .extent = 24}                with gaps, as a column of a matrix
//   run_time_type{.size = 12, .extent = 16, .pieces = p}  some bytes of each 16
//   run_time_type{.size = 6, .extent = 8, .pack = f, .unpack = g, .context = c}
//   run_time_type_of<double>()                            what a span of double is
//
// `size` bytes of an element travel. Element i begins `i * extent` bytes behind the first; the extent
// may be negative, and 0 stands for `size`. What an element has in memory is, in the order in which it
// travels, its pieces, or else its first `size` bytes; or pack() and unpack() know. The bytes between
// pieces are never read or written.
//
// Ranks compare `identity` and the size. An identity is any number of yours that is the same on all
// ranks; types that must not meet have different ones.
//
// Where nothing is combined, ranks may describe the same bytes by other elements: one of 40 bytes here,
// ten of 4 there. They then name the `unit` that their types are made of (.unit = 4, and its identity).
// Ranks compare the number of units, and vectors are cut between them.
#ifndef BOUGH_OP_RUN_TIME_TYPE_HPP
#define BOUGH_OP_RUN_TIME_TYPE_HPP

#include <bough/core/config.hpp>
#include <bough/op/identity.hpp>
#include <bough/op/mix_hash.hpp>
#include <bough/op/wire.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI {

// Some bytes of an element; `offset` is from its address.
struct run_time_piece {
    std::ptrdiff_t offset = 0;
    std::size_t bytes = 0;
};

// Writes the message of `count` elements, the first of which is at `data`; and the reverse. A message
// has `size` bytes an element.
using pack_function = void(void* context, const void* data, std::size_t count, void* message);
using unpack_function = void(void* context, const void* message, std::size_t count, void* data);

struct run_time_type {
    std::size_t size = 0;       // bytes of an element in a message
    std::ptrdiff_t extent = 0;  // bytes from one element to the next in memory; 0: size
    std::uint64_t identity = 0; // compared between ranks, as is the size
    // Of what an op gets; 0: the largest power of two up to 16 that divides their distance.
    std::size_t alignment = 0;
    std::size_t unit = 0; // divides the size; 0: size
    // `size` bytes together; must live as long as operations use it.
    std::span<const run_time_piece> pieces{};
    pack_function* pack = nullptr; // both or neither, and then no pieces
    unpack_function* unpack = nullptr;
    void* context = nullptr; // theirs
};

namespace detail {

constexpr std::uint64_t size_hash(std::size_t size) noexcept { return mix_hash(hash_name("bough.size"), size); }

constexpr std::ptrdiff_t extent_of(const run_time_type& t) noexcept {
    return t.extent != 0 ? t.extent : static_cast<std::ptrdiff_t>(t.size);
}
constexpr std::size_t unit_of(const run_time_type& t) noexcept { return t.unit != 0 ? t.unit : t.size; }
// Of elements that lie `stride` bytes apart.
constexpr std::size_t alignment_of(const run_time_type& t, std::size_t stride) noexcept {
    if (t.alignment != 0) return t.alignment;
    const std::size_t bits = stride | 16u;
    return bits & (~bits + 1);
}
// The bytes [begin, end) behind the address of an element in which its pieces lie.
struct element_bounds {
    std::ptrdiff_t begin = 0, end = 0;
    constexpr std::size_t bytes() const noexcept { return static_cast<std::size_t>(end - begin); }
};
constexpr element_bounds bounds_of(const run_time_type& t) noexcept {
    if (t.pieces.empty()) return {0, static_cast<std::ptrdiff_t>(t.size)};
    element_bounds all{t.pieces[0].offset, t.pieces[0].offset};
    for (const run_time_piece& p : t.pieces) {
        const auto end = p.offset + static_cast<std::ptrdiff_t>(p.bytes);
        all.begin = p.offset < all.begin ? p.offset : all.begin;
        all.end = end > all.end ? end : all.end;
    }
    return all;
}

} // namespace detail

// What ranks compare of a type: that of run_time_type_of<T>() is type_identity<T>().
constexpr std::uint64_t identity_of(const run_time_type& t) noexcept {
    return t.identity ^ detail::size_hash(detail::unit_of(t));
}

// The type of the elements of a std::span<T>. Ranks that give a span of T and ranks that give elements
// of this type agree.
template <WireType T>
requires travels_as_bytes_v<T> run_time_type run_time_type_of()
noexcept {
    return {.size = sizeof(T), .identity = type_identity<T>() ^ detail::size_hash(sizeof(T)), .alignment = alignof(T)};
}

} // namespace bough

#endif
