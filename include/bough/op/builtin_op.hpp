// SPDX-License-Identifier: BSL-1.0
// builtin_op: the shipped ops by number, for runtimes that learn op and element type at run time.
//
// This header includes every kernel of the table (12 ops on 10 types). If you need one op, use
// make_any_op.
#ifndef BOUGH_OP_BUILTIN_OP_HPP
#define BOUGH_OP_BUILTIN_OP_HPP

#include <bough/op/any_op.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/bitwise.hpp>
#include <bough/op/logical.hpp>
#include <bough/op/min_max.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

// The numbers are stable: runtimes may store them.
enum class element_type : std::uint8_t { i8, i16, i32, i64, u8, u16, u32, u64, f32, f64 };
enum class op_kind : std::uint8_t {
    plus,
    multiplies,
    min,
    max,
    min_number,
    max_number,
    land, // logical
    lor,
    lxor,
    band, // bitwise
    bor,
    bxor,
};

namespace detail {

template <class O>
struct any_op_on {
    template <class T>
    static constexpr any_op of() noexcept {
        if constexpr (Op<O, T>) {
            return make_any_op<T>(O{});
        } else {
            return {};
        }
    }
    static constexpr any_op of(element_type type) noexcept {
        switch (type) {
        case element_type::i8: return of<std::int8_t>();
        case element_type::i16: return of<std::int16_t>();
        case element_type::i32: return of<std::int32_t>();
        case element_type::i64: return of<std::int64_t>();
        case element_type::u8: return of<std::uint8_t>();
        case element_type::u16: return of<std::uint16_t>();
        case element_type::u32: return of<std::uint32_t>();
        case element_type::u64: return of<std::uint64_t>();
        case element_type::f32: return of<float>();
        case element_type::f64: return of<double>();
        }
        return {};
    }
};

} // namespace detail

// The op. It is empty (false) if the pair makes no sense, like bitwise ops on floating-point
// numbers, or if a number is not in the tables.
template <int = 0>
constexpr any_op builtin_op(op_kind kind, element_type type) noexcept {
    switch (kind) {
    case op_kind::plus: return detail::any_op_on<plus>::of(type);
    case op_kind::multiplies: return detail::any_op_on<multiplies>::of(type);
    case op_kind::min: return detail::any_op_on<min>::of(type);
    case op_kind::max: return detail::any_op_on<max>::of(type);
    case op_kind::min_number: return detail::any_op_on<min_number>::of(type);
    case op_kind::max_number: return detail::any_op_on<max_number>::of(type);
    case op_kind::land: return detail::any_op_on<logical_and>::of(type);
    case op_kind::lor: return detail::any_op_on<logical_or>::of(type);
    case op_kind::lxor: return detail::any_op_on<logical_xor>::of(type);
    case op_kind::band: return detail::any_op_on<bit_and>::of(type);
    case op_kind::bor: return detail::any_op_on<bit_or>::of(type);
    case op_kind::bxor: return detail::any_op_on<bit_xor>::of(type);
    }
    return {};
}

} // namespace bough

#endif
