// SPDX-License-Identifier: BSL-1.0
// small_float: numbers of 16 and 8 bits as element types: bf16, fp16, fp8_e4m3, fp8_e5m2.
//
//   std::vector<bough::bf16> x(n, bough::bf16{1.5f});
//   allreduce(comm, std::span(x), plus{});               rounds at every combine
//   allreduce(comm, std::span(x), rounded_once{});       sums in float, rounds once (bough/op/rounded_once.hpp)
//   float y = x[0];                                      exact, and implicit; the way back is explicit
//
//   type       exponent  fraction  largest   beyond it
//   bf16       8 bits    7 bits    3.39e38   infinity
//   fp16       5         10        65504     infinity
//   fp8_e5m2   5         2         57344     infinity
//   fp8_e4m3   4         3         448       448: it has no infinity, so it saturates
//
// They travel as their bits, in the byte order of the machine. plus, multiplies, min, max, min_number
// and max_number take them: each combine computes in float and rounds to nearest, ties to even. A NaN
// result is the one canonical NaN, as for float. Arithmetic of your own happens in float.
//
// A conversion keeps the sign of a NaN, and what fits of its payload; it makes a signalling NaN quiet,
// except from bf16 to float, where the bits are only moved. Conversions and combines of spans use the
// vector unit that the processor has (AVX-512, AVX2 with F16C, or what the compiler makes of plain
// code); all give the same bits.
//
// Determinism  as float: the rounding mode must be to nearest. Flushing subnormals to zero (FTZ, DAZ)
//              changes results of bf16 only
// Source       bf16: Intel, "BFLOAT16 - Hardware Numerics Definition", 2018. fp16: IEEE 754-2019,
//              binary16. fp8: OCP 8-bit Floating Point Specification (OFP8), 1.0, 2023; e4m3 in its
//              saturating mode, e5m2 in the other. Rounding of subnormals by adding a magic number:
//              F. Giesen, "Float->half conversions", 2012
#ifndef BOUGH_OP_SMALL_FLOAT_HPP
#define BOUGH_OP_SMALL_FLOAT_HPP

#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/op/canonical.hpp>
#include <bough/op/combine.hpp>
#include <bough/op/detail/small_float_lanes.hpp>
#include <bough/op/traits.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI {

struct plus;
struct multiplies;
struct min;
struct max;
struct min_number;
struct max_number;

// `Infinite`: all ones in the exponent mean infinity or NaN. Otherwise only all ones but the sign mean
// NaN, and there is no infinity.
template <std::unsigned_integral Word, unsigned ExponentBits, bool Infinite>
class small_float {
public:
    using format = detail::small_format<8 * sizeof(Word), ExponentBits, Infinite>;
    using word = Word;

    constexpr small_float() = default; // +0
    explicit constexpr small_float(float x) noexcept
        : bits_(static_cast<Word>(format::encode(std::bit_cast<std::uint32_t>(x)))) {}

    static constexpr small_float from_bits(Word bits) noexcept {
        small_float made;
        made.bits_ = bits;
        return made;
    }
    constexpr Word bits() const noexcept { return bits_; }
    constexpr operator float() const noexcept { return std::bit_cast<float>(format::decode(bits_)); }

    // The result of an op on floats: rounded; a NaN becomes the canonical one.
    static constexpr small_float rounded(float x) noexcept { return x == x ? small_float(x) : quiet_nan(); }

    static constexpr small_float quiet_nan() noexcept { return from_bits(format::quiet_nan); }
    // The largest finite number.
    static constexpr small_float largest() noexcept { return from_bits(format::largest); }
    // The greatest number of all: infinity, where there is one.
    static constexpr small_float greatest() noexcept {
        return from_bits(Infinite ? format::infinity : format::largest);
    }
    constexpr small_float operator-() const noexcept { return from_bits(static_cast<Word>(bits_ ^ format::sign)); }

private:
    Word bits_ = 0;
};

using bf16 = small_float<std::uint16_t, 8, true>;
using fp16 = small_float<std::uint16_t, 5, true>;
using fp8_e5m2 = small_float<std::uint8_t, 5, true>;
using fp8_e4m3 = small_float<std::uint8_t, 4, false>;

// Converts element by element: from float, with one rounding, or to float. Pre: equal sizes, no overlap.
// `scale`: each float is multiplied by it, before it is rounded or after it was made; that product is
// rounded to float.
template <detail::narrow_float T>
void convert(std::span<const float> from, std::span<T> to, float scale = 1) noexcept {
    BOUGH_EXPECTS(from.size() == to.size(), "convert: the spans must have equal sizes");
    detail::encoder_for<typename T::format>(detail::best_vector_unit())(
        reinterpret_cast<const std::byte*>(from.data()), reinterpret_cast<std::byte*>(to.data()), from.size(), scale);
}
template <detail::narrow_float T>
void convert(std::span<const T> from, std::span<float> to, float scale = 1) noexcept {
    BOUGH_EXPECTS(from.size() == to.size(), "convert: the spans must have equal sizes");
    detail::decoder_for<typename T::format>(detail::best_vector_unit())(
        reinterpret_cast<const std::byte*>(from.data()), reinterpret_cast<std::byte*>(to.data()), from.size(), scale);
}

namespace detail {

// The ops that compute on a narrow type as on float, and round.
template <class O>
inline constexpr bool is_float_op_v =
    std::same_as<O, plus> || std::same_as<O, multiplies> || std::same_as<O, min> || std::same_as<O, max> ||
    std::same_as<O, min_number> || std::same_as<O, max_number>;

// combine() of a span calls this (bough/op/combine.hpp).
template <class O, narrow_float T>
requires is_float_op_v<O>
struct span_kernel<O, T> {
    static void run(const T* lower, const T* upper, T* out, std::size_t count) noexcept {
        combiner_for<typename T::format, O>(best_vector_unit())(reinterpret_cast<const std::byte*>(lower),
                                                                reinterpret_cast<const std::byte*>(upper),
                                                                reinterpret_cast<std::byte*>(out), count * sizeof(T));
    }
};

} // namespace detail

template <>
inline constexpr type_signature type_id<bf16>{2, type_category::floating, hash_name("bough.bf16")};
template <>
inline constexpr type_signature type_id<fp16>{2, type_category::floating, hash_name("bough.fp16")};
template <>
inline constexpr type_signature type_id<fp8_e5m2>{1, type_category::floating, hash_name("bough.fp8_e5m2")};
template <>
inline constexpr type_signature type_id<fp8_e4m3>{1, type_category::floating, hash_name("bough.fp8_e4m3")};

} // namespace bough

#endif
