// SPDX-License-Identifier: BSL-1.0
// explain_wire: says in a sentence what a type lacks to be an element of a message.
//
//   static_assert(bough::explain_wire<my_element>());       // true, or an error that says what to write
#ifndef BOUGH_OP_EXPLAIN_WIRE_HPP
#define BOUGH_OP_EXPLAIN_WIRE_HPP

#include <bough/op/wire.hpp>

#include <type_traits>

namespace bough::inline BOUGH_ABI {

// True, or a compile error that says what to write.
template <class T>
consteval bool explain_wire() {
    if constexpr (!WireType<T>) {
        static_assert(!std::is_reference_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T>,
                      "bough: an element is a plain object type: drop the const, the volatile or the reference");
        static_assert(!std::is_array_v<T>, "bough: the elements are arrays, as the rows of a matrix[4][3] are: give a "
                                           "span of what they hold, std::span(&matrix[0][0], 4 * 3)");
        static_assert(!detail::is_address_v<T>,
                      "bough: an element must not be a pointer, an address means nothing on another rank: send what it "
                      "points to");
        static_assert(
            std::is_trivially_copyable_v<T> || requires { wire<T>::size; },
            "bough: an element must be trivially copyable; for any other type specialise bough::wire<T> with "
            "size, encode and decode");
        static_assert(WireType<T>,
                      "bough: wire<T> needs `static constexpr std::size_t size` (above 0), `encode(const T&, "
                      "std::span<std::byte, size>)` and `decode(std::span<const std::byte, size>) -> T`");
    }
    return WireType<T>;
}

} // namespace bough

#endif
