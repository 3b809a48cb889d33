// SPDX-License-Identifier: BSL-1.0
// Soft_plus, soft_min, soft_max, soft_min_number, soft_max_number: Ops of integer instructions on
// bit patterns.
//
//   allreduce(comm, std::span(x), soft_plus<f64_bits>{})       x: doubles, or their bits in std::uint64_t
//
// `Format` is a float_bits (bough/op/soft_float.hpp) or an integer_bits
// (bough/op/soft_integer.hpp): f64_bits, f32_bits, f16_bits, bf16_bits, i64_bits, ...; or any type
// with the same members. Elements are Format::word, and float or double where they are the same
// format. With the default NaN policy, on float and double, the results are bit for bit those of
// bough::plus, bough::min and so on; the ids differ, so all ranks of a call name the same op. Use
// these where there is no floating-point unit, where the elements are halves, or to run on a host
// exactly what a NIC runs.
#ifndef BOUGH_OP_SOFT_OPS_HPP
#define BOUGH_OP_SOFT_OPS_HPP

#include <bough/concepts/op.hpp>
#include <bough/op/soft_float.hpp>
#include <bough/op/soft_integer.hpp>
#include <bough/op/traits.hpp>

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>

namespace bough::inline BOUGH_ABI {

namespace detail {

template <class Format, class T>
inline constexpr bool is_value_of_v = false;
template <class Nan>
inline constexpr bool is_value_of_v<float_bits<soft_u64, 11, Nan>, double> = std::numeric_limits<double>::is_iec559;
template <class Nan>
inline constexpr bool is_value_of_v<float_bits<soft_u32, 8, Nan>, float> = std::numeric_limits<float>::is_iec559;

// T is what the Format describes: its word, or a floating type.
template <class T, class Format>
concept element_of = std::same_as<T, typename Format::word> || is_value_of_v<Format, T>;

template <class Format, class T>
constexpr typename Format::word to_bits(const T& x) noexcept {
    return std::bit_cast<typename Format::word>(x);
}

template <class Format>
inline constexpr std::uint64_t format_id = hash_type_name<Format>();
template <class Word, bool Signed>
inline constexpr std::uint64_t format_id<integer_bits<Word, Signed>> = fnv1a(Signed ? hash_name("bough.signed")
                                                                                    : hash_name("bough.unsigned"),
                                                                             static_cast<char>(sizeof(Word)));
template <class Word, unsigned ExponentBits, class Nan>
inline constexpr std::uint64_t format_id<float_bits<Word, ExponentBits, Nan>> =
    fnv1a(fnv1a(hash_name("bough.floating"), static_cast<char>(sizeof(Word))), static_cast<char>(ExponentBits)) ^
    hash_type_name<Nan>();

} // namespace detail

// Sums: IEEE 754 addition to nearest even; integers wrap modulo 2^n.
template <class Format>
struct soft_plus {
    template <detail::element_of<Format> T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return std::bit_cast<T>(Format::add(detail::to_bits<Format>(a), detail::to_bits<Format>(b)));
    }
    template <detail::element_of<Format> T>
    static constexpr T identity() noexcept {
        return std::bit_cast<T>(Format::add_identity);
    }
    friend constexpr bool operator==(soft_plus, soft_plus) = default;
};

// IEEE 754-2019 minimum: NaN wins, -0 < +0.
template <class Format>
struct soft_min {
    template <detail::element_of<Format> T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return std::bit_cast<T>(Format::minimum(detail::to_bits<Format>(a), detail::to_bits<Format>(b)));
    }
    template <detail::element_of<Format> T>
    static constexpr T identity() noexcept {
        return std::bit_cast<T>(Format::minimum_identity);
    }
    friend constexpr bool operator==(soft_min, soft_min) = default;
};

// IEEE 754-2019 maximum.
template <class Format>
struct soft_max {
    template <detail::element_of<Format> T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return std::bit_cast<T>(Format::maximum(detail::to_bits<Format>(a), detail::to_bits<Format>(b)));
    }
    template <detail::element_of<Format> T>
    static constexpr T identity() noexcept {
        return std::bit_cast<T>(Format::maximum_identity);
    }
    friend constexpr bool operator==(soft_max, soft_max) = default;
};

// IEEE 754-2019 minimumNumber: NaN loses. The identity, a NaN, is there if there is only one.
template <class Format>
struct soft_min_number {
    template <detail::element_of<Format> T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return std::bit_cast<T>(Format::minimum_number(detail::to_bits<Format>(a), detail::to_bits<Format>(b)));
    }
    template <detail::element_of<Format> T>
    requires(Format::commutes) static constexpr T identity() noexcept {
        return std::bit_cast<T>(Format::minimum_number_identity);
    }
    friend constexpr bool operator==(soft_min_number, soft_min_number) = default;
};

// IEEE 754-2019 maximumNumber.
template <class Format>
struct soft_max_number {
    template <detail::element_of<Format> T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return std::bit_cast<T>(Format::maximum_number(detail::to_bits<Format>(a), detail::to_bits<Format>(b)));
    }
    template <detail::element_of<Format> T>
    requires(Format::commutes) static constexpr T identity() noexcept {
        return std::bit_cast<T>(Format::maximum_number_identity);
    }
    friend constexpr bool operator==(soft_max_number, soft_max_number) = default;
};

template <class Format>
inline constexpr bool is_commutative_v<soft_plus<Format>> = Format::commutes;
template <class Format>
inline constexpr bool is_commutative_v<soft_min<Format>> = Format::commutes;
template <class Format>
inline constexpr bool is_commutative_v<soft_max<Format>> = Format::commutes;
template <class Format>
inline constexpr bool is_commutative_v<soft_min_number<Format>> = Format::commutes;
template <class Format>
inline constexpr bool is_commutative_v<soft_max_number<Format>> = Format::commutes;

// Choosing is associative under either policy: of many NaN the first wins, or all are the same.
template <class Format, class T>
inline constexpr bool is_exact_v<soft_plus<Format>, T> = detail::element_of<T, Format>&& Format::is_integer;
template <class Format, class T>
inline constexpr bool is_exact_v<soft_min<Format>, T> = detail::element_of<T, Format>;
template <class Format, class T>
inline constexpr bool is_exact_v<soft_max<Format>, T> = detail::element_of<T, Format>;
template <class Format, class T>
inline constexpr bool is_exact_v<soft_min_number<Format>, T> = detail::element_of<T, Format>;
template <class Format, class T>
inline constexpr bool is_exact_v<soft_max_number<Format>, T> = detail::element_of<T, Format>;

template <class Format>
inline constexpr bool is_idempotent_v<soft_min<Format>> = true;
template <class Format>
inline constexpr bool is_idempotent_v<soft_max<Format>> = true;
template <class Format>
inline constexpr bool is_idempotent_v<soft_min_number<Format>> = true;
template <class Format>
inline constexpr bool is_idempotent_v<soft_max_number<Format>> = true;

template <class Format, class T>
inline constexpr bool is_integer_only_v<soft_plus<Format>, T> = detail::element_of<T, Format>;
template <class Format, class T>
inline constexpr bool is_integer_only_v<soft_min<Format>, T> = detail::element_of<T, Format>;
template <class Format, class T>
inline constexpr bool is_integer_only_v<soft_max<Format>, T> = detail::element_of<T, Format>;
template <class Format, class T>
inline constexpr bool is_integer_only_v<soft_min_number<Format>, T> = detail::element_of<T, Format>;
template <class Format, class T>
inline constexpr bool is_integer_only_v<soft_max_number<Format>, T> = detail::element_of<T, Format>;

template <class Format>
inline constexpr std::uint64_t op_id<soft_plus<Format>> = hash_name("bough.soft_plus") ^ detail::format_id<Format>;
template <class Format>
inline constexpr std::uint64_t op_id<soft_min<Format>> = hash_name("bough.soft_min") ^ detail::format_id<Format>;
template <class Format>
inline constexpr std::uint64_t op_id<soft_max<Format>> = hash_name("bough.soft_max") ^ detail::format_id<Format>;
template <class Format>
inline constexpr std::uint64_t
    op_id<soft_min_number<Format>> = hash_name("bough.soft_min_number") ^ detail::format_id<Format>;
template <class Format>
inline constexpr std::uint64_t
    op_id<soft_max_number<Format>> = hash_name("bough.soft_max_number") ^ detail::format_id<Format>;

} // namespace bough

#endif
