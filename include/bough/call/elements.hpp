// SPDX-License-Identifier: BSL-1.0
// Elements: data whose type is known at run time only, in the place of a span (bough/run_time.hpp); and
// how they become messages.
#ifndef BOUGH_CALL_ELEMENTS_HPP
#define BOUGH_CALL_ELEMENTS_HPP

#include <bough/core/config.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/status.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/run_time_op.hpp>
#include <bough/op/run_time_type.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

// Elements that are only read.
struct const_elements {
    const void* data = nullptr; // where element 0 is; the bytes may lie before it or behind it
    std::size_t count = 0;
    run_time_type type{};
    // Only where blocks may differ in length: how many elements behind `data` the block of each rank
    // begins. Empty: they lie one behind the other. `count` is the sum of their lengths. The list must
    // live until the operation has ended.
    std::span<const std::ptrdiff_t> displacements{};
};

struct elements {
    void* data = nullptr;
    std::size_t count = 0;
    run_time_type type{};
    std::span<const std::ptrdiff_t> displacements{};

    operator const_elements() const noexcept { return {data, count, type, displacements}; }
};

namespace detail {

template <class A>
concept RunTimeData = std::same_as<A, elements> || std::same_as<A, const_elements>;
template <class A>
concept RunTimeOp = std::same_as<A, run_time_op> || std::same_as<A, any_op>;

// How the data of a call lie in memory and in a message.
struct message_layout {
    run_time_type type{};
    message_form form{};
    std::byte* data = nullptr; // written only by unpack()
    std::size_t count = 0;
    // If blocks have displacements, and for unpack_only() if they differ in length: where each block begins in
    // the message, with the end, in units.
    std::span<const std::uint64_t> offsets{};
    std::span<const std::ptrdiff_t> displacements{};

    std::size_t bytes() const noexcept { return count * form.stride; }
    void pack(std::byte* message) const {
        if (is_dense()) {
            if (count != 0) __builtin_memcpy(message, data, bytes());
            return;
        }
        for_each_block([this, message](std::size_t first, std::ptrdiff_t place, std::size_t n) {
            pack_block(moved(data, place * extent_of(type)), n, message + first * form.stride);
        });
    }
    void unpack(const std::byte* message) const {
        for_each_block([this, message](std::size_t first, std::ptrdiff_t place, std::size_t n) {
            unpack_block(message + first * form.stride, n, moved(data, place * extent_of(type)));
        });
    }
    // Only these blocks, which have `each` units if there are no offsets.
    void unpack_only(const std::byte* message, std::span<const block_t> blocks, std::size_t each) const {
        const std::size_t units = type.size / unit_of(type);
        for (const block_t b : blocks) {
            const std::size_t begin = offsets.empty() ? b * each : static_cast<std::size_t>(offsets[b]);
            const std::size_t end = offsets.empty() ? begin + each : static_cast<std::size_t>(offsets[b + 1]);
            if (begin == end) continue;
            const std::size_t first = begin / units;
            const auto place = displacements.empty() ? static_cast<std::ptrdiff_t>(first) : displacements[b];
            unpack_block(message + first * form.stride, end / units - first, moved(data, place * extent_of(type)));
        }
    }

private:
    bool is_dense() const noexcept {
        return type.pack == nullptr && type.pieces.empty() && displacements.empty() &&
               (count <= 1 || extent_of(type) == static_cast<std::ptrdiff_t>(type.size)) && form.stride == type.size;
    }
    // Addresses of elements may be relative to anything, also to null.
    static std::byte* moved(std::byte* from, std::ptrdiff_t by) noexcept {
        return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(from) + static_cast<std::uintptr_t>(by));
    }
    // Copies of a constant length are moves.
    static void copy_piece(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
        if (bytes == 8)
            __builtin_memcpy(to, from, 8);
        else if (bytes == 4)
            __builtin_memcpy(to, from, 4);
        else
            __builtin_memcpy(to, from, bytes);
    }
    template <class F>
    void for_each_block(F&& f) const {
        if (displacements.empty()) {
            if (count != 0) f(std::size_t{0}, std::ptrdiff_t{0}, count);
            return;
        }
        const std::size_t units = type.size / unit_of(type);
        for (std::size_t b = 0; b != displacements.size(); ++b)
            if (const auto n = static_cast<std::size_t>(offsets[b + 1] - offsets[b]); n != 0)
                f(static_cast<std::size_t>(offsets[b]) / units, displacements[b], n / units);
    }
    void pack_block(std::byte* from, std::size_t n, std::byte* message) const {
        if (type.pack != nullptr) return type.pack(type.context, from, n, message);
        if (form.as_in_memory) __builtin_memset(message, 0, n * form.stride);
        if (copies_numbers(n, [from, message](auto bytes, std::ptrdiff_t extent, std::size_t all) {
                gather<bytes()>(from, extent, all, message);
            }))
            return;
        for_each_piece(n, [from, message](std::ptrdiff_t at, std::size_t offset, std::size_t bytes) {
            copy_piece(message + offset, moved(from, at), bytes);
        });
    }
    void unpack_block(const std::byte* message, std::size_t n, std::byte* to) const {
        if (type.unpack != nullptr) return type.unpack(type.context, message, n, to);
        if (copies_numbers(n, [message, to](auto bytes, std::ptrdiff_t extent, std::size_t all) {
                scatter<bytes()>(message, extent, all, to);
            }))
            return;
        for_each_piece(n, [message, to](std::ptrdiff_t at, std::size_t offset, std::size_t bytes) {
            copy_piece(moved(to, at), message + offset, bytes);
        });
    }
    // Elements of the size of a number that are one piece. gather() and scatter() are for these alone.
    template <class F>
    bool copies_numbers(std::size_t n, const F& f) const {
        if (!type.pieces.empty() || form.stride != type.size) return false;
        const std::ptrdiff_t extent = extent_of(type);
        if (type.size == 8) return f(std::integral_constant<std::size_t, 8>{}, extent, n), true;
        if (type.size == 4) return f(std::integral_constant<std::size_t, 4>{}, extent, n), true;
        if (type.size == 2) return f(std::integral_constant<std::size_t, 2>{}, extent, n), true;
        return false;
    }
    // Four at a time, which are written at once.
    template <std::size_t Bytes>
    static void gather(const std::byte* __restrict from, std::ptrdiff_t extent, std::size_t n,
                       std::byte* __restrict message) noexcept {
        std::size_t i = 0;
        for (; i + 4 <= n; i += 4) {
            std::byte four[4 * Bytes];
            __builtin_memcpy(four, from, Bytes);
            __builtin_memcpy(four + Bytes, from + extent, Bytes);
            __builtin_memcpy(four + 2 * Bytes, from + 2 * extent, Bytes);
            __builtin_memcpy(four + 3 * Bytes, from + 3 * extent, Bytes);
            __builtin_memcpy(message + i * Bytes, four, sizeof four);
            from = i + 4 < n ? from + 4 * extent : from;
        }
        for (std::size_t k = i; k != n; ++k)
            __builtin_memcpy(message + k * Bytes, from + static_cast<std::ptrdiff_t>(k - i) * extent, Bytes);
    }
    template <std::size_t Bytes>
    static void scatter(const std::byte* __restrict message, std::ptrdiff_t extent, std::size_t n,
                        std::byte* __restrict to) noexcept {
        for (std::size_t i = 0; i != n; ++i)
            __builtin_memcpy(to + static_cast<std::ptrdiff_t>(i) * extent, message + i * Bytes, Bytes);
    }
    // Calls f(where in memory, where in the message, bytes).
    template <class F>
    void for_each_piece(std::size_t n, const F& f) const {
        const std::ptrdiff_t extent = extent_of(type);
        for (std::size_t i = 0; i != n; ++i) {
            const std::ptrdiff_t place = static_cast<std::ptrdiff_t>(i) * extent;
            std::size_t offset = i * form.stride;
            if (type.pieces.empty()) f(place, offset, type.size);
            for (const run_time_piece& p : type.pieces) {
                f(place + p.offset,
                  form.as_in_memory ? i * form.stride + static_cast<std::size_t>(p.offset - form.begin) : offset,
                  p.bytes);
                offset += p.bytes;
            }
        }
    }
};
// Pre: the elements have passed check_elements().
inline message_layout layout_of(const const_elements& x, const message_form& form) noexcept {
    return {x.type, form, static_cast<std::byte*>(const_cast<void*>(x.data)), x.count, {}, {}};
}
// Is the memory itself the message? Then elements have the same form, whatever op combines them.
inline bool is_dense(const const_elements& x) noexcept {
    return x.type.pack == nullptr && x.type.pieces.empty() && x.displacements.empty() &&
           (x.count <= 1 || x.type.extent == 0 || x.type.extent == static_cast<std::ptrdiff_t>(x.type.size));
}

// Is there nothing to be said of the elements but their size? Most are so, and need no other checks.
template <RunTimeData X>
BOUGH_ALWAYS_INLINE bool is_plain(const X& x) noexcept {
    const run_time_type& t = x.type;
    // One branch for all that is mostly 0.
    const std::size_t besides = t.pieces.size() | x.displacements.size() | reinterpret_cast<std::uintptr_t>(t.pack) |
                                reinterpret_cast<std::uintptr_t>(t.unpack) | t.unit | (t.alignment & (t.alignment - 1));
    return besides == 0 && (t.extent == 0 || t.extent == static_cast<std::ptrdiff_t>(t.size)) &&
           t.size - 1 < ~std::uint32_t{0} && x.data != nullptr;
}

// What is wrong with a type, if something is.
inline status check_type(const run_time_type& t) noexcept {
    if (unit_of(t) == 0) return invalid_argument("type: its size is 0");
    if (t.size % unit_of(t) != 0) return invalid_argument("type: its unit does not divide its size");
    if (unit_of(t) > ~std::uint32_t{0}) return size_overflow("type: its size, or its unit, is 4 GiB or more");
    if ((t.alignment & (t.alignment - 1)) != 0) return invalid_argument("type: its alignment is not a power of two");
    if ((t.pack == nullptr) != (t.unpack == nullptr))
        return invalid_argument("type: pack and unpack go together, and one of them is null");
    if (t.pieces.empty()) return {};
    if (t.pack != nullptr) return invalid_argument("type: has pieces, and functions that pack it");
    std::size_t bytes = 0;
    for (const run_time_piece& p : t.pieces) {
        if (p.bytes > t.size - bytes) return invalid_argument("type: its pieces have more bytes than its size");
        bytes += p.bytes;
    }
    return bytes == t.size ? status{} : invalid_argument("type: its pieces have fewer bytes than its size");
}

// What is wrong with elements. `written`: a result is left in them, so none may overlap the next.
inline status check_elements(const const_elements& x, bool written) noexcept {
    if (is_plain(x) && x.count < ~std::uint32_t{0} / 2) return {};
    if (const status bad = check_type(x.type)) return bad;
    // A null pointer may be a base to which pieces or a pack function add addresses, but not to which
    // plain elements do.
    if (x.count != 0 && x.data == nullptr && x.type.pieces.empty() && x.type.pack == nullptr && x.type.size != 0)
        return invalid_argument("data: null, but its count is not zero");
    const std::ptrdiff_t extent = extent_of(x.type);
    const std::size_t distance = extent < 0 ? 0 - static_cast<std::size_t>(extent) : static_cast<std::size_t>(extent);
    if (written && x.count > 1 && x.type.pieces.empty() && x.type.pack == nullptr && distance < x.type.size)
        return invalid_argument(
            "type: its extent is smaller than its size, so elements that are written would overlap");
    if (const std::size_t most = distance > x.type.size ? distance : x.type.size;
        most != 0 && x.count > ~std::size_t{0} / 2 / most)
        return size_overflow("data: more bytes than can be addressed");
    return {};
}

// Do elements of both types have the same bytes at the same places?
inline bool lie_alike(const run_time_type& a, const run_time_type& b) noexcept {
    if (a.size != b.size || extent_of(a) != extent_of(b) || a.pieces.size() != b.pieces.size()) return false;
    for (std::size_t i = 0; i != a.pieces.size(); ++i)
        if (a.pieces[i].offset != b.pieces[i].offset || a.pieces[i].bytes != b.pieces[i].bytes) return false;
    return true;
}

// What is wrong with an op on elements of this type.
inline status check_op(const run_time_op& op, const run_time_type& type) noexcept {
    if (op.function == nullptr) return invalid_argument("op: its function is null");
    if (op.as_in_memory && type.pack != nullptr)
        return invalid_argument("op: takes elements as in memory, but functions pack the type");
    return {};
}
inline status check_op(const any_op& op, const run_time_type& type) noexcept {
    if (!op || op.function == nullptr) return invalid_argument("op: its function is null");
    if (op.element_size != type.size) return invalid_argument("op: combines elements of another size than the data's");
    return {};
}

} // namespace detail

} // namespace bough

#endif
