// SPDX-License-Identifier: BSL-1.0
// The formats of small_float, and its loops over spans: the same code for vectors of 4, 8 and 16 floats,
// chosen at run time by what the processor has.
//
// Vectors are those of the compiler's language extension, which g++ and clang++ share. A function has
// the attribute `target`, and inlines code that knows only the number of lanes. So there is one source
// of the arithmetic, and the bits are the same for every processor. F16C's conversions are used for
// fp16; they do the same by definition.
#ifndef BOUGH_OP_DETAIL_SMALL_FLOAT_LANES_HPP
#define BOUGH_OP_DETAIL_SMALL_FLOAT_LANES_HPP

#include <bough/core/config.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#if BOUGH_HOSTED && defined(__x86_64__)
#define BOUGH_HAS_X86_VECTORS 1
#else
#define BOUGH_HAS_X86_VECTORS 0
#endif

namespace bough::inline BOUGH_ABI {

struct plus;
struct multiplies;
struct min;
struct max;
struct min_number;
struct max_number;

namespace detail {

// As many floats, and as many words of 32 bits. One lane is a plain number.
template <int Count>
struct lanes {
    typedef std::uint32_t words __attribute__((vector_size(4 * Count)));
    typedef float floats __attribute__((vector_size(4 * Count)));
    template <class Element>
    struct of {
        typedef Element type __attribute__((vector_size(sizeof(Element) * Count)));
    };
};

// `Bits` bits in all. decode() and encode() convert the bits of floats, and vectors of them: W is
// std::uint32_t or a vector, and F has the same lanes.
template <unsigned Bits, unsigned ExponentBits, bool Infinite>
struct small_format {
    using word = std::conditional_t<Bits == 16, std::uint16_t, std::uint8_t>;
    static constexpr unsigned bits = Bits;
    static constexpr unsigned fraction_bits = Bits - 1 - ExponentBits;
    static constexpr unsigned bias = (1u << (ExponentBits - 1)) - 1;

    static constexpr word sign = static_cast<word>(1u << (Bits - 1));
    static constexpr word magnitude = static_cast<word>(sign - 1u);
    static constexpr word infinity = static_cast<word>(((1u << ExponentBits) - 1) << fraction_bits);
    static constexpr word largest = static_cast<word>((Infinite ? infinity : magnitude) - 1u);
    static constexpr word quiet_nan = Infinite ? static_cast<word>(infinity | 1u << (fraction_bits - 1)) : magnitude;

    static constexpr std::uint32_t encode(std::uint32_t x) noexcept {
        std::uint32_t made = 0;
        encode_as<float>(x, made);
        return made;
    }
    static constexpr std::uint32_t decode(std::uint32_t x) noexcept {
        std::uint32_t made = 0;
        decode_as<float>(x, made);
        return made;
    }

    // Of a float: a word of the format, right-aligned.
    template <class F, class W>
    BOUGH_ALWAYS_INLINE static constexpr void encode_as(const W& x, W& code) noexcept {
        const W a = x & 0x7fff'ffffu;
        // Adding just below half of what is dropped rounds up what is above half, and ties to even.
        code = (a - rebias + ((a >> dropped) & 1u) + ((1u << (dropped - 1)) - 1u)) >> dropped;
        if constexpr (ExponentBits != 8) {
            // The unit in the last place of the magic number is the smallest subnormal.
            F sum, magic;
            cast(a, sum);
            cast(a * 0u + magic_up, magic);
            sum += magic;
            W small;
            cast(sum, small);
            code = a < smallest_normal ? small - magic_up : code;
        }
        constexpr std::uint32_t most = Infinite ? infinity : largest;
        code = code > most ? code * 0u + most : code;
        W nan = a * 0u + std::uint32_t(quiet_nan);
        if constexpr (Infinite) nan |= (a >> dropped) & std::uint32_t(magnitude - infinity);
        code = (a > 0x7f80'0000u ? nan : code) | ((x & 0x8000'0000u) >> (32 - Bits));
    }
    template <class F, class W>
    BOUGH_ALWAYS_INLINE static constexpr void decode_as(const W& x, W& made) noexcept {
        if constexpr (ExponentBits == 8) {
            made = x << 16;
        } else {
            const W a = x & std::uint32_t(magnitude);
            const W shifted = a << dropped;
            made = shifted + rebias;
            F subnormal, least;
            cast(made + (1u << 23), subnormal);
            cast(a * 0u + smallest_normal, least);
            subnormal -= least;
            W small;
            cast(subnormal, small);
            made = shifted < (1u << 23) ? small : made;
            if constexpr (Infinite) {
                made = a >= std::uint32_t(infinity) ? shifted | 0x7f80'0000u : made;
                made = a > std::uint32_t(infinity) ? made | 0x0040'0000u : made;
            } else {
                made = a == std::uint32_t(magnitude) ? a * 0u + 0x7fc0'0000u : made;
            }
            made |= (x & std::uint32_t(sign)) << (32 - Bits);
        }
    }

private:
    static constexpr unsigned dropped = 23 - fraction_bits;
    static constexpr std::uint32_t rebias = (127u - bias) << 23;
    static constexpr std::uint32_t smallest_normal = ExponentBits == 8 ? 0 : (128u - bias) << 23;
    static constexpr std::uint32_t magic_up = ExponentBits == 8 ? 0 : (128u - bias + dropped) << 23;

    template <class From, class To>
    BOUGH_ALWAYS_INLINE static constexpr void cast(const From& from, To& to) noexcept {
        if constexpr (std::is_arithmetic_v<From>)
            to = std::bit_cast<To>(from);
        else
            to = (To)from;
    }
};

// --- the ops, on vectors: the same bits as on floats (bough/op/arithmetic.hpp, bough/op/min_max.hpp), but
// that a NaN is any NaN ---

template <class O>
struct lane_op {
    static constexpr bool is_there = false;
};
template <>
struct lane_op<plus> {
    static constexpr bool is_there = true;
    template <class L>
    BOUGH_ALWAYS_INLINE static void run(const typename L::floats& a, const typename L::floats& b,
                                        typename L::floats& out) noexcept {
        out = a + b;
    }
};
template <>
struct lane_op<multiplies> {
    static constexpr bool is_there = true;
    template <class L>
    BOUGH_ALWAYS_INLINE static void run(const typename L::floats& a, const typename L::floats& b,
                                        typename L::floats& out) noexcept {
        out = a * b;
    }
};
template <bool Least, bool Number>
struct lane_extreme {
    static constexpr bool is_there = true;
    template <class L>
    BOUGH_ALWAYS_INLINE static void run(const typename L::floats& a, const typename L::floats& b,
                                        typename L::floats& out) noexcept {
        using words = typename L::words;
        using floats = typename L::floats;
        const floats first = (Least ? a < b : b < a) ? a : b;  // of a NaN and something: b
        const floats second = (Least ? b < a : a < b) ? b : a; // and a
        // Equal numbers may be zeros of both signs.
        const words merged = Least ? (words)first | (words)second : (words)first & (words)second;
        const floats found = a == b ? (floats)merged : first;
        if constexpr (Number) {
            out = b != b ? a : a != a ? b : found;
        } else {
            out = a != a ? a : found; // where b is a NaN, so is `first`
        }
    }
};
template <>
struct lane_op<min> : lane_extreme<true, false> {};
template <>
struct lane_op<max> : lane_extreme<false, false> {};
template <>
struct lane_op<min_number> : lane_extreme<true, true> {};
template <>
struct lane_op<max_number> : lane_extreme<false, true> {};

// --- one vector of elements ---

template <class L>
BOUGH_ALWAYS_INLINE void make_canonical(typename L::floats& x) noexcept {
    x = x == x ? x : (typename L::floats)((typename L::words)x * 0u + 0x7fc0'0000u);
}

// Elements that lie in words of 32 bits are taken from there by shifts, so that none must move to
// another lane. It does not matter which of them is first in memory.
template <class Format, class O, int Count>
struct plain_lanes {
    using L = lanes<Count>;
    static constexpr std::size_t elements = 4 * Count / sizeof(typename Format::word);

    BOUGH_ALWAYS_INLINE static void combine(const std::byte* lower, const std::byte* upper, std::byte* out) noexcept {
        using words = typename L::words;
        using floats = typename L::floats;
        words a, b, all{};
        __builtin_memcpy(&a, lower, sizeof a);
        __builtin_memcpy(&b, upper, sizeof b);
        constexpr std::uint32_t mask = (1u << Format::bits) - 1;
#pragma GCC unroll 4
        for (unsigned at = 0; at != 32; at += Format::bits) {
            words x, y, code;
            Format::template decode_as<floats>((a >> at) & mask, x);
            Format::template decode_as<floats>((b >> at) & mask, y);
            floats sum;
            lane_op<O>::template run<L>((floats)x, (floats)y, sum);
            make_canonical<L>(sum);
            Format::template encode_as<floats>((words)sum, code);
            all |= code << at;
        }
        __builtin_memcpy(out, &all, sizeof all);
    }
};

template <class Format, int Count>
struct plain_conversion {
    using L = lanes<Count>;
    using words = typename L::words;
    using floats = typename L::floats;
    using narrow = typename L::template of<typename Format::word>::type;

    BOUGH_ALWAYS_INLINE static void encode(const std::byte* from, std::byte* to, float scale) noexcept {
        floats x;
        __builtin_memcpy(&x, from, sizeof x);
        x *= scale;
        words code;
        Format::template encode_as<floats>((words)x, code);
        const narrow made = __builtin_convertvector(code, narrow);
        __builtin_memcpy(to, &made, sizeof made);
    }
    BOUGH_ALWAYS_INLINE static void decode(const std::byte* from, std::byte* to, float scale) noexcept {
        narrow x;
        __builtin_memcpy(&x, from, sizeof x);
        words made;
        Format::template decode_as<floats>(__builtin_convertvector(x, words), made);
        const floats scaled = (floats)made * scale;
        __builtin_memcpy(to, &scaled, sizeof scaled);
    }
};

#if BOUGH_HAS_X86_VECTORS
#define BOUGH_AVX2 __attribute__((target("avx2,f16c")))
#define BOUGH_AVX2_INLINE __attribute__((target("avx2,f16c"), always_inline)) inline
#define BOUGH_AVX512 __attribute__((target("avx2,f16c,avx512f,avx512bw,avx512dq,avx512vl")))

typedef short half_lanes __attribute__((vector_size(16)));

struct f16c {
    using L = lanes<8>;
    BOUGH_AVX2_INLINE static void load(const std::byte* from, L::floats& to) noexcept {
        half_lanes x;
        __builtin_memcpy(&x, from, sizeof x);
        to = __builtin_ia32_vcvtph2ps256(x);
    }
    BOUGH_AVX2_INLINE static void store(const L::floats& from, std::byte* to) noexcept {
        const half_lanes x = (half_lanes)__builtin_ia32_vcvtps2ph256(from, 0); // to nearest, ties to even
        __builtin_memcpy(to, &x, sizeof x);
    }
    BOUGH_AVX2_INLINE static void encode(const std::byte* from, std::byte* to, float scale) noexcept {
        L::floats x;
        __builtin_memcpy(&x, from, sizeof x);
        x *= scale;
        store(x, to);
    }
    BOUGH_AVX2_INLINE static void decode(const std::byte* from, std::byte* to, float scale) noexcept {
        L::floats x;
        load(from, x);
        x *= scale;
        __builtin_memcpy(to, &x, sizeof x);
    }
};
template <class O>
struct f16c_combine {
    static constexpr std::size_t elements = 8;
    BOUGH_AVX2_INLINE static void combine(const std::byte* lower, const std::byte* upper,
                                                       std::byte* out) noexcept {
        using L = lanes<8>;
        L::floats a, b, sum;
        f16c::load(lower, a);
        f16c::load(upper, b);
        lane_op<O>::template run<L>(a, b, sum);
        make_canonical<L>(sum);
        f16c::store(sum, out);
    }
};

template <class Format>
inline constexpr bool is_half = std::is_same_v<Format, small_format<16, 5, true>>;
#endif

// --- loops; what does not fill a vector goes through one on the stack ---

#define BOUGH_COMBINE_LOOP(...)                                                                                        \
    using step = __VA_ARGS__;                                                                                          \
    constexpr std::size_t size = sizeof(typename Format::word), block = step::elements * size;                         \
    std::size_t i = 0;                                                                                                 \
    for (; bytes - i >= block; i += block) step::combine(lower + i, upper + i, out + i);                               \
    if (i == bytes) return;                                                                                            \
    std::byte a[block]{}, b[block]{};                                                                                  \
    __builtin_memcpy(a, lower + i, bytes - i);                                                                         \
    __builtin_memcpy(b, upper + i, bytes - i);                                                                         \
    step::combine(a, b, a);                                                                                            \
    __builtin_memcpy(out + i, a, bytes - i);

#define BOUGH_CONVERT_LOOP(DIRECTION, COUNT, FROM, TO, ...)                                                            \
    using step = __VA_ARGS__;                                                                                          \
    constexpr std::size_t lanes_at_once = COUNT, from_size = FROM, to_size = TO;                                       \
    std::size_t i = 0;                                                                                                 \
    for (; count - i >= lanes_at_once; i += lanes_at_once)                                                             \
        step::DIRECTION(from + i * from_size, to + i * to_size, scale);                                                \
    if (i == count) return;                                                                                            \
    std::byte a[lanes_at_once * from_size]{}, b[lanes_at_once * to_size];                                              \
    __builtin_memcpy(a, from + i * from_size, (count - i) * from_size);                                                \
    step::DIRECTION(a, b, scale);                                                                                      \
    __builtin_memcpy(to + i * to_size, b, (count - i) * to_size);

using lane_combiner = void(const std::byte* lower, const std::byte* upper, std::byte* out, std::size_t bytes) noexcept;
using lane_converter = void(const std::byte* from, std::byte* to, std::size_t count, float scale) noexcept;

template <class Format, class O>
struct lane_kernels {
    static void portable(const std::byte* lower, const std::byte* upper, std::byte* out, std::size_t bytes) noexcept {
        BOUGH_COMBINE_LOOP(plain_lanes<Format, O, 4>)
    }
#if BOUGH_HAS_X86_VECTORS
    BOUGH_AVX2 static void avx2(const std::byte* lower, const std::byte* upper, std::byte* out,
                                std::size_t bytes) noexcept {
        BOUGH_COMBINE_LOOP(std::conditional_t<is_half<Format>, f16c_combine<O>, plain_lanes<Format, O, 8>>)
    }
    BOUGH_AVX512 static void avx512(const std::byte* lower, const std::byte* upper, std::byte* out,
                                    std::size_t bytes) noexcept {
        BOUGH_COMBINE_LOOP(std::conditional_t<is_half<Format>, f16c_combine<O>, plain_lanes<Format, O, 16>>)
    }
#endif
};

template <class Format>
struct lane_conversions {
    using word = typename Format::word;
    struct portable {
        static void encode(const std::byte* from, std::byte* to, std::size_t count, float scale) noexcept {
            BOUGH_CONVERT_LOOP(encode, 4, 4, sizeof(word), plain_conversion<Format, 4>)
        }
        static void decode(const std::byte* from, std::byte* to, std::size_t count, float scale) noexcept {
            BOUGH_CONVERT_LOOP(decode, 4, sizeof(word), 4, plain_conversion<Format, 4>)
        }
    };
#if BOUGH_HAS_X86_VECTORS
    struct avx2 {
        using form = std::conditional_t<is_half<Format>, f16c, plain_conversion<Format, 8>>;
        BOUGH_AVX2 static void encode(const std::byte* from, std::byte* to, std::size_t count, float scale) noexcept {
            BOUGH_CONVERT_LOOP(encode, 8, 4, sizeof(word), form)
        }
        BOUGH_AVX2 static void decode(const std::byte* from, std::byte* to, std::size_t count, float scale) noexcept {
            BOUGH_CONVERT_LOOP(decode, 8, sizeof(word), 4, form)
        }
    };
    struct avx512 {
        using form = std::conditional_t<is_half<Format>, f16c, plain_conversion<Format, 16>>;
        static constexpr std::size_t at_once = is_half<Format> ? 8 : 16;
        BOUGH_AVX512 static void encode(const std::byte* from, std::byte* to, std::size_t count, float scale) noexcept {
            BOUGH_CONVERT_LOOP(encode, at_once, 4, sizeof(word), form)
        }
        BOUGH_AVX512 static void decode(const std::byte* from, std::byte* to, std::size_t count, float scale) noexcept {
            BOUGH_CONVERT_LOOP(decode, at_once, sizeof(word), 4, form)
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

} // namespace detail

} // namespace bough

#if BOUGH_HAS_X86_VECTORS
#undef BOUGH_AVX2
#undef BOUGH_AVX2_INLINE
#undef BOUGH_AVX512
#endif
#undef BOUGH_HAS_X86_VECTORS

#endif
