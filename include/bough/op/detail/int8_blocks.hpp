// SPDX-License-Identifier: BSL-1.0
// The loops of int8_blocks (bough/op/quantised_sum.hpp), for several processors with the same bits from each,
// like those of small_float_lanes.hpp. Values at any address.
//
// A scale has 16 significant bits and a code 7, so their product is exact: whether a compiler makes a fused
// multiply-add of it and of the sum after it changes no bit. Values are divided by the scale, not multiplied
// by its reciprocal, for the same reason.
#ifndef BOUGH_OP_DETAIL_INT8_BLOCKS_HPP
#define BOUGH_OP_DETAIL_INT8_BLOCKS_HPP

#include <bough/core/config.hpp>
#include <bough/op/detail/small_float_lanes.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

#if BOUGH_HOSTED && defined(__x86_64__)
#define BOUGH_HAS_X86_VECTORS 1
#else
#define BOUGH_HAS_X86_VECTORS 0
#endif
// The loops read and write different memory.
// (Sanitizers and counters of coverage leave no room for vectors; clang would warn of each loop.)
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#define BOUGH_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define BOUGH_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace bough::inline BOUGH_ABI::detail {

template <std::size_t Values>
struct int8_block {
    using any_code = typename at_any_address<signed char>::type;

    // The scale that makes the largest magnitude 127, rounded up to 16 significant bits; a NaN, if a value is
    // none or infinite. For the largest floats it is a little less, so that 127 times the scale is finite.
    BOUGH_ALWAYS_INLINE static float scale_of(const any_float* values) noexcept {
        std::uint32_t most = 0;
        BOUGH_INDEPENDENT
        for (std::size_t i = 0; i != Values; ++i) {
            const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(float{values[i]}) & 0x7fff'ffffu;
            most = most < magnitude ? magnitude : most;
        }
        if (most >= 0x7f80'0000u) return std::bit_cast<float>(0x7fc0'0000u);
        const auto exact = std::bit_cast<std::uint32_t>(std::bit_cast<float>(most) / 127.0f);
        constexpr std::uint32_t least = 0x100, largest = 0x7c01'0200; // 2^-141, 33026 * 2^106
        const std::uint32_t rounded = (exact + 0xffu) & ~0xffu;
        return std::bit_cast<float>(rounded < least ? least : rounded > largest ? largest : rounded);
    }
    // A block: the scale, and the codes.
    BOUGH_ALWAYS_INLINE static void encode_here(const std::byte* from, std::byte* to) noexcept {
        const auto* values = reinterpret_cast<const any_float*>(from);
        auto* codes = reinterpret_cast<any_code*>(to + sizeof(float));
        const float scale = scale_of(values);
        const float by = scale == scale ? scale : 1.0f;
        constexpr float magic = 12'582'912.0f; // 1.5 * 2^23: the sum's low bits are the nearest integer, ties to even
        BOUGH_INDEPENDENT
        for (std::size_t i = 0; i != Values; ++i)
            codes[i] = static_cast<signed char>(std::bit_cast<std::uint32_t>(values[i] / by + magic) & 0xffu);
        __builtin_memcpy(to, &scale, sizeof scale);
    }
    BOUGH_ALWAYS_INLINE static void decode_here(const std::byte* from, std::byte* to) noexcept {
        float scale;
        __builtin_memcpy(&scale, from, sizeof scale);
        const auto* codes = reinterpret_cast<const any_code*>(from + sizeof(float));
        auto* values = reinterpret_cast<any_float*>(to);
        BOUGH_INDEPENDENT
        for (std::size_t i = 0; i != Values; ++i) values[i] = static_cast<float>(codes[i]) * scale;
    }
    BOUGH_ALWAYS_INLINE static void add_here(const std::byte* from, std::byte* to) noexcept {
        float scale;
        __builtin_memcpy(&scale, from, sizeof scale);
        const auto* codes = reinterpret_cast<const any_code*>(from + sizeof(float));
        auto* sums = reinterpret_cast<any_float*>(to);
        BOUGH_INDEPENDENT
        for (std::size_t i = 0; i != Values; ++i) sums[i] += static_cast<float>(codes[i]) * scale;
    }

    using kernel = void(const std::byte* from, std::byte* to) noexcept;
    struct kernels {
        kernel *encode, *decode, *add;
    };

    static void encode_portable(const std::byte* from, std::byte* to) noexcept { encode_here(from, to); }
    static void decode_portable(const std::byte* from, std::byte* to) noexcept { decode_here(from, to); }
    static void add_portable(const std::byte* from, std::byte* to) noexcept { add_here(from, to); }
#if BOUGH_HAS_X86_VECTORS
#define BOUGH_AVX2 __attribute__((target("avx2"))) static
#define BOUGH_AVX512 __attribute__((target("avx2,avx512f,avx512bw,avx512dq,avx512vl"))) static
    BOUGH_AVX2 void encode_avx2(const std::byte* from, std::byte* to) noexcept { encode_here(from, to); }
    BOUGH_AVX2 void decode_avx2(const std::byte* from, std::byte* to) noexcept { decode_here(from, to); }
    BOUGH_AVX2 void add_avx2(const std::byte* from, std::byte* to) noexcept { add_here(from, to); }
    BOUGH_AVX512 void encode_avx512(const std::byte* from, std::byte* to) noexcept { encode_here(from, to); }
    BOUGH_AVX512 void decode_avx512(const std::byte* from, std::byte* to) noexcept { decode_here(from, to); }
    BOUGH_AVX512 void add_avx512(const std::byte* from, std::byte* to) noexcept { add_here(from, to); }
#undef BOUGH_AVX2
#undef BOUGH_AVX512
#endif
    static kernels kernels_for([[maybe_unused]] vector_unit unit) noexcept {
#if BOUGH_HAS_X86_VECTORS
        if (unit == vector_unit::avx512) return {&encode_avx512, &decode_avx512, &add_avx512};
        if (unit == vector_unit::avx2) return {&encode_avx2, &decode_avx2, &add_avx2};
#endif
        return {&encode_portable, &decode_portable, &add_portable};
    }
};

} // namespace bough::detail

#undef BOUGH_HAS_X86_VECTORS
#undef BOUGH_INDEPENDENT
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif
