// SPDX-License-Identifier: BSL-1.0
// float_bits: IEEE 754 addition, minimum and maximum by integers alone, for machines without
// floating point.
//
//   std::uint64_t sum = f64_bits::add(a, b);        // the bits of a + b, rounded to nearest even
//   static_assert(f32_bits::add(0x3f80'0000, 0x3f80'0000) == 0x4000'0000);             // 1 + 1 == 2
//   using x86 = float_bits<std::uint64_t, 11, first_nan>;                              // the NaN of another machine
//
// A number is its bit pattern in an unsigned word: sign, exponent, fraction. All formats are one
// template over the word and the number of exponent bits. Results are bit for bit those of IEEE
// 754-2019 hardware in its default mode: subnormals, signed zeros and infinities included. Which
// NaN comes out is the policy `Nan`, for that is where machines differ. This header includes macros
// only: it is good for BPF and for bare metal. No division, no loop that depends on data, no table,
// no call; add takes about 60 instructions on rv64imac. bough/op/soft_ops.hpp makes Ops of it.
// Source: the way by magnitude, three extra bits and one rounding is common knowledge; D. Goldberg,
// "What Every Computer Scientist Should Know About Floating-Point Arithmetic", ACM Computing
// Surveys 23(1), 1991, section 2.
#ifndef BOUGH_OP_SOFT_FLOAT_HPP
#define BOUGH_OP_SOFT_FLOAT_HPP

#include <bough/core/config.hpp>

namespace bough::inline BOUGH_ABI {

namespace detail {

using soft_u8 = __UINT8_TYPE__;
using soft_u16 = __UINT16_TYPE__;
using soft_u32 = __UINT32_TYPE__;
using soft_u64 = __UINT64_TYPE__;

// Where sums of significands are made: narrow words in 32 bits, which integer promotion leaves alone.
template <class Word>
struct soft_wide {
    using type = soft_u32;
};
template <>
struct soft_wide<soft_u64> {
    using type = soft_u64;
};

} // namespace detail

// A result that is NaN is always the same one: quiet, positive, payload zero. bough::plus and
// bough::min do that too, as do RISC-V and, when told to, Arm. All operations commute bit for bit.
struct canonical_nan {
    static constexpr bool commutes = true;
    // At least one of a and b is NaN.
    template <class F>
    static constexpr typename F::word choose(typename F::word, typename F::word) noexcept {
        return F::quiet_nan;
    }
    // Of an invalid operation: infinities of both signs.
    template <class F>
    static constexpr typename F::word invalid() noexcept {
        return F::quiet_nan;
    }
};

// The lower operand's NaN if it is one, else the upper one's, made quiet, payload and sign kept; an
// invalid operation gives the negative one. This is what SSE and AVX do in lower + upper. Two NaN
// do not commute.
struct first_nan {
    static constexpr bool commutes = false;
    template <class F>
    static constexpr typename F::word choose(typename F::word a, typename F::word b) noexcept {
        return static_cast<typename F::word>((F::is_nan(a) ? a : b) | F::quiet_bit);
    }
    template <class F>
    static constexpr typename F::word invalid() noexcept {
        return F::sign_bit | F::quiet_nan;
    }
};

template <class Word, unsigned ExponentBits, class Nan = canonical_nan>
struct float_bits {
    using word = Word;
    static constexpr unsigned bits = 8 * sizeof(Word);
    static constexpr unsigned exponent_bits = ExponentBits;
    static constexpr unsigned fraction_bits = bits - 1 - ExponentBits;
    static constexpr unsigned digits = fraction_bits + 1; // with the one that is implicit
    static constexpr bool commutes = Nan::commutes;       // bit for bit, NaN included
    static constexpr bool is_integer = false;

    static constexpr Word sign_bit = static_cast<Word>(Word(1) << (bits - 1));
    static constexpr Word magnitude_mask = static_cast<Word>(sign_bit - 1);
    static constexpr Word quiet_bit = static_cast<Word>(Word(1) << (fraction_bits - 1));
    static constexpr Word infinity = static_cast<Word>(sign_bit - 2 * quiet_bit);
    static constexpr Word quiet_nan = infinity | quiet_bit;

    // id with op(id, r) == op(r, id) == r for every r that op returns; of the *_number only if NaN
    // is canonical.
    static constexpr Word add_identity = sign_bit; // -0: it leaves +0 and -0 as they are
    static constexpr Word minimum_identity = infinity;
    static constexpr Word maximum_identity = sign_bit | infinity;
    static constexpr Word minimum_number_identity = quiet_nan;
    static constexpr Word maximum_number_identity = quiet_nan;

    // Zeros above the highest one, in 32 or 64 bits. Pre: x is not 0. Machines without an
    // instruction for it would call a library that a bare one does not have.
    template <class T>
    static constexpr unsigned leading_zeros(T x) noexcept {
        constexpr unsigned width = 8 * sizeof(T);
#if defined(__x86_64__) || defined(__aarch64__) || defined(__riscv_zbb)
        if constexpr (width == 64) return static_cast<unsigned>(__builtin_clzll(x));
        if constexpr (width == 32) return static_cast<unsigned>(__builtin_clz(x));
#endif
        if constexpr (width > 8 * sizeof(void*)) {
            const auto high = static_cast<detail::soft_u32>(x >> 32);
            return high != 0 ? leading_zeros(high) : 32 + leading_zeros(static_cast<detail::soft_u32>(x));
        }
        unsigned zeros = 0;
        for (unsigned step = width / 2; step != 0; step /= 2) {
            if ((x >> (width - step)) == 0) {
                x = static_cast<T>(x << step);
                zeros += step;
            }
        }
        return zeros;
    }

    static constexpr bool is_nan(Word x) noexcept { return (x & magnitude_mask) > infinity; }

    static constexpr Word add(Word a, Word b) noexcept {
        const Wide magnitude_a = a & magnitude_mask;
        const Wide magnitude_b = b & magnitude_mask;
        const bool swap = magnitude_a < magnitude_b;
        const Wide large = swap ? magnitude_b : magnitude_a;
        const Wide small = swap ? magnitude_a : magnitude_b;
        const Word sign = (swap ? b : a) & sign_bit;
        const bool opposite = ((a ^ b) & sign_bit) != 0;
        if (large >= infinity) {
            if (large > infinity) return Nan::template choose<float_bits>(a, b);
            if (small == infinity && opposite) return Nan::template invalid<float_bits>();
            return static_cast<Word>(sign | large);
        }
        // The exponent less one, and 0 for subnormals too: then magnitude - (exponent <<
        // fraction_bits) is the significand of either kind, and adding the same again assembles
        // one. Three bits below it: guard, round, and sticky, which is 1 if anything was lost
        // further down.
        unsigned exponent = lowered(large);
        const unsigned exponent_of_small = lowered(small);
        Wide sum = static_cast<Wide>((large - (Wide(exponent) << fraction_bits)) << 3);
        Wide addend = static_cast<Wide>((small - (Wide(exponent_of_small) << fraction_bits)) << 3);
        const unsigned distance = exponent - exponent_of_small;
        if (distance >= digits + 3) {
            addend = addend != 0 ? 1 : 0;
        } else {
            addend = shifted(addend, distance);
        }
        if (!opposite) {
            sum += addend;
            if (sum >> (digits + 3) != 0) {
                sum = sum >> 1 | (sum & 1);
                ++exponent;
            }
        } else {
            sum -= addend;
            if (sum == 0) return 0; // x - x is +0
            if (sum >> (digits + 2) == 0) {
                const unsigned zeros = leading_zeros(sum) - (wide_bits - digits - 3);
                // No further than the subnormals.
                const unsigned shift = zeros < exponent ? zeros : exponent;
                sum <<= shift;
                exponent -= shift;
            }
        }
        // A carry out of the fraction counts the exponent up, which is right; so is infinity where
        // there is no more.
        Wide result = (sum >> 3) + (Wide(exponent) << fraction_bits);
        result += (sum & 7) + (result & 1) > 4 ? 1u : 0u;
        return static_cast<Word>(sign | (result < infinity ? result : infinity));
    }

    // IEEE 754-2019 minimum and maximum: NaN wins, -0 < +0.
    static constexpr Word minimum(Word a, Word b) noexcept {
        if (is_nan(a) || is_nan(b)) return Nan::template choose<float_bits>(a, b);
        return ordered(b) < ordered(a) ? b : a;
    }
    static constexpr Word maximum(Word a, Word b) noexcept {
        if (is_nan(a) || is_nan(b)) return Nan::template choose<float_bits>(a, b);
        return ordered(a) < ordered(b) ? b : a;
    }
    // minimumNumber and maximumNumber: NaN loses against any number, also a signalling one.
    static constexpr Word minimum_number(Word a, Word b) noexcept {
        if (is_nan(a)) return is_nan(b) ? Nan::template choose<float_bits>(a, b) : b;
        return is_nan(b) || ordered(a) < ordered(b) ? a : b;
    }
    static constexpr Word maximum_number(Word a, Word b) noexcept {
        if (is_nan(a)) return is_nan(b) ? Nan::template choose<float_bits>(a, b) : b;
        return is_nan(b) || ordered(b) < ordered(a) ? a : b;
    }

private:
    using Wide = typename detail::soft_wide<Word>::type;
    static constexpr unsigned wide_bits = 8 * sizeof(Wide);
    static_assert(Word(-1) > Word(0), "bough: the word of a format must be an unsigned integer");
    static_assert(ExponentBits >= 2 && ExponentBits + 2 < bits, "bough: a format needs an exponent and a fraction");
    static_assert(digits + 4 <= wide_bits, "bough: no room for rounding: use more exponent bits");

    // By halves where words have 32 bits: shifts of two words that may cross them cost twice as much.
    static constexpr bool by_halves = sizeof(Wide) > sizeof(void*);

    // x / 2^distance, with the last bit set if anything was lost. Pre: distance < wide_bits.
    static constexpr Wide shifted(Wide x, unsigned distance) noexcept {
        if constexpr (by_halves) {
            using half = detail::soft_u32;
            half low = static_cast<half>(x), high = static_cast<half>(x >> 32), lost = 0;
            if (distance >= 32) lost = low, low = high, high = 0, distance -= 32;
            if (distance != 0) {
                lost |= low << (32 - distance);
                low = low >> distance | high << (32 - distance);
                high >>= distance;
            }
            return Wide(high) << 32 | low | (lost != 0 ? 1u : 0u);
        } else {
            const Wide kept = x >> distance;
            return kept | ((kept << distance) != x ? 1u : 0u);
        }
    }
    static constexpr unsigned lowered(Wide magnitude) noexcept {
        const unsigned exponent = static_cast<unsigned>(magnitude >> fraction_bits);
        return exponent - (exponent != 0 ? 1u : 0u);
    }
    // Ascending unsigned words for ascending numbers, -0 before +0.
    static constexpr Word ordered(Word x) noexcept {
        return static_cast<Word>((x & sign_bit) != 0 ? ~x : x | sign_bit);
    }
};

using f64_bits = float_bits<detail::soft_u64, 11>;  // double
using f32_bits = float_bits<detail::soft_u32, 8>;   // float
using f16_bits = float_bits<detail::soft_u16, 5>;   // binary16, "half"
using bf16_bits = float_bits<detail::soft_u16, 8>;  // bfloat16: the upper half of a float
using f8e5m2_bits = float_bits<detail::soft_u8, 5>; // the upper half of a half

} // namespace bough

#endif
