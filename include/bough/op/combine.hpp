// SPDX-License-Identifier: BSL-1.0
// Combine: out[i] = op(lower[i], upper[i]), the local step of every reduction; and its form over bytes.
//
// `out` may be `lower`, `upper` or both, or memory that touches neither; partial overlap is misuse.
// Each of these cases has a loop of its own that tells the compiler so, over blocks of fixed size
// that it can turn into vector code without a test for overlap or a remainder. Combining nothing
// does nothing and never calls the op.
#ifndef BOUGH_OP_COMBINE_HPP
#define BOUGH_OP_COMBINE_HPP

#include <bough/concepts/op.hpp>
#include <bough/op/traits.hpp>
#include <bough/op/wire.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

// g++ -O2 does not unroll by itself; clang does, and does it better alone.
#if defined(__GNUC__) && !defined(__clang__)
#define BOUGH_UNROLL _Pragma("GCC unroll 8")
#else
#define BOUGH_UNROLL
#endif

namespace bough::inline BOUGH_ABI {

namespace detail {

// A kernel of bough's own for an op and a type: run(lower, upper, out, count), any of them aligned as
// it happens to be.
template <class O, class T>
struct span_kernel {};
template <class O, class T>
concept HasSpanKernel = requires {
    &span_kernel<O, T>::run;
};

template <class O, class T>
inline constexpr bool is_nothrow_op_v = noexcept(static_cast<T>(std::declval<const O&>()(std::declval<const T&>(),
                                                                                         std::declval<const T&>())));

// Elements per fixed block: at least 16, at least 64 bytes; one for types that no vector register holds.
template <class T>
inline constexpr std::size_t combine_block = std::is_trivially_copyable_v<T> && sizeof(T) <= 16
                                                 ? (sizeof(T) * 16 < 64 ? 64 / sizeof(T) : 16)
                                                 : 1;

// A number at any address.
template <class T>
struct [[gnu::packed, gnu::may_alias]] loose {
    T value;
    void operator=(T x) noexcept { value = x; }
};
template <class T>
constexpr const T& value_of(const T& x) noexcept {
    return x;
}
template <class T>
T value_of(const loose<T>& x) noexcept {
    return x.value;
}

// E: T, or loose<T>.
template <class T, class E, class O>
constexpr void combine_apart(const O& op, const E* __restrict lower, const E* __restrict upper, E* __restrict out,
                             std::size_t count) {
    constexpr std::size_t block = combine_block<T>;
    const std::size_t whole = count - count % block;
    std::size_t i = 0;
    for (; i != whole; i += block) {
        BOUGH_UNROLL
        for (std::size_t k = 0; k != block; ++k)
            out[i + k] = static_cast<T>(op(detail::value_of(lower[i + k]), detail::value_of(upper[i + k])));
    }
    for (; i < count; ++i) out[i] = static_cast<T>(op(detail::value_of(lower[i]), detail::value_of(upper[i])));
}

template <class T, class E, class O>
constexpr void combine_into_lower(const O& op, E* __restrict lower, const E* __restrict upper, std::size_t count) {
    constexpr std::size_t block = combine_block<T>;
    const std::size_t whole = count - count % block;
    std::size_t i = 0;
    for (; i != whole; i += block) {
        BOUGH_UNROLL
        for (std::size_t k = 0; k != block; ++k)
            lower[i + k] = static_cast<T>(op(detail::value_of(lower[i + k]), detail::value_of(upper[i + k])));
    }
    for (; i < count; ++i) lower[i] = static_cast<T>(op(detail::value_of(lower[i]), detail::value_of(upper[i])));
}

template <class T, class E, class O>
constexpr void combine_into_upper(const O& op, const E* __restrict lower, E* __restrict upper, std::size_t count) {
    constexpr std::size_t block = combine_block<T>;
    const std::size_t whole = count - count % block;
    std::size_t i = 0;
    for (; i != whole; i += block) {
        BOUGH_UNROLL
        for (std::size_t k = 0; k != block; ++k)
            upper[i + k] = static_cast<T>(op(detail::value_of(lower[i + k]), detail::value_of(upper[i + k])));
    }
    for (; i < count; ++i) upper[i] = static_cast<T>(op(detail::value_of(lower[i]), detail::value_of(upper[i])));
}

// `out` may be one of the operands, not both.
template <class T, class E, class O>
constexpr void combine_each(const O& op, const E* lower, const E* upper, E* out, std::size_t count) {
    if (out == lower)
        detail::combine_into_lower<T>(op, out, upper, count);
    else if (out == upper)
        detail::combine_into_upper<T>(op, lower, out, count);
    else
        detail::combine_apart<T>(op, lower, upper, out, count);
}

} // namespace detail

template <class T, Op<T> O>
constexpr void combine(const O& op, const T* lower, const T* upper, T* out,
                       std::size_t count) noexcept(!KernelOp<O, T> && detail::is_nothrow_op_v<O, T>) {
    if (count == 0) return;
    if (std::is_constant_evaluated() || (out == lower && out == upper)) {
        for (std::size_t i = 0; i != count; ++i) out[i] = static_cast<T>(op(lower[i], upper[i]));
    } else if constexpr (detail::HasSpanKernel<O, T>) {
        detail::span_kernel<O, T>::run(lower, upper, out, count);
    } else if constexpr (KernelOp<O, T>) {
        op.combine(std::span<const T>(lower, count), std::span<const T>(upper, count), std::span<T>(out, count));
    } else {
        detail::combine_each<T>(op, lower, upper, out, count);
    }
}

namespace detail {

// An op without state is made where it is needed, so a holder of its kernel need not keep it alive.
template <class O>
inline constexpr bool is_stateless_v = std::is_empty_v<O>&& std::is_nothrow_default_constructible_v<O>;

// Numbers are taken as they lie. Else, and for kernels: staged through aligned memory, a few at a time.
template <class O, class T>
void combine_unaligned(const O& op, const std::byte* lower, const std::byte* upper, std::byte* out,
                       std::size_t count) noexcept(noexcept(bough::combine<T>(op, nullptr, nullptr, nullptr, 0))) {
    if constexpr (std::is_arithmetic_v<T> && !KernelOp<O, T>)
        if (out != lower || out != upper)
            return combine_each<T>(op, reinterpret_cast<const loose<T>*>(lower),
                                   reinterpret_cast<const loose<T>*>(upper), reinterpret_cast<loose<T>*>(out), count);
    constexpr std::size_t chunk = sizeof(T) >= 512 ? 1 : 512 / sizeof(T);
    alignas(T) std::byte low[chunk * sizeof(T)];
    alignas(T) std::byte high[chunk * sizeof(T)];
    for (std::size_t done = 0; done != count;) {
        const std::size_t n = count - done < chunk ? count - done : chunk;
        const std::size_t offset = done * sizeof(T);
        __builtin_memcpy(low, lower + offset, n * sizeof(T));
        __builtin_memcpy(high, upper + offset, n * sizeof(T));
        bough::combine<T>(op, reinterpret_cast<const T*>(low), reinterpret_cast<const T*>(high),
                          reinterpret_cast<T*>(low), n);
        __builtin_memcpy(out + offset, low, n * sizeof(T));
        done += n;
    }
}

template <class O, class T>
void combine_wire(const O& op, const std::byte* lower, const std::byte* upper, std::byte* out, std::size_t count) {
    if constexpr (travels_as_bytes_v<T>) {
        const auto bits = reinterpret_cast<std::uintptr_t>(lower) | reinterpret_cast<std::uintptr_t>(upper) |
                          reinterpret_cast<std::uintptr_t>(out);
        const bool is_any_kernel = HasSpanKernel<O, T> && (out != lower || out != upper); // see combine()
        if (is_any_kernel || bits % alignof(T) == 0) {
            bough::combine<T>(op, reinterpret_cast<const T*>(lower), reinterpret_cast<const T*>(upper),
                              reinterpret_cast<T*>(out), count);
        } else {
            detail::combine_unaligned<O, T>(op, lower, upper, out, count);
        }
    } else {
        constexpr std::size_t size = wire_size_v<T>;
        for (std::size_t i = 0; i != count; ++i) {
            const T a = wire<T>::decode(std::span<const std::byte, size>(lower + i * size, size));
            const T b = wire<T>::decode(std::span<const std::byte, size>(upper + i * size, size));
            wire<T>::encode(static_cast<T>(op(a, b)), std::span<std::byte, size>(out + i * size, size));
        }
    }
}

} // namespace detail

// The same over `count` elements in wire form (bough/op/wire.hpp), for callers that know neither T
// nor O. `state` is the op, or null for an op without state. Any alignment is right; the natural
// one of T is fast.
template <class O, WireType T>
requires Op<O, T>
void combine_bytes(const void* state, const std::byte* lower, const std::byte* upper, std::byte* out,
                   std::size_t count) noexcept(travels_as_bytes_v<T> && !KernelOp<O, T> &&
                                               detail::is_nothrow_op_v<O, T>) {
    if (count == 0) return;
    if constexpr (detail::is_stateless_v<O>) {
        detail::combine_wire<O, T>(O{}, lower, upper, out, count);
    } else {
        detail::combine_wire<O, T>(*static_cast<const O*>(state), lower, upper, out, count);
    }
}

} // namespace bough

#undef BOUGH_UNROLL

#endif
