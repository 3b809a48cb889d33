// SPDX-License-Identifier: BSL-1.0
// Numbers of 8 bits to floats and back, with AVX2 and F16C: by way of fp16, which holds each of them exactly.
//
//   e5m2   is the upper half of an fp16
//   e4m3   has an exponent of one bit less: its bits, one place further down, are an fp16 of 1/256 the value
//
// A float is first rounded to the fraction of the format, to nearest, ties to even: adding a large number
// whose last place is the wanted one rounds so, and subtracting it leaves the rounded value. Then it is an
// fp16 without loss, and the bits move back. Where a NaN would matter the answer is false, and the caller
// takes the plain code, so the bits are those of small_format.
#ifndef BOUGH_OP_DETAIL_SMALL_FLOAT_QUARTER_HPP
#define BOUGH_OP_DETAIL_SMALL_FLOAT_QUARTER_HPP

#include <bough/core/config.hpp>

#include <cstddef>
#include <cstdint>

#if BOUGH_HOSTED && defined(__x86_64__)
#define BOUGH_AVX2_INLINE __attribute__((target("avx2,f16c"), always_inline)) inline

namespace bough::inline BOUGH_ABI::detail {

// 64 numbers at a time. `Infinite`: e5m2; otherwise e4m3.
template <bool Infinite>
struct quarter {
    static constexpr std::size_t count = 64;
    typedef float floats __attribute__((vector_size(32)));
    typedef std::uint32_t words __attribute__((vector_size(32)));
    typedef short halves __attribute__((vector_size(16)));
    typedef unsigned short unsigned_halves __attribute__((vector_size(16)));
    typedef char bytes __attribute__((vector_size(16)));

    // False: there is a NaN of e4m3, which has no counterpart. (Those of e5m2 have.)
    BOUGH_AVX2_INLINE static bool load(const std::byte* from, float* to) noexcept {
        bytes nan{};
        for (std::size_t i = 0; i != count; i += 16) {
            const bytes x = get(from + i, nan);
            const floats low = lower(x) * unit, high = upper(x) * unit;
            __builtin_memcpy(to + i, &low, sizeof low);
            __builtin_memcpy(to + i + 8, &high, sizeof high);
        }
        return !any(nan);
    }
    // False: there is a NaN, and nothing has been written.
    BOUGH_AVX2_INLINE static bool store(const float* from, std::byte* to) noexcept {
        bytes made[count / 16];
        words nan{};
        for (std::size_t i = 0; i != count; i += 16) {
            floats low, high;
            __builtin_memcpy(&low, from + i, sizeof low);
            __builtin_memcpy(&high, from + i + 8, sizeof high);
            made[i / 16] = rounded(low * (1 / unit), high * (1 / unit), nan);
        }
        if (__builtin_ia32_movmskps256((floats)nan) != 0) return false;
        __builtin_memcpy(to, made, sizeof made);
        return true;
    }
    // out = the sums of both. The same.
    BOUGH_AVX2_INLINE static bool add(const std::byte* a, const std::byte* b, std::byte* out) noexcept {
        bytes made[count / 16], lost{};
        words nan{};
        for (std::size_t i = 0; i != count; i += 16) {
            const bytes x = get(a + i, lost), y = get(b + i, lost);
            made[i / 16] = rounded(lower(x) + lower(y), upper(x) + upper(y), nan);
        }
        if (__builtin_ia32_movmskps256((floats)nan) != 0 || any(lost)) return false;
        __builtin_memcpy(out, made, sizeof made);
        return true;
    }

private:
    // The value of the fp16 that says 1: a power of two, so nothing is lost by it.
    static constexpr float unit = Infinite ? 1 : 256;
    static constexpr int fraction_bits = Infinite ? 2 : 3;

    BOUGH_AVX2_INLINE static bytes get(const std::byte* from, bytes& nan) noexcept {
        bytes x;
        __builtin_memcpy(&x, from, sizeof x);
        if constexpr (!Infinite) nan |= (bytes)((x & 0x7f) == 0x7f);
        return x;
    }
    BOUGH_AVX2_INLINE static bool any(const bytes& found) noexcept {
        std::uint64_t parts[2];
        __builtin_memcpy(parts, &found, sizeof found);
        return (parts[0] | parts[1]) != 0;
    }
    // Eight of them, in units. Each byte becomes the upper one of 16 bits.
    BOUGH_AVX2_INLINE static floats lower(bytes x) noexcept {
        const bytes zero{};
        return widened(
            (halves)__builtin_shufflevector(zero, x, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
    }
    BOUGH_AVX2_INLINE static floats upper(bytes x) noexcept {
        const bytes zero{};
        return widened(
            (halves)__builtin_shufflevector(zero, x, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31));
    }
    BOUGH_AVX2_INLINE static floats widened(halves x) noexcept {
        if constexpr (!Infinite) x = (x >> 1) & (short)0xbfff; // the sign stays where it is
        return __builtin_ia32_vcvtph2ps256(x);
    }
    BOUGH_AVX2_INLINE static bytes rounded(floats low, floats high, words& nan) noexcept {
        const halves a = rounded(low, nan), b = rounded(high, nan);
        return (bytes)__builtin_ia32_packuswb128((halves)((unsigned_halves)a >> 8), (halves)((unsigned_halves)b >> 8));
    }
    // 16 bits whose upper byte is the rounded number. Adds to `nan` where there is one.
    BOUGH_AVX2_INLINE static halves rounded(floats x, words& nan) noexcept {
        constexpr float least = 0x1p-14f; // below it, the format is subnormal, and its last place stays the same
        constexpr float most = 0x1p16f;   // from here on, all is infinite
        constexpr float largest = 1.75f;  // of e4m3
        nan |= (words)(x != x);
        const words negative = (words)x & 0x8000'0000u;
        if constexpr (!Infinite)
            x = __builtin_ia32_minps256(__builtin_ia32_maxps256(x, -largest - floats{}), largest - floats{});
        floats power = (floats)((words)x & 0x7f80'0000u);
        power = __builtin_ia32_maxps256(power, least - floats{});
        if constexpr (Infinite) power = __builtin_ia32_minps256(power, most - floats{});
        // One and a half times a power of two, so that the sum stays between it and the next for either sign.
        const floats large = (floats)((words)power + ((23u - fraction_bits) << 23 | 0x0040'0000u));
        const floats kept = (floats)((words)((x + large) - large) | negative);
        const halves made = (halves)__builtin_ia32_vcvtps2ph256(kept, 0);
        if constexpr (Infinite)
            return made;
        else
            return (made & (short)0x8000) | ((made << 1) & (short)0x7f00);
    }
};

} // namespace bough::inline BOUGH_ABI::detail

#undef BOUGH_AVX2_INLINE
#endif

#endif
