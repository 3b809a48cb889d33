// SPDX-License-Identifier: BSL-1.0
// limb_state: the exact sum of floating numbers as a vector of 64-bit integers that are added one by one.
//
//   auto sum = limb_state<f64_bits>::of(a);         // 68 words; a, b are the bits of doubles
//   sum += limb_state<f64_bits>::of(b);             // sum.word[i] += other.word[i], and nothing else
//   std::uint64_t bits = sum.rounded();             // the correctly rounded a + b
//
// Every NIC or switch that can add vectors of 64-bit integers can so add floating numbers, without
// rounding, in any order of arrival and over any tree, with the same bits everywhere: no carries,
// no floating point. The word i < amounts holds an integer, in two's complement, times 2^(32 i) of
// the smallest subnormal; one number gives each at most 32 bits and a sign. So 2^31 numbers or
// normalised states can be added, 2^42 numbers in all (formats of 8 bits: 2^31); of a sum of more
// than 2^31 `rounded` says NaN, up to 2^32, where the count wraps. What no amount can say is
// counted in the last two words: infinities of either sign (a NaN counts as one of each), all
// addends, and those that are not -0.
//   NaN, or infinities of both signs     the canonical NaN
//   infinities of one sign               that infinity, whatever the finite numbers are
//   exact zero                           -0 if nothing but -0 was added (or nothing at all), else +0
// Doubles take 68 words (544 bytes), floats and bfloat16 11 (88), halves 4 (32). bough::exact_sum
// carries at every step and travels in 280 and 56 bytes, but needs a NIC that can do that. F is a
// float_bits: include bough/op/soft_float.hpp too. This header includes macros only: it is good for
// BPF and for bare metal.
// Source: U. Kulisch's accumulator as wide as the format; words that overlap as in R. M. Neal,
// arXiv:1505.05571, 2015.
#ifndef BOUGH_OP_LIMB_STATE_HPP
#define BOUGH_OP_LIMB_STATE_HPP

#include <bough/core/config.hpp>

namespace bough::inline BOUGH_ABI {

namespace detail {

using soft_u32 = __UINT32_TYPE__;
using soft_u64 = __UINT64_TYPE__;
using soft_i64 = __INT64_TYPE__;

// What a sum has seen, besides finite amounts. Merged by or. A NaN is marked as infinities of both
// signs, which are NaN too.
inline constexpr soft_u64 seen_infinity = 1;
inline constexpr soft_u64 seen_minus_infinity = 2;
// So only a sum of nothing but -0 is -0, as in IEEE arithmetic.
inline constexpr soft_u64 seen_not_minus_zero = 4;

// magnitude * 2^position times the smallest subnormal.
struct amount {
    soft_u64 magnitude = 0;
    unsigned position = 0;
    bool negative = false;
    soft_u64 marks = 0;
};

template <class F>
constexpr amount amount_of(typename F::word x) noexcept {
    const soft_u64 fraction = x & (2 * soft_u64{F::quiet_bit} - 1);
    const unsigned exponent = static_cast<unsigned>((x & F::magnitude_mask) >> F::fraction_bits);
    const bool negative = (x & F::sign_bit) != 0;
    if ((x & F::infinity) == F::infinity) {
        const soft_u64 nan = seen_infinity | seen_minus_infinity;
        const soft_u64 which = fraction != 0 ? nan : negative ? seen_minus_infinity : seen_infinity;
        return {0, 0, negative, which | seen_not_minus_zero};
    }
    if (exponent == 0) {
        return {fraction, 0, negative, negative && fraction == 0 ? 0 : seen_not_minus_zero};
    }
    return {fraction | 2 * soft_u64{F::quiet_bit}, exponent - 1, negative, seen_not_minus_zero};
}

// The result where the finite amounts do not decide, as `marks` say; 0 where they do.
template <class F>
constexpr typename F::word special_sum(soft_u64 marks) noexcept {
    const bool positive = (marks & seen_infinity) != 0;
    const bool negative = (marks & seen_minus_infinity) != 0;
    if (positive && negative) return F::quiet_nan;
    if (positive) return F::infinity;
    if (negative) return F::sign_bit | F::infinity;
    return 0;
}

// The magnitude of the number nearest to the integer in digit[0 .. count), lowest first, times the
// smallest subnormal; of two equally near ones the even one. A digit is 32 or 64 bits, all used. It
// can be infinity.
template <class F, class Digit>
constexpr typename F::word nearest_magnitude(const Digit* digit, unsigned count) noexcept {
    constexpr unsigned digit_bits = 8 * sizeof(Digit);
    unsigned top = count;
    while (top != 0 && digit[top - 1] == 0) --top;
    if (top == 0) return 0;
    const unsigned width = digit_bits * top - F::leading_zeros(digit[top - 1]);
    const unsigned drop = width > F::digits ? width - F::digits : 0;
    // The leading digits; the implicit one among them counts the exponent up by one.
    const unsigned first = drop / digit_bits;
    const unsigned shift = drop % digit_bits;
    soft_u64 bits = digit[first] >> shift;
    unsigned filled = digit_bits - shift;
    for (unsigned i = first + 1; i < top && filled < F::digits; ++i) {
        bits |= soft_u64{digit[i]} << filled;
        filled += digit_bits;
    }
    bits &= (soft_u64{2} << F::fraction_bits) - 1;
    bits += soft_u64{drop} << F::fraction_bits;
    if (drop != 0) {
        const unsigned half = drop - 1; // the first dropped bit
        const Digit place = static_cast<Digit>(Digit(1) << (half % digit_bits));
        if ((digit[half / digit_bits] & place) != 0) {
            bool more = (bits & 1) != 0 || (digit[half / digit_bits] & (place - 1)) != 0;
            for (unsigned i = 0; i != half / digit_bits && !more; ++i) more = digit[i] != 0;
            if (more) ++bits; // may carry into the exponent, which is right
        }
    }
    return static_cast<typename F::word>(bits < F::infinity ? bits : soft_u64{F::infinity});
}

} // namespace detail

// Value-initialised: the sum of nothing.
template <class F>
struct limb_state {
    using format = F;
    // Words up to the highest bit of the largest finite number.
    static constexpr unsigned amounts = ((1u << F::exponent_bits) + F::digits - 4) / 32 + 1;
    static constexpr unsigned size = amounts + 2;
    static constexpr detail::soft_u64 capacity = detail::soft_u64{1} << 31; // numbers and normalised states

    detail::soft_u64 word[size]{};

    static constexpr limb_state of(typename F::word x) noexcept {
        limb_state s;
        s.add(x);
        return s;
    }

    constexpr limb_state& operator+=(const limb_state& other) noexcept {
        for (unsigned i = 0; i != size; ++i) word[i] += other.word[i];
        return *this;
    }
    // *this += of(x), without the zeros.
    constexpr void add(typename F::word x) noexcept {
        const detail::amount a = detail::amount_of<F>(x);
        const unsigned at = a.position / 32, shift = a.position % 32;
        const detail::soft_u64 flip = a.negative ? ~detail::soft_u64{0} : 0; // (v ^ flip) - flip is v or -v
        const detail::soft_u64 low = a.magnitude << shift, high = (a.magnitude >> 1) >> (63 - shift);
        word[at] += ((low & 0xffff'ffffu) ^ flip) - flip;
        if constexpr (amounts > 1) {
            if (at + 1 < amounts) word[at + 1] += ((low >> 32) ^ flip) - flip;
        }
        if constexpr (amounts > 2) {
            if (at + 2 < amounts) word[at + 2] += (high ^ flip) - flip;
        }
        count(a.marks);
    }

    // How many numbers and normalised states were added.
    constexpr detail::soft_u64 addends() const noexcept { return word[amounts + 1] >> 32; }

    // Carries: the same sum, as if it were of one number. Pre: addends() <= capacity.
    constexpr void normalise() noexcept {
        const detail::soft_u64 seen = marks();
        const bool any = addends() != 0;
        for (unsigned i = 0; i + 1 < amounts; ++i) {
            // Rounds down.
            word[i + 1] += static_cast<detail::soft_u64>(static_cast<detail::soft_i64>(word[i]) >> 32);
            word[i] &= 0xffff'ffffu;
        }
        word[amounts] = word[amounts + 1] = 0;
        if (any) count(seen);
    }

    // The correctly rounded sum: to nearest even, gradual underflow included; infinity if it is too
    // large for F.
    constexpr typename F::word rounded() const noexcept {
        if (addends() > capacity) return F::quiet_nan;
        if (const typename F::word special = detail::special_sum<F>(marks())) return special;
        limb_state s = *this;
        s.normalise();
        const bool negative = s.word[amounts - 1] >> 63 != 0;
        if (negative) {
            for (unsigned i = 0; i != amounts; ++i) s.word[i] = 0 - s.word[i];
            s.normalise();
        }
        detail::soft_u32 digit[amounts + 1]{};
        for (unsigned i = 0; i != amounts; ++i) digit[i] = static_cast<detail::soft_u32>(s.word[i]);
        digit[amounts] = static_cast<detail::soft_u32>(s.word[amounts - 1] >> 32);
        const auto magnitude = detail::nearest_magnitude<F>(digit, amounts + 1);
        const bool minus_zero = magnitude == 0 && (marks() & detail::seen_not_minus_zero) == 0;
        return static_cast<typename F::word>(magnitude | (negative || minus_zero ? F::sign_bit : 0));
    }

    // detail::seen_...
    constexpr detail::soft_u64 marks() const noexcept {
        detail::soft_u64 seen = 0;
        if ((word[amounts] & 0xffff'ffffu) != 0) seen |= detail::seen_infinity;
        if (word[amounts] >> 32 != 0) seen |= detail::seen_minus_infinity;
        if ((word[amounts + 1] & 0xffff'ffffu) != 0) seen |= detail::seen_not_minus_zero;
        return seen;
    }

    friend constexpr bool operator==(const limb_state&, const limb_state&) = default;

private:
    // One addend with these marks.
    constexpr void count(detail::soft_u64 marks) noexcept {
        if ((marks & detail::seen_infinity) != 0) word[amounts] += 1;
        if ((marks & detail::seen_minus_infinity) != 0) word[amounts] += detail::soft_u64{1} << 32;
        word[amounts + 1] += (detail::soft_u64{1} << 32) + ((marks & detail::seen_not_minus_zero) != 0 ? 1u : 0u);
    }
};

} // namespace bough

#endif
