// SPDX-License-Identifier: BSL-1.0
// Identities: the 64 bits by which the signature of a call names its op and its element type.
//
//   op_identity<O>()      type_identity<T>()
// They are op_id<O> and type_id<T> where these are given: by bough, for its ops and the arithmetic
// types, or by a specialisation. Otherwise they are a hash of the name that the linker knows. So
// types that the linker tells apart have different identities: two lambdas of one function, local
// classes of one name, the instances of a template. Equal types have equal identities if all ranks
// run the same program, or programs that one compiler has made of the same source.
//
// An op that holds numbers, such as a scale, may have hash_of_values() (HoldsNumbers). Then the
// signature names the numbers, too.
//
// The language does not tell the following apart. If ranks differ only in them, the results are
// wrong, but the status is success:
//   - classes of one name in unnamed namespaces of two source files;
//   - with g++, lambdas without a variable of their own in unnamed namespaces of two source files;
//   - the values of ops that have no hash_of_values(): the state of a function object, what a function
//     pointer or std::function points to. Two functions of one type are one op; give a lambda that calls
//     the function.
// Without run-time type information (-fno-rtti) the ids themselves are taken: then neither local
// classes of one name are told apart, nor, with g++, lambdas of one function that have the same
// parameters. Ranks that are built by different compilers, or only in part with -fno-rtti, must
// give names to ops and types of their own: op_id, type_id.
#ifndef BOUGH_OP_IDENTITY_HPP
#define BOUGH_OP_IDENTITY_HPP

#include <bough/op/mix_hash.hpp>
#include <bough/op/traits.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <typeinfo>

namespace bough::inline BOUGH_ABI {

// The 64 bits that stand for a type signature.
constexpr std::uint64_t identity_of(const type_signature& t) noexcept {
    return detail::mix_hash(t.hash, std::uint64_t{t.size} << 8 | static_cast<std::uint8_t>(t.category));
}

// So many low bits of an op's identity tell of the numbers that it holds.
inline constexpr unsigned op_value_bits = 24;
// The identity of an op with the numbers that it holds. Its low bits are not those of the op alone.
constexpr std::uint64_t op_with_values(std::uint64_t op, std::uint64_t hash_of_values) noexcept {
    constexpr std::uint64_t low = (std::uint64_t{1} << op_value_bits) - 1;
    return op ^ ((detail::mix_hash(hash_of_values, 1) & low) | 1);
}
// Are these identities of one op with different numbers? Small ones are those of a program's own ops.
constexpr bool differ_in_values(std::uint64_t op, std::uint64_t other) noexcept {
    return op != other && op >> op_value_bits == other >> op_value_bits && op >> op_value_bits != 0;
}

namespace detail {

// Of rounded_once<O, State> (bough/op/rounded_once.hpp).
constexpr std::uint64_t rounded_once_identity(std::uint64_t op, std::size_t bytes_of_state) noexcept {
    return mix_hash(mix_hash(hash_name("bough.rounded_once"), op), bytes_of_state);
}

#if defined(__cpp_rtti)
// Pre: op_id or type_id of X is the default.
template <class X>
std::uint64_t linked_identity() noexcept {
    static const std::uint64_t id = [] {
        constexpr type_name_hash printed = hash_type_text<X>();
        // clang numbers lambdas anew in each source file, and prints where they stand.
        std::uint64_t hash = printed.is_unnamed ? printed.value : fnv_offset;
        for (const char* c = typeid(X).name(); *c != '\0';) {
            if (begins(c, BOUGH_ABI_TEXT)) // its length stands before it, and is the same for all settings
                c += sizeof(BOUGH_ABI_TEXT) - 1;
            else
                hash = fnv1a(hash, *c++);
        }
        return hash;
    }();
    return id;
}
#else
template <class X>
constexpr std::uint64_t linked_identity() noexcept {
    return hash_type_name<X>();
}
#endif

// How the op of a call is named; for ops that are made of others to specialise.
template <class O>
struct named_op {
    static std::uint64_t identity() noexcept {
        if constexpr (std::is_void_v<O> || op_id<O> != hash_type_name<O>())
            return op_id<O>;
        else
            return linked_identity<O>();
    }
};

} // namespace detail

// O: an op, or void, where a collective has none.
template <class O>
std::uint64_t op_identity() noexcept {
    return detail::named_op<O>::identity();
}

// An op with numbers that must be equal on all ranks, such as a scale.
template <class O>
concept HoldsNumbers = requires(const O& op) {
    { op.hash_of_values() }
    noexcept->std::same_as<std::uint64_t>;
};

namespace detail {
// The identity of an op in a call on elements of so many bytes, with the numbers that it holds. The bytes
// tell a call that runs on states from one that runs in series (bough/call/in_series.hpp), so that the
// reason for it is reported first (call_mismatch).
template <class O>
constexpr std::uint64_t with_numbers(std::uint64_t identity, [[maybe_unused]] const O& op,
                                     [[maybe_unused]] std::size_t element_bytes) noexcept {
    if constexpr (requires(O & x) { x.hash_of_values(); }) {
        static_assert(HoldsNumbers<O>, "bough: hash_of_values() of an op must be const and noexcept, and return "
                                       "std::uint64_t");
        if constexpr (HoldsNumbers<O>) return op_with_values(identity, mix_hash(op.hash_of_values(), element_bytes));
    }
    return identity;
}
} // namespace detail

template <class T>
std::uint64_t type_identity() noexcept {
    if constexpr (std::is_arithmetic_v<T> || type_id<T> != detail::signature_of<T>()) {
        return identity_of(type_id<T>);
    } else {
        type_signature named = type_id<T>;
        named.hash = detail::linked_identity<T>();
        return identity_of(named);
    }
}

} // namespace bough

#endif
