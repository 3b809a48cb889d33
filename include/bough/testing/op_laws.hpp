// SPDX-License-Identifier: BSL-1.0
// The laws of an Op, and the claims of its traits, as code: run them over your own op on values
// that matter to you.
//
//   static_assert(bough::testing::check_op<int>(my_op{}, samples) == bough::testing::op_fault{});
// Values are compared bit for bit in the form in which they travel; pass another equality for a
// type with padding. A law about what the op returns is checked on op(a, b) for all samples. It
// takes O(samples^3) calls for an exact op, and O(samples^2) otherwise.
#ifndef BOUGH_TESTING_OP_LAWS_HPP
#define BOUGH_TESTING_OP_LAWS_HPP

#include <bough/concepts/op.hpp>
#include <bough/op/combine.hpp>
#include <bough/op/traits.hpp>
#include <bough/op/wire.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace bough::inline BOUGH_ABI::testing {

// The laws.
enum class op_law : std::uint8_t {
    none,        // all laws hold
    pure,        // equal operands give equal results
    commutative, // claimed: op(a, b) == op(b, a)
    exact,       // claimed: op(op(a, b), c) == op(a, op(b, c))
    idempotent,  // claimed: op(r, r) == r for what op returns; op(op(a, a), b) == op(a, b)
    // If there is one: op(id, r) == r == op(r, id) for what op returns; op(op(id, a), b) == op(a,
    // b).
    identity,
    // Combine applies op element by element, be `out` apart from or at its operands; a: count, b:
    // where.
    kernel_result,
    kernel_overruns // combine writes nothing beside its elements; a: count
};

struct op_fault {
    op_law law = op_law::none;
    std::size_t a = 0; // the numbers of the samples that break it
    std::size_t b = 0;
    std::size_t c = 0;
    friend constexpr bool operator==(const op_fault&, const op_fault&) = default;
};

// Whether two values are equal in the form in which they travel.
struct same_wire {
    template <WireType T>
    constexpr bool operator()(const T& x, const T& y) const {
        std::array<std::byte, wire_size_v<T>> p{};
        std::array<std::byte, wire_size_v<T>> q{};
        wire<T>::encode(x, std::span<std::byte, wire_size_v<T>>(p));
        wire<T>::encode(y, std::span<std::byte, wire_size_v<T>>(q));
        for (std::size_t i = 0; i != p.size(); ++i) {
            if (p[i] != q[i]) return false;
        }
        return true;
    }
};

namespace detail {

template <class T, class O>
constexpr T apply(const O& op, const T& a, const T& b) {
    return static_cast<T>(op(a, b));
}

template <class T, class O, class Same>
constexpr op_fault check_identity(const O& op, std::span<const T> x, Same same) {
    if constexpr (bough::has_identity_v<O, T>) {
        const T id = op.template identity<T>();
        for (std::size_t i = 0; i != x.size(); ++i) {
            for (std::size_t j = 0; j != x.size(); ++j) {
                const T r = apply<T>(op, x[i], x[j]);
                if (!same(apply<T>(op, id, r), r)) return {op_law::identity, i, j, 0};
                if (!same(apply<T>(op, r, id), r)) return {op_law::identity, i, j, 0};
                if (!same(apply<T>(op, apply<T>(op, id, x[i]), x[j]), r)) {
                    return {op_law::identity, i, j, 0};
                }
            }
        }
    }
    return {};
}

template <class T, class O, class Same>
constexpr op_fault check_kernel(const O& op, std::span<const T> x, Same same, std::size_t count) {
    if (x.empty()) return {};
    std::vector<T> lower(count + 2, x[0]);
    std::vector<T> upper(count + 2, x[0]);
    for (std::size_t i = 0; i != count; ++i) {
        lower[i + 1] = x[i % x.size()];
        upper[i + 1] = x[(i / x.size() + i) % x.size()];
    }
    // The result goes 0: apart, 1: into lower, 2: into upper; 3: both operands and the result are
    // the same
    for (std::size_t form = 0; form != 4; ++form) {
        std::vector<T> a = lower;
        std::vector<T> b = upper;
        std::vector<T> apart(count + 2, x[0]);
        std::vector<T>& right = form == 3 ? a : b;
        std::vector<T>& out = form == 0 ? apart : form == 2 ? b : a;
        bough::combine<T>(op, a.data() + 1, right.data() + 1, out.data() + 1, count);
        for (std::size_t i = 0; i != count; ++i) {
            const T expected = apply<T>(op, lower[i + 1], form == 3 ? lower[i + 1] : upper[i + 1]);
            if (!same(out[i + 1], expected)) return {op_law::kernel_result, count, i, form};
        }
        if (!same(out[0], x[0]) || !same(out[count + 1], x[0])) {
            return {op_law::kernel_overruns, count, 0, form};
        }
    }
    return {};
}

} // namespace detail

template <class T, Op<T> O, class Same = same_wire>
constexpr op_fault check_op(const O& op, std::type_identity_t<std::span<const T>> x, Same same = {}) {
    using detail::apply;
    for (std::size_t i = 0; i != x.size(); ++i) {
        for (std::size_t j = 0; j != x.size(); ++j) {
            const T r = apply<T>(op, x[i], x[j]);
            if (!same(apply<T>(op, x[i], x[j]), r)) return {op_law::pure, i, j, 0};
            if constexpr (bough::is_commutative_v<O>) {
                if (!same(apply<T>(op, x[j], x[i]), r)) return {op_law::commutative, i, j, 0};
            }
            if constexpr (bough::is_idempotent_v<O>) {
                if (!same(apply<T>(op, r, r), r)) return {op_law::idempotent, i, j, 0};
                if (!same(apply<T>(op, apply<T>(op, x[i], x[i]), x[j]), r)) {
                    return {op_law::idempotent, i, j, 0};
                }
            }
            if constexpr (bough::is_exact_v<O, T>) {
                for (std::size_t k = 0; k != x.size(); ++k) {
                    if (!same(apply<T>(op, r, x[k]), apply<T>(op, x[i], apply<T>(op, x[j], x[k])))) {
                        return {op_law::exact, i, j, k};
                    }
                }
            }
        }
    }
    if (const op_fault v = detail::check_identity<T>(op, x, same); v.law != op_law::none) return v;
    if constexpr (!std::same_as<T, bool>) { // a vector<bool> is not an array
        for (const std::size_t count : std::array<std::size_t, 8>{0, 1, 2, 15, 16, 17, 64, 131}) {
            if (const op_fault v = detail::check_kernel<T>(op, x, same, count); v.law != op_law::none) return v;
        }
    }
    return {};
}

} // namespace bough::testing

#endif
