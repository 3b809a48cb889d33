// SPDX-License-Identifier: BSL-1.0
// explain_op: static_assert(bough::explain_op<O, T>()) compiles, or says what is missing.
#ifndef BOUGH_CONCEPTS_EXPLAIN_OP_HPP
#define BOUGH_CONCEPTS_EXPLAIN_OP_HPP

#include <bough/concepts/op.hpp>

#include <type_traits>

namespace bough::inline BOUGH_ABI {

template <class O, class T>
consteval bool explain_op() {
    if constexpr (!Op<O, T>) {
        constexpr bool callable = detail::TakesTwo<O, T>;
        static_assert(
            callable || !std::is_invocable_v<const O&, const T&>,
            "bough: an Op needs two operands: this one takes one; write `T operator()(const T& lower, const T& "
            "upper) const`");
        static_assert(callable || !std::is_invocable_v<const O&, const T&, const T&, T&>,
                      "bough: an Op needs two operands and returns its result: this one takes three; write `T "
                      "operator()(const T& lower, const T& upper) const`");
        static_assert(callable || !std::is_invocable_v<O&, const T&, const T&>,
                      "bough: an Op needs a call on a const object: mark operator() const (a lambda: drop `mutable`)");
        static_assert(callable || !std::is_invocable_v<const O&, T&, T&>,
                      "bough: an Op needs operands that it only reads: take them by value or as `const T&`");
        static_assert(callable,
                      "bough: an Op needs a call with two elements of this type: write `T operator()(const T& "
                      "lower, const T& upper) const` (the shipped ops take only the types they make sense on)");
        if constexpr (callable)
            static_assert(detail::GivesElement<O, T>,
                          "bough: an Op needs a result that converts to the element type: return T from operator()");
    }
    return Op<O, T>;
}

} // namespace bough

#endif
