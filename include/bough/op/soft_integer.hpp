// SPDX-License-Identifier: BSL-1.0
// integer_bits: the counterpart of float_bits for integers: add, minimum and maximum on unsigned
// words.
//
//   std::uint64_t least = i64_bits::minimum(a, b);       // words hold two's complement
//
// So one program text on a NIC, whose slots are words, serves every format: Format::add(lower,
// upper). Sums wrap modulo 2^n. The *_number variants are the same as those without, as in
// bough::min_number. This header includes macros only.
#ifndef BOUGH_OP_SOFT_INTEGER_HPP
#define BOUGH_OP_SOFT_INTEGER_HPP

#include <bough/core/config.hpp>

namespace bough::inline BOUGH_ABI {

template <class Word, bool Signed>
struct integer_bits {
    using word = Word;
    static_assert(Word(-1) > Word(0), "bough: the word of a format must be an unsigned integer");
    static constexpr bool commutes = true;
    static constexpr bool is_integer = true;
    // Flips two's complement into ascending unsigned words.
    static constexpr Word sign_bit = static_cast<Word>(Signed ? Word(1) << (8 * sizeof(Word) - 1) : Word(0));

    static constexpr Word add_identity = 0;
    static constexpr Word minimum_identity = static_cast<Word>(~sign_bit);
    static constexpr Word maximum_identity = sign_bit;
    static constexpr Word minimum_number_identity = minimum_identity;
    static constexpr Word maximum_number_identity = maximum_identity;

    static constexpr Word add(Word a, Word b) noexcept { return static_cast<Word>(a + b); }
    static constexpr Word minimum(Word a, Word b) noexcept { return (b ^ sign_bit) < (a ^ sign_bit) ? b : a; }
    static constexpr Word maximum(Word a, Word b) noexcept { return (a ^ sign_bit) < (b ^ sign_bit) ? b : a; }
    static constexpr Word minimum_number(Word a, Word b) noexcept { return minimum(a, b); }
    static constexpr Word maximum_number(Word a, Word b) noexcept { return maximum(a, b); }
};

// Signed integers; those without a sign are below.
using i8_bits = integer_bits<__UINT8_TYPE__, true>;
using i16_bits = integer_bits<__UINT16_TYPE__, true>;
using i32_bits = integer_bits<__UINT32_TYPE__, true>;
using i64_bits = integer_bits<__UINT64_TYPE__, true>;
using u8_bits = integer_bits<__UINT8_TYPE__, false>;
using u16_bits = integer_bits<__UINT16_TYPE__, false>;
using u32_bits = integer_bits<__UINT32_TYPE__, false>;
using u64_bits = integer_bits<__UINT64_TYPE__, false>;

} // namespace bough

#endif
