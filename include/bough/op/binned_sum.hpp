// SPDX-License-Identifier: BSL-1.0
// binned_sum: a sum of floats or doubles that is the same bits in any order, in 2K words, to an
// accuracy that K sets.
//
//   allreduce(comm, std::span(x), binned_sum<2>{})        doubles in, doubles out: lifted and lowered
//                                                         inside
//   binned_accumulator<double, 2> mine = binned_sum<2>{}.lift(std::span(many));
//
// The bits of a number are cut at fixed places into bins of 64: bin j has the bits 64 j to 64 j +
// 63, counted from the smallest subnormal. A sum keeps the K bins down from the highest one that
// any number reaches, each with its own exact sum of 128 bits. What a number contributes to a bin
// depends on that number alone, and a bin is dropped as soon as one number reaches K bins higher,
// never by a sum: so the state depends on the numbers and not on their order. Error: what is
// dropped of each of n numbers is below 2^(-64 (K-1)) max|x|, and `lower` rounds once:
//   |result - sum| < n max|x| 2^(-64 (K-1)) + half an ulp of the result
// against up to n 2^-53 sum|x| for doubles added one by one. Nothing is dropped if the numbers span
// fewer than 64 (K-1) bits. NaN, infinities and -0 as exact_sum.
// Pre: at most 2^53 numbers: 10 bits of the highest bin hold which one it is, and the marks for NaN
// and infinities.
// Source: J. Demmel, H. D. Nguyen, "Fast Reproducible Floating-Point Summation", ARITH 2013;
// P. Ahrens, J. Demmel, H. D. Nguyen, "Algorithms for Efficient Reproducible Floating Point
// Summation", ACM TOMS 46(3), 2020. They cut by rounding in floating point, 40 bits a bin; here the
// bins are integers, and 64 bits wide.
#ifndef BOUGH_OP_BINNED_SUM_HPP
#define BOUGH_OP_BINNED_SUM_HPP

#include <bough/concepts/op.hpp>
#include <bough/op/detail/fixed_point.hpp>
#include <bough/op/traits.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

namespace detail {

// The bins of all numbers of T.
template <binary_float T>
inline constexpr std::size_t all_bins = (float_format<T>::width + 63) / 64;

} // namespace detail

// Value-initialised: the sum of nothing. Word 2b is the low half of the b-th bin from the top, word
// 2b+1 the high half; the lowest 10 bits of word 1 are the marks, and how far the highest bin is
// above bin K-1.
template <detail::binary_float T, std::size_t Folds>
requires(Folds >= 2 && Folds <= detail::all_bins<T>) struct binned_accumulator {
    std::array<std::uint64_t, 2 * Folds> words{};
    friend constexpr bool operator==(const binned_accumulator&, const binned_accumulator&) = default;
};

namespace detail {

// A binned_accumulator at work.
template <binary_float T, std::size_t Folds>
class binned {
public:
    constexpr binned() = default;
    constexpr explicit binned(const binned_accumulator<T, Folds>& state) noexcept
        : top_(Folds - 1 + static_cast<std::size_t>(state.words[1] >> 4u & 63u)), marks_(state.words[1] & 15u) {
        for (std::size_t b = 0; b != Folds; ++b) bin_[b] = {state.words[2 * b], state.words[2 * b + 1]};
        bin_[0].high = static_cast<std::uint64_t>(static_cast<std::int64_t>(bin_[0].high) >> 10u);
    }

    constexpr binned_accumulator<T, Folds> state() const noexcept {
        binned_accumulator<T, Folds> s;
        for (std::size_t b = 0; b != Folds; ++b) s.words[2 * b] = bin_[b].low, s.words[2 * b + 1] = bin_[b].high;
        s.words[1] = bin_[0].high << 10u | static_cast<std::uint64_t>(top_ - (Folds - 1)) << 4u | marks_;
        return s;
    }

    constexpr void add(T x) noexcept {
        const amount u = unpack(x);
        marks_ |= u.marks;
        const unsigned shift = u.position % 64;
        const std::size_t at = u.position / 64;
        const std::uint64_t low = u.magnitude << shift;
        const std::uint64_t high = shift == 0 ? 0 : u.magnitude >> (64 - shift);
        rise_to(at + (high != 0 ? 1u : 0u));
        if (top_ - at < Folds) bin_[top_ - at].add(low, u.negative);
        if (high != 0 && top_ - at - 1 < Folds) bin_[top_ - at - 1].add(high, u.negative);
    }

    constexpr void add(const binned& other) noexcept {
        marks_ |= other.marks_;
        rise_to(other.top_);
        for (std::size_t b = top_ - other.top_; b < Folds; ++b) bin_[b].add(other.bin_[b - (top_ - other.top_)]);
    }

    constexpr T lower() const noexcept {
        std::array<std::uint64_t, all_bins<T> + 2> sum{};
        for (std::size_t b = 0; b != Folds; ++b) {
            const bool negative = bin_[b].high >> 63u != 0;
            bin amount = bin_[b];
            if (negative) amount = {~amount.low + 1, ~amount.high + (amount.low == 0 ? 1u : 0u)};
            add_at(sum, top_ - b, amount.low, amount.high, negative);
        }
        return round_to_nearest<T>(sum, marks_);
    }

private:
    struct bin {
        std::uint64_t low = 0;
        std::uint64_t high = 0; // two's complement
        constexpr void add(std::uint64_t slice, bool negative) noexcept {
            const std::uint64_t before = low;
            low = negative ? low - slice : low + slice;
            high = negative ? high - (before < slice ? 1u : 0u) : high + (low < before ? 1u : 0u);
        }
        constexpr void add(const bin& other) noexcept {
            low += other.low;
            high += other.high + (low < other.low ? 1u : 0u);
        }
    };

    constexpr void rise_to(std::size_t top) noexcept {
        if (top <= top_) return;
        const std::size_t by = top - top_;
        for (std::size_t b = Folds; b-- != 0;) bin_[b] = b >= by ? bin_[b - by] : bin{};
        top_ = top;
    }

    std::array<bin, Folds> bin_{}; // from the highest down
    std::size_t top_ = Folds - 1;
    std::uint64_t marks_ = 0;
};

template <class S, std::size_t Folds>
inline constexpr bool is_binned_accumulator_v = false;
template <class T, std::size_t Folds>
inline constexpr bool is_binned_accumulator_v<binned_accumulator<T, Folds>, Folds> = true;

} // namespace detail

template <std::size_t Folds = 2>
struct binned_sum {
    template <detail::binary_float T>
    using state_type = binned_accumulator<T, Folds>;

    template <detail::binary_float T>
    constexpr binned_accumulator<T, Folds> operator()(const binned_accumulator<T, Folds>& a,
                                                      const binned_accumulator<T, Folds>& b) const noexcept {
        detail::binned<T, Folds> sum(a);
        sum.add(detail::binned<T, Folds>(b));
        return sum.state();
    }

    template <detail::binary_float T>
    constexpr binned_accumulator<T, Folds> lift(T x) const noexcept {
        detail::binned<T, Folds> sum;
        sum.add(x);
        return sum.state();
    }
    template <class U, std::size_t Extent>
    requires detail::binary_float<std::remove_const_t<U>>
    constexpr auto lift(std::span<U, Extent> many) const noexcept {
        using T = std::remove_const_t<U>;
        detail::binned<T, Folds> sum;
        for (const T x : many) sum.add(x);
        return sum.state();
    }
    template <detail::binary_float T>
    constexpr T lower(const binned_accumulator<T, Folds>& state) const noexcept {
        return detail::binned<T, Folds>(state).lower();
    }

    template <class S>
    requires detail::is_binned_accumulator_v<S, Folds>
    static constexpr S identity() noexcept { return {}; }

    friend constexpr bool operator==(binned_sum, binned_sum) = default;
};

template <std::size_t Folds>
inline constexpr bool is_commutative_v<binned_sum<Folds>> = true;
template <std::size_t Folds, class S>
inline constexpr bool is_exact_v<binned_sum<Folds>, S> = detail::is_binned_accumulator_v<S, Folds>;
template <std::size_t Folds, class S>
inline constexpr bool is_integer_only_v<binned_sum<Folds>, S> = detail::is_binned_accumulator_v<S, Folds>;
template <std::size_t Folds>
inline constexpr std::uint64_t op_id<binned_sum<Folds>> = hash_name("bough.binned_sum") ^ Folds;
template <std::size_t Folds>
inline constexpr type_signature type_id<binned_accumulator<float, Folds>> = {
    sizeof(binned_accumulator<float, Folds>), type_category::other, hash_name("bough.binned_accumulator.float")};
template <std::size_t Folds>
inline constexpr type_signature type_id<binned_accumulator<double, Folds>> = {
    sizeof(binned_accumulator<double, Folds>), type_category::other, hash_name("bough.binned_accumulator.double")};

} // namespace bough

#endif
