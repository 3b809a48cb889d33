// SPDX-License-Identifier: BSL-1.0
// Wire: the form in which an element travels, a fixed number of bytes.
//
// A trivially copyable T travels as its own bytes, in the byte order of the machine: all ranks must
// share it. Padding travels as it happens to be, so equal values may leave as different bytes.
// Nothing in bough looks at padding, but if you hash or compare messages, give such a type a form
// of its own. Any other type, or a tighter form, is a specialisation:
//
//   template <> struct bough::wire<my::price> {
//       static constexpr std::size_t size = 8;
//       static constexpr void encode(const my::price& value, std::span<std::byte, size> out) noexcept;
//       static constexpr my::price decode(std::span<const std::byte, size> in) noexcept;
//   };
//
// Law: decode(encode(x)) is x, and equal values encode to equal bytes. Pointers are refused: an
// address means nothing on another rank.
#ifndef BOUGH_OP_WIRE_HPP
#define BOUGH_OP_WIRE_HPP

#include <bough/core/config.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

// Nothing travels unless a specialisation says how.
template <class T>
struct wire {};

namespace detail {
template <class T>
inline constexpr bool is_address_v = std::is_pointer_v<T> || std::is_member_pointer_v<T> || std::is_null_pointer_v<T>;
} // namespace detail

template <class T>
requires(std::is_object_v<T> && !std::is_array_v<T> && std::is_trivially_copyable_v<T> && !std::is_const_v<T> &&
         !std::is_volatile_v<T> && !detail::is_address_v<T>) struct wire<T> {
    static constexpr std::size_t size = sizeof(T);
    static constexpr bool as_bytes = true; // memory and message are the same bytes

    static constexpr void encode(const T& value, std::span<std::byte, size> out) noexcept {
        if (std::is_constant_evaluated()) {
            const auto bytes = std::bit_cast<std::array<std::byte, size>>(value);
            for (std::size_t i = 0; i != size; ++i) out[i] = bytes[i];
        } else {
            __builtin_memcpy(out.data(), &value, size);
        }
    }
    static constexpr T decode(std::span<const std::byte, size> in) noexcept {
        std::array<std::byte, size> bytes{};
        for (std::size_t i = 0; i != size; ++i) bytes[i] = in[i];
        return std::bit_cast<T>(bytes);
    }
};

// T has a wire form; see above.
template <class T>
concept WireType = requires(const T& value, std::span<std::byte, wire<T>::size> out,
                            std::span<const std::byte, wire<T>::size> in) {
    requires wire<T>::size >
    0;
    wire<T>::encode(value, out);
    { wire<T>::decode(in) } -> std::convertible_to<T>;
};

// Bytes per element of a message.
template <WireType T>
inline constexpr std::size_t wire_size_v = wire<T>::size;

// Can the memory of T be sent as it lies?
template <class T>
inline constexpr bool travels_as_bytes_v = requires {
    requires wire<T>::as_bytes;
};

} // namespace bough

#endif
