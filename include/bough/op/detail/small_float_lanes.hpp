// SPDX-License-Identifier: BSL-1.0
// The formats of small_float, and its loops over spans, which the compiler turns into vector code: once
// for what it compiles for anyway, once for AVX2 with F16C, once for AVX-512. Which of them runs is
// chosen at run time.
//
// There is one source of the arithmetic, on numbers of 32 bits without branches, so the bits are the
// same for every processor. F16C's conversions are used for fp16; they do the same by definition.
#ifndef BOUGH_OP_DETAIL_SMALL_FLOAT_LANES_HPP
#define BOUGH_OP_DETAIL_SMALL_FLOAT_LANES_HPP

#include <bough/core/config.hpp>
#include <bough/op/detail/small_float_quarter.hpp>

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
// Element i of what is written depends on element i of what is read, even where they are the same memory.
// (Sanitizers and counters of coverage leave no room for vectors; clang would warn of each loop.)
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#define BOUGH_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define BOUGH_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace bough::inline BOUGH_ABI {
struct plus;
}

namespace bough::inline BOUGH_ABI::detail {

// `Bits` bits in all. encode() and decode() convert between the bits of a float and a right-aligned word.
template <unsigned Bits, unsigned ExponentBits, bool Infinite>
struct small_format {
    using word = std::conditional_t<Bits == 16, std::uint16_t, std::uint8_t>;
    static constexpr unsigned fraction_bits = Bits - 1 - ExponentBits;
    static constexpr unsigned bias = (1u << (ExponentBits - 1)) - 1;

    static constexpr word sign = static_cast<word>(1u << (Bits - 1));
    static constexpr word magnitude = static_cast<word>(sign - 1u);
    static constexpr word infinity = static_cast<word>(((1u << ExponentBits) - 1) << fraction_bits);
    static constexpr word largest = static_cast<word>((Infinite ? infinity : magnitude) - 1u);
    static constexpr word quiet_nan = Infinite ? static_cast<word>(infinity | 1u << (fraction_bits - 1)) : magnitude;

    BOUGH_ALWAYS_INLINE static constexpr std::uint32_t encode(std::uint32_t x) noexcept {
        const std::uint32_t a = x & 0x7fff'ffffu;
        // Adding just below half of what is dropped rounds up what is above half, and ties to even.
        std::uint32_t code = (a - rebias + ((a >> dropped) & 1u) + ((1u << (dropped - 1)) - 1u)) >> dropped;
        if constexpr (ExponentBits != 8) {
            // The unit in the last place of the magic number is the smallest subnormal.
            const float sum = std::bit_cast<float>(a) + std::bit_cast<float>(magic);
            code = a < smallest_normal ? std::bit_cast<std::uint32_t>(sum) - magic : code;
        }
        constexpr std::uint32_t most = Infinite ? infinity : largest;
        code = code > most ? most : code;
        std::uint32_t nan = quiet_nan;
        if constexpr (Infinite) nan |= (a >> dropped) & std::uint32_t(magnitude - infinity);
        code = a > 0x7f80'0000u ? nan : code;
        return code | ((x & 0x8000'0000u) >> (32 - Bits));
    }
    BOUGH_ALWAYS_INLINE static constexpr std::uint32_t decode(std::uint32_t x) noexcept {
        if constexpr (ExponentBits == 8) {
            return x << 16;
        } else {
            const std::uint32_t a = x & magnitude;
            const std::uint32_t shifted = a << dropped;
            std::uint32_t made = shifted + rebias;
            const float small = std::bit_cast<float>(made + (1u << 23)) - std::bit_cast<float>(smallest_normal);
            made = shifted < (1u << 23) ? std::bit_cast<std::uint32_t>(small) : made;
            if constexpr (Infinite) {
                made = a >= infinity ? shifted | 0x7f80'0000u : made;
                made = a > infinity ? made | 0x0040'0000u : made;
            } else {
                made = a == magnitude ? 0x7fc0'0000u : made;
            }
            return made | (x & sign) << (32 - Bits);
        }
    }

private:
    static constexpr unsigned dropped = 23 - fraction_bits;
    static constexpr std::uint32_t rebias = (127u - bias) << 23;
    static constexpr std::uint32_t smallest_normal = ExponentBits == 8 ? 0 : (128u - bias) << 23;
    static constexpr std::uint32_t magic = ExponentBits == 8 ? 0 : (128u - bias + dropped) << 23;
};

template <class Format>
inline constexpr bool has_infinity = Format::quiet_nan != Format::magnitude;
template <class Format>
inline constexpr bool is_quarter = sizeof(typename Format::word) == 1;
template <class Format>
inline constexpr bool is_half = std::is_same_v<Format, small_format<16, 5, true>>;

// Elements at any address.
template <class Element>
struct at_any_address {
    typedef Element type __attribute__((aligned(1), may_alias));
};
using any_float = at_any_address<float>::type;
template <class Format>
using any_word = typename at_any_address<typename Format::word>::type;

// A step is so many elements: enough for the widest vectors, and a number that the compiler knows.
inline constexpr std::size_t lane_step = 64;

template <class Format, class O>
struct plain_combine {
    BOUGH_ALWAYS_INLINE static void step(const std::byte* lower, const std::byte* upper, std::byte* out) noexcept {
        const auto* a = reinterpret_cast<const any_word<Format>*>(lower);
        const auto* b = reinterpret_cast<const any_word<Format>*>(upper);
        auto* to = reinterpret_cast<any_word<Format>*>(out);
        BOUGH_INDEPENDENT
        for (std::size_t i = 0; i != lane_step; ++i) {
            const float r = O{}(std::bit_cast<float>(Format::decode(a[i])), std::bit_cast<float>(Format::decode(b[i])));
            to[i] = static_cast<typename Format::word>(Format::encode(std::bit_cast<std::uint32_t>(r)));
        }
    }
};
template <class Format>
struct plain_conversion {
    BOUGH_ALWAYS_INLINE static void encode(const std::byte* from, std::byte* to, float scale) noexcept {
        const auto* x = reinterpret_cast<const any_float*>(from);
        auto* made = reinterpret_cast<any_word<Format>*>(to);
        BOUGH_INDEPENDENT
        for (std::size_t i = 0; i != lane_step; ++i)
            made[i] = static_cast<typename Format::word>(Format::encode(std::bit_cast<std::uint32_t>(x[i] * scale)));
    }
    BOUGH_ALWAYS_INLINE static void decode(const std::byte* from, std::byte* to, float scale) noexcept {
        const auto* x = reinterpret_cast<const any_word<Format>*>(from);
        auto* made = reinterpret_cast<any_float*>(to);
        BOUGH_INDEPENDENT
        for (std::size_t i = 0; i != lane_step; ++i) made[i] = std::bit_cast<float>(Format::decode(x[i])) * scale;
    }
};

#if BOUGH_HAS_X86_VECTORS
struct f16c {
    typedef float floats __attribute__((vector_size(32)));
    typedef std::uint32_t words __attribute__((vector_size(32)));
    typedef short halves __attribute__((vector_size(16)));

    BOUGH_AVX2_INLINE static void load(const std::byte* from, float* to) noexcept {
        for (std::size_t i = 0; i != lane_step; i += 8) {
            halves x;
            __builtin_memcpy(&x, from + 2 * i, sizeof x);
            const floats made = __builtin_ia32_vcvtph2ps256(x);
            __builtin_memcpy(to + i, &made, sizeof made);
        }
    }
    BOUGH_AVX2_INLINE static void store(const float* from, std::byte* to) noexcept {
        for (std::size_t i = 0; i != lane_step; i += 8) {
            floats x;
            __builtin_memcpy(&x, from + i, sizeof x);
            const halves made = (halves)__builtin_ia32_vcvtps2ph256(x, 0); // to nearest, ties to even
            __builtin_memcpy(to + 2 * i, &made, sizeof made);
        }
    }
    BOUGH_AVX2_INLINE static void encode(const std::byte* from, std::byte* to, float scale) noexcept {
        alignas(64) float x[lane_step];
        __builtin_memcpy(x, from, sizeof x);
        for (std::size_t i = 0; i != lane_step; ++i) x[i] *= scale;
        store(x, to);
    }
    BOUGH_AVX2_INLINE static void decode(const std::byte* from, std::byte* to, float scale) noexcept {
        alignas(64) float x[lane_step];
        load(from, x);
        for (std::size_t i = 0; i != lane_step; ++i) x[i] *= scale;
        __builtin_memcpy(to, x, sizeof x);
    }
};
template <class O>
struct f16c_combine {
    BOUGH_AVX2_INLINE static void step(const std::byte* lower, const std::byte* upper, std::byte* out) noexcept {
        alignas(64) float a[lane_step], b[lane_step];
        f16c::load(lower, a);
        f16c::load(upper, b);
        for (std::size_t i = 0; i != lane_step; ++i) a[i] = O{}(a[i], b[i]);
        f16c::store(a, out);
    }
};

// Sums of fp16. If a sum is a NaN, the plain code makes it canonical.
template <class Format>
struct f16c_plus {
    BOUGH_AVX2_INLINE static void step(const std::byte* lower, const std::byte* upper, std::byte* out) noexcept {
        f16c::halves sums[lane_step / 8];
        f16c::floats nan{};
        for (std::size_t i = 0; i != lane_step / 8; ++i) {
            f16c::halves a, b;
            __builtin_memcpy(&a, lower + 16 * i, sizeof a);
            __builtin_memcpy(&b, upper + 16 * i, sizeof b);
            const f16c::floats x = __builtin_ia32_vcvtph2ps256(a) + __builtin_ia32_vcvtph2ps256(b);
            nan = (f16c::floats)((f16c::words)nan | (f16c::words)(x != x));
            sums[i] = (f16c::halves)__builtin_ia32_vcvtps2ph256(x, 0);
        }
        if (__builtin_ia32_movmskps256(nan) != 0) return f16c_combine<plus>::step(lower, upper, out);
        __builtin_memcpy(out, sums, sizeof sums);
    }
};

// Of 8 bits, by way of fp16. Where there is a NaN, the plain code.
template <class Format, class O>
struct quarter_combine {
    BOUGH_AVX2_INLINE static void step(const std::byte* lower, const std::byte* upper, std::byte* out) noexcept {
        using form = quarter<has_infinity<Format>>;
        if constexpr (std::is_same_v<O, plus>) {
            if (form::add(lower, upper, out)) return;
        } else {
            alignas(64) float a[lane_step], b[lane_step];
            if (form::load(lower, a) && form::load(upper, b)) {
                for (std::size_t i = 0; i != lane_step; ++i) a[i] = O{}(a[i], b[i]);
                if (form::store(a, out)) return;
            }
        }
        plain_combine<Format, O>::step(lower, upper, out);
    }
};
template <class Format>
struct quarter_conversion {
    BOUGH_AVX2_INLINE static void encode(const std::byte* from, std::byte* to, float scale) noexcept {
        alignas(64) float x[lane_step];
        __builtin_memcpy(x, from, sizeof x);
        for (std::size_t i = 0; i != lane_step; ++i) x[i] *= scale;
        if (!quarter<has_infinity<Format>>::store(x, to)) plain_conversion<Format>::encode(from, to, scale);
    }
    BOUGH_AVX2_INLINE static void decode(const std::byte* from, std::byte* to, float scale) noexcept {
        alignas(64) float x[lane_step];
        if (!quarter<has_infinity<Format>>::load(from, x)) return plain_conversion<Format>::decode(from, to, scale);
        for (std::size_t i = 0; i != lane_step; ++i) x[i] *= scale;
        __builtin_memcpy(to, x, sizeof x);
    }
};
#endif

// Sums of bf16, two in each word of 32 bits: one has its float there but for garbage below, the other gets
// there by a shift. The vectors are those of the language extension. If a sum is a NaN, the plain code
// makes it canonical. A macro, because a function without the attribute `target` is compiled before it is
// inlined, and then without wide vectors.
#define BOUGH_BF16_PLUS(SIZE)                                                                                          \
    typedef std::uint32_t words __attribute__((vector_size(SIZE)));                                                    \
    typedef float floats __attribute__((vector_size(SIZE)));                                                           \
    words sums[2 * lane_step / SIZE], nan{};                                                                           \
    for (std::size_t i = 0; i != 2 * lane_step / SIZE; ++i) {                                                          \
        words a, b;                                                                                                    \
        __builtin_memcpy(&a, lower + SIZE * i, SIZE);                                                                  \
        __builtin_memcpy(&b, upper + SIZE * i, SIZE);                                                                  \
        const floats shifted = (floats)(a << 16) + (floats)(b << 16);                                                  \
        const floats kept = (floats)(a & 0xffff'0000u) + (floats)(b & 0xffff'0000u);                                   \
        const words x = (words)shifted, y = (words)kept;                                                               \
        nan |= (words)(shifted != shifted) | (words)(kept != kept);                                                    \
        sums[i] = ((x + 0x7fffu + ((x >> 16) & 1u)) >> 16) | ((y + 0x7fffu + ((y >> 16) & 1u)) & 0xffff'0000u);        \
    }                                                                                                                  \
    std::uint64_t any[SIZE / 8], found = 0;                                                                            \
    __builtin_memcpy(any, &nan, SIZE);                                                                                 \
    for (const std::uint64_t part : any) found |= part;                                                                \
    if (found != 0) return plain_combine<Format, plus>::step(lower, upper, out);                                       \
    __builtin_memcpy(out, sums, sizeof sums);

template <class Format>
struct bf16_plus {
    BOUGH_ALWAYS_INLINE static void step(const std::byte* lower, const std::byte* upper, std::byte* out) noexcept {
        BOUGH_BF16_PLUS(16)
    }
};
#if BOUGH_HAS_X86_VECTORS
template <class Format>
struct bf16_plus_avx2 {
    BOUGH_AVX2_INLINE static void step(const std::byte* lower, const std::byte* upper, std::byte* out) noexcept {
        BOUGH_BF16_PLUS(32)
    }
};
#endif
#undef BOUGH_BF16_PLUS

// The kernel of an op: of sums there are better ones than the compiler makes.
template <class Format, class O>
struct kernels_of {
    static constexpr bool is_bf16_sum = std::is_same_v<O, plus> && std::is_same_v<Format, small_format<16, 8, true>>;
    using portable = std::conditional_t<is_bf16_sum, bf16_plus<Format>, plain_combine<Format, O>>;
#if BOUGH_HAS_X86_VECTORS
    using narrow = std::conditional_t<is_quarter<Format>, quarter_combine<Format, O>, plain_combine<Format, O>>;
    using plain = std::conditional_t<is_bf16_sum, bf16_plus_avx2<Format>, narrow>;
    using half = std::conditional_t<std::is_same_v<O, plus>, f16c_plus<Format>, f16c_combine<O>>;
    using vector = std::conditional_t<is_half<Format>, half, plain>;
#endif
};

// --- loops over any number of elements; those that do not fill a step go through memory on the stack.
// Macros, because a function without the attribute `target` is compiled before it is inlined. ---

#define BOUGH_COMBINE_LOOP(...)                                                                                        \
    using kernel = __VA_ARGS__;                                                                                        \
    constexpr std::size_t size = sizeof(typename Format::word), block = lane_step * size;                              \
    std::size_t i = 0;                                                                                                 \
    for (; bytes - i >= block; i += block) kernel::step(lower + i, upper + i, out + i);                                \
    if (i == bytes) return;                                                                                            \
    std::byte a[block]{}, b[block]{};                                                                                  \
    __builtin_memcpy(a, lower + i, bytes - i);                                                                         \
    __builtin_memcpy(b, upper + i, bytes - i);                                                                         \
    kernel::step(a, b, a);                                                                                             \
    __builtin_memcpy(out + i, a, bytes - i);

#define BOUGH_CONVERT_LOOP(DIRECTION, FROM, TO, ...)                                                                   \
    using kernel = __VA_ARGS__;                                                                                        \
    constexpr std::size_t from_size = sizeof(FROM), to_size = sizeof(TO);                                              \
    std::size_t i = 0;                                                                                                 \
    for (; count - i >= lane_step; i += lane_step) kernel::DIRECTION(from + i * from_size, to + i * to_size, scale);   \
    if (i == count) return;                                                                                            \
    std::byte a[lane_step * from_size]{}, b[lane_step * to_size];                                                      \
    __builtin_memcpy(a, from + i * from_size, (count - i) * from_size);                                                \
    kernel::DIRECTION(a, b, scale);                                                                                    \
    __builtin_memcpy(to + i * to_size, b, (count - i) * to_size);

using lane_combiner = void(const std::byte* lower, const std::byte* upper, std::byte* out, std::size_t bytes) noexcept;
using lane_converter = void(const std::byte* from, std::byte* to, std::size_t count, float scale) noexcept;

template <class Format, class O>
struct lane_kernels {
    static void portable(const std::byte* lower, const std::byte* upper, std::byte* out, std::size_t bytes) noexcept {
        using plain = typename kernels_of<Format, O>::portable;
        BOUGH_COMBINE_LOOP(plain)
    }
#if BOUGH_HAS_X86_VECTORS
    using form = typename kernels_of<Format, O>::vector;
    BOUGH_AVX2 static void avx2(const std::byte* lower, const std::byte* upper, std::byte* out,
                                std::size_t bytes) noexcept {BOUGH_COMBINE_LOOP(form)} BOUGH_AVX512
        static void avx512(const std::byte* lower, const std::byte* upper, std::byte* out, std::size_t bytes) noexcept {
        BOUGH_COMBINE_LOOP(form)
    }
#endif
};

template <class Format>
struct lane_conversions {
    using word = typename Format::word;
    struct portable {
        static void encode(const std::byte* from, std::byte* to, std::size_t count, float scale) noexcept {
            BOUGH_CONVERT_LOOP(encode, float, word, plain_conversion<Format>)
        }
        static void decode(const std::byte* from, std::byte* to, std::size_t count, float scale) noexcept {
            BOUGH_CONVERT_LOOP(decode, word, float, plain_conversion<Format>)
        }
    };
#if BOUGH_HAS_X86_VECTORS
    using plain = std::conditional_t<is_quarter<Format>, quarter_conversion<Format>, plain_conversion<Format>>;
    using form = std::conditional_t<is_half<Format>, f16c, plain>;
    struct avx2 {
        BOUGH_AVX2 static void encode(const std::byte* from, std::byte* to, std::size_t count,
                                      float scale) noexcept {BOUGH_CONVERT_LOOP(encode, float, word, form)} BOUGH_AVX2
            static void decode(const std::byte* from, std::byte* to, std::size_t count, float scale) noexcept {
            BOUGH_CONVERT_LOOP(decode, word, float, form)
        }
    };
    // With AVX-512 the compiler's own form of the way to 8 bits is as fast.
    using encode_form = std::conditional_t<is_quarter<Format>, plain_conversion<Format>, form>;
    struct avx512 {
        BOUGH_AVX512 static void encode(const std::byte* from, std::byte* to, std::size_t count, float scale) noexcept {
            BOUGH_CONVERT_LOOP(encode, float, word, encode_form)} BOUGH_AVX512
            static void decode(const std::byte* from, std::byte* to, std::size_t count, float scale) noexcept {
            BOUGH_CONVERT_LOOP(decode, word, float, form)
        }
    };
#endif
};

#undef BOUGH_COMBINE_LOOP
#undef BOUGH_CONVERT_LOOP

// What the processor has; a kernel of a higher level is never called.
enum class vector_unit : std::uint8_t { portable, avx2, avx512 };
#if BOUGH_HAS_X86_VECTORS
inline vector_unit find_vector_unit() noexcept {
    unsigned eax = 1, ebx = 0, ecx = 0, edx = 0;
    __asm__("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
    const bool has_f16c = (ecx >> 29 & 1u) != 0; // clang 14 has no name for it
    if (!has_f16c || !__builtin_cpu_supports("avx2")) return vector_unit::portable;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
               ? vector_unit::avx512
               : vector_unit::avx2;
}
inline vector_unit best_vector_unit() noexcept {
    static const vector_unit best = find_vector_unit();
    return best;
}
#else
constexpr vector_unit best_vector_unit() noexcept { return vector_unit::portable; }
#endif

template <class Format, class O>
lane_combiner* combiner_for([[maybe_unused]] vector_unit unit) noexcept {
#if BOUGH_HAS_X86_VECTORS
    if (unit == vector_unit::avx512) return &lane_kernels<Format, O>::avx512;
    if (unit == vector_unit::avx2) return &lane_kernels<Format, O>::avx2;
#endif
    return &lane_kernels<Format, O>::portable;
}
template <class Format>
lane_converter* encoder_for([[maybe_unused]] vector_unit unit) noexcept {
    using all = lane_conversions<Format>;
#if BOUGH_HAS_X86_VECTORS
    if (unit == vector_unit::avx512) return &all::avx512::encode;
    if (unit == vector_unit::avx2) return &all::avx2::encode;
#endif
    return &all::portable::encode;
}
template <class Format>
lane_converter* decoder_for([[maybe_unused]] vector_unit unit) noexcept {
    using all = lane_conversions<Format>;
#if BOUGH_HAS_X86_VECTORS
    if (unit == vector_unit::avx512) return &all::avx512::decode;
    if (unit == vector_unit::avx2) return &all::avx2::decode;
#endif
    return &all::portable::decode;
}

} // namespace bough::detail

#if BOUGH_HAS_X86_VECTORS
#undef BOUGH_AVX2
#undef BOUGH_AVX2_INLINE
#undef BOUGH_AVX512
#endif
#undef BOUGH_HAS_X86_VECTORS
#undef BOUGH_INDEPENDENT
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif
