// SPDX-License-Identifier: BSL-1.0
// Sums of many spans of 16-bit numbers, rounded once: each element is read, added up in a register, from the
// first operand to the last, scaled, and written. Like the loops of small_float_lanes.hpp in forms for
// several processors, with the same bits from each.
//
// There is no product before the sums, so no compiler can make a fused multiply-add of them, which would
// round otherwise.
#ifndef BOUGH_OP_DETAIL_SMALL_FLOAT_MANY_HPP
#define BOUGH_OP_DETAIL_SMALL_FLOAT_MANY_HPP

#include <bough/core/config.hpp>
#include <bough/op/detail/small_float_lanes.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#if BOUGH_HOSTED && defined(__x86_64__)
#define BOUGH_HAS_X86_VECTORS 1
#define BOUGH_AVX2 __attribute__((target("avx2,f16c")))
#define BOUGH_AVX2_INLINE __attribute__((target("avx2,f16c"), always_inline)) inline
#define BOUGH_AVX512 __attribute__((target("avx2,f16c,avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define BOUGH_HAS_X86_VECTORS 0
#endif

namespace bough::inline BOUGH_ABI::detail {

template <class Format>
inline constexpr bool is_brain = std::is_same_v<Format, small_format<16, 8, true>>;

// One element after the other: for the rest of a span, and where a sum is a NaN, which is made canonical.
template <class Format, class O>
void sum_one_by_one(const std::byte* const* operands, std::size_t size, std::size_t first, std::size_t count,
                    std::byte* out, float scale) noexcept {
    for (std::size_t i = first; i != first + count; ++i) {
        const auto value = [&](std::size_t k) {
            return std::bit_cast<float>(Format::decode(reinterpret_cast<const any_word<Format>*>(operands[k])[i]));
        };
        float sum = value(0);
        for (std::size_t k = 1; k != size; ++k) sum = O{}(sum, value(k));
        const std::uint32_t bits = Format::encode(std::bit_cast<std::uint32_t>(sum * scale));
        reinterpret_cast<any_word<Format>*>(out)[i] = static_cast<typename Format::word>(bits);
    }
}

// A step: lane_step elements that begin at this byte. False: a result is a NaN, and nothing has been written.
// Macros, because a function without the attribute `target` is compiled before it is inlined.
//
// Sums of bf16: as BOUGH_BF16_PLUS in small_float_lanes.hpp.
#define BOUGH_BF16_SUM(SIZE)                                                                                           \
    typedef std::uint32_t words __attribute__((vector_size(SIZE)));                                                    \
    typedef float floats __attribute__((vector_size(SIZE)));                                                           \
    constexpr std::size_t parts = 2 * lane_step / SIZE;                                                                \
    floats shifted[parts], kept[parts];                                                                                \
    BOUGH_UNROLL_PARTS                                                                                                 \
    for (std::size_t i = 0; i != parts; ++i) {                                                                         \
        words x;                                                                                                       \
        __builtin_memcpy(&x, operands[0] + at + SIZE * i, SIZE);                                                       \
        shifted[i] = (floats)(x << 16);                                                                                \
        kept[i] = (floats)(x & 0xffff'0000u);                                                                          \
    }                                                                                                                  \
    for (std::size_t k = 1; k != size; ++k) {                                                                          \
        BOUGH_UNROLL_PARTS                                                                                             \
        for (std::size_t i = 0; i != parts; ++i) {                                                                     \
            words x;                                                                                                   \
            __builtin_memcpy(&x, operands[k] + at + SIZE * i, SIZE);                                                   \
            shifted[i] += (floats)(x << 16);                                                                           \
            kept[i] += (floats)(x & 0xffff'0000u);                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    words made[parts], nan{};                                                                                          \
    BOUGH_UNROLL_PARTS                                                                                                 \
    for (std::size_t i = 0; i != parts; ++i) {                                                                         \
        const floats low = shifted[i] * scale, high = kept[i] * scale;                                                 \
        const words x = (words)low, y = (words)high;                                                                   \
        nan |= (words)(low != low) | (words)(high != high);                                                            \
        made[i] = ((x + 0x7fffu + ((x >> 16) & 1u)) >> 16) | ((y + 0x7fffu + ((y >> 16) & 1u)) & 0xffff'0000u);        \
    }                                                                                                                  \
    std::uint64_t any[SIZE / 8], found = 0;                                                                            \
    __builtin_memcpy(any, &nan, SIZE);                                                                                 \
    for (const std::uint64_t part : any) found |= part;                                                                \
    if (found != 0) return false;                                                                                      \
    __builtin_memcpy(out + at, made, sizeof made);                                                                     \
    return true;
#define BOUGH_UNROLL_PARTS _Pragma("GCC unroll 8")

struct brain_sum {
    BOUGH_ALWAYS_INLINE static bool step(const std::byte* const* operands, std::size_t size, std::size_t at,
                                         std::byte* out, float scale) noexcept {
        BOUGH_BF16_SUM(16)
    }
};
#if BOUGH_HAS_X86_VECTORS
struct brain_sum_avx2 {
    BOUGH_AVX2_INLINE static bool step(const std::byte* const* operands, std::size_t size, std::size_t at,
                                       std::byte* out, float scale) noexcept {
        BOUGH_BF16_SUM(32)
    }
};
struct half_sum_f16c {
    BOUGH_AVX2_INLINE static f16c::floats load(const std::byte* from) noexcept {
        f16c::halves x;
        __builtin_memcpy(&x, from, sizeof x);
        return __builtin_ia32_vcvtph2ps256(x);
    }
    BOUGH_AVX2_INLINE static bool step(const std::byte* const* operands, std::size_t size, std::size_t at,
                                       std::byte* out, float scale) noexcept {
        constexpr std::size_t parts = lane_step / 8;
        f16c::floats sums[parts], nan{};
        BOUGH_UNROLL_PARTS
        for (std::size_t i = 0; i != parts; ++i) sums[i] = load(operands[0] + at + 16 * i);
        for (std::size_t k = 1; k != size; ++k) {
            BOUGH_UNROLL_PARTS
            for (std::size_t i = 0; i != parts; ++i) sums[i] += load(operands[k] + at + 16 * i);
        }
        f16c::halves made[parts];
        BOUGH_UNROLL_PARTS
        for (std::size_t i = 0; i != parts; ++i) {
            const f16c::floats x = sums[i] * scale;
            nan = (f16c::floats)((f16c::words)nan | (f16c::words)(x != x));
            made[i] = (f16c::halves)__builtin_ia32_vcvtps2ph256(x, 0); // to nearest, ties to even
        }
        if (__builtin_ia32_movmskps256(nan) != 0) return false;
        __builtin_memcpy(out + at, made, sizeof made);
        return true;
    }
};
#endif
#undef BOUGH_BF16_SUM
#undef BOUGH_UNROLL_PARTS

#define BOUGH_SUM_LOOP(...)                                                                                            \
    using kernel = __VA_ARGS__;                                                                                        \
    constexpr std::size_t bytes = lane_step * sizeof(typename Format::word);                                           \
    std::size_t done = 0;                                                                                              \
    for (; count - done >= lane_step; done += lane_step)                                                               \
        if (!kernel::step(operands, size, done / lane_step * bytes, out, scale))                                       \
            sum_one_by_one<Format, O>(operands, size, done, lane_step, out, scale);                                    \
    sum_one_by_one<Format, O>(operands, size, done, count - done, out, scale);

using lane_summer = void(const std::byte* const* operands, std::size_t size, std::byte* out, std::size_t count,
                         float scale) noexcept;

// O: plus; a parameter, because it is not complete here.
template <class Format, class O>
struct lane_sums {
    // For bf16.
    static void portable(const std::byte* const* operands, std::size_t size, std::byte* out, std::size_t count,
                         float scale) noexcept {
        BOUGH_SUM_LOOP(brain_sum)
    }
#if BOUGH_HAS_X86_VECTORS
    using form = std::conditional_t<is_brain<Format>, brain_sum_avx2, half_sum_f16c>;
    BOUGH_AVX2 static void avx2(const std::byte* const* operands, std::size_t size, std::byte* out, std::size_t count,
                                float scale) noexcept {BOUGH_SUM_LOOP(form)} BOUGH_AVX512
        static void avx512(const std::byte* const* operands, std::size_t size, std::byte* out, std::size_t count,
                           float scale) noexcept {
        BOUGH_SUM_LOOP(form)
    }
#endif
};
#undef BOUGH_SUM_LOOP

// out[i] = the sum of operands[k][i] over k, in the order of k, times `scale`, rounded. Elements lie at any
// address; `out` may be any operand. Pre: size >= 1. Null: there is none for this unit, which has no
// instruction for fp16; conversions of whole spans are faster there.
template <class Format, class O>
requires(is_brain<Format> || is_half<Format>) lane_summer* summer_for([[maybe_unused]] vector_unit unit) noexcept {
#if BOUGH_HAS_X86_VECTORS
    if (unit == vector_unit::avx512) return &lane_sums<Format, O>::avx512;
    if (unit == vector_unit::avx2) return &lane_sums<Format, O>::avx2;
#endif
    if constexpr (is_brain<Format>)
        return &lane_sums<Format, O>::portable;
    else
        return nullptr;
}

} // namespace bough::detail

#if BOUGH_HAS_X86_VECTORS
#undef BOUGH_AVX2
#undef BOUGH_AVX2_INLINE
#undef BOUGH_AVX512
#endif
#undef BOUGH_HAS_X86_VECTORS

#endif
