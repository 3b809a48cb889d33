// SPDX-License-Identifier: BSL-1.0
// Traits of ops and elements that travel in a call signature: op_id<O>, type_id<T>; and
// has_identity_v<O, T>.
//
// The ops of bough and the arithmetic types have ids that do not depend on the compiler. Others are
// hashed from their name, which g++ and clang++ spell alike for ordinary classes, also in unnamed
// namespaces; not for class templates, local classes and lambdas. Specialise them to give a name of
// your own:
//   template <> inline constexpr std::uint64_t bough::op_id<my_op> = bough::hash_name("my_op");
// What ranks compare is made of these, and of more where that is the default (bough/op/identity.hpp).
#ifndef BOUGH_OP_TRAITS_HPP
#define BOUGH_OP_TRAITS_HPP

#include <bough/concepts/op.hpp>
#include <bough/op/wire.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

// op.template identity<T>(): op(identity, r) == r and op(r, identity) == r for every r that op
// itself can return.
template <class O, class T>
inline constexpr bool has_identity_v = requires(const O& op) {
    { op.template identity<T>() } -> std::convertible_to<T>;
};

namespace detail {

inline constexpr std::uint64_t fnv_offset = 0xcbf2'9ce4'8422'2325u;

constexpr std::uint64_t fnv1a(std::uint64_t hash, char c) noexcept {
    return (hash ^ static_cast<unsigned char>(c)) * 0x0000'0100'0000'01b3u;
}

// Does the text at `at` begin with `word`?
constexpr bool begins(const char* at, const char* word) noexcept {
    while (*word != '\0') {
        if (*at++ != *word++) return false;
    }
    return true;
}

} // namespace detail

// FNV-1a, 64 bits, of a string literal.
template <std::size_t Extent>
constexpr std::uint64_t hash_name(const char (&name)[Extent]) noexcept {
    std::uint64_t hash = detail::fnv_offset;
    for (std::size_t i = 0; i + 1 < Extent; ++i) hash = detail::fnv1a(hash, name[i]);
    return hash;
}

namespace detail {

struct type_name_hash {
    std::uint64_t value = fnv_offset;
    // The name has a part that is a place in the source: of a lambda or an unnamed class.
    bool is_unnamed = false;
};

// Hashes the name of X as the compiler prints it, without what compilers print differently: blanks, the
// name of unnamed namespaces, bough's inline namespace, the folder of a source file. The parameter must
// keep its name, and the signature must stay free of typedefs.
template <class X>
constexpr auto hash_type_text() noexcept {
    constexpr std::size_t length = sizeof(__PRETTY_FUNCTION__) - 1;
    const char* text = __PRETTY_FUNCTION__;
    std::size_t i = 0;
    while (!begins(text + i, "X = ")) ++i;
    type_name_hash made;
    for (i += 4; i < length - 1;) { // the last character closes the bracket
        const char* at = text + i;
        if (begins(at, "{anonymous}")) {
            i += sizeof("{anonymous}") - 1;
            continue;
        }
        if (begins(at, BOUGH_ABI_TEXT "::")) {
            i += sizeof(BOUGH_ABI_TEXT "::") - 1;
            continue;
        }
        if (begins(at, "(anonymous namespace)")) {
            i += sizeof("(anonymous namespace)") - 1;
            continue;
        }
        if (begins(at, "<lambda") || begins(at, "<unnamed")) made.is_unnamed = true;
        if (begins(at, "(lambda at ") || begins(at, "(unnamed ")) {
            made.is_unnamed = true;
            std::size_t file = i + 1;
            for (std::size_t k = i; k < length && text[k] != ':'; ++k) {
                if (begins(text + k, " at ")) file = k + 4;
                if (text[k] == '/') file = k + 1;
            }
            made.value = fnv1a(made.value, '(');
            i = file;
            continue;
        }
        if (*at != ' ') made.value = fnv1a(made.value, *at);
        ++i;
    }
    return made;
}
template <class X>
constexpr std::uint64_t hash_type_name() noexcept {
    return hash_type_text<X>().value;
}

} // namespace detail

// Which op a call names. Specialise it for an op whose name is not the same on all ranks.
template <class O>
inline constexpr std::uint64_t op_id = detail::hash_type_name<O>();

// What kind of number an element is, if it is one.
enum class type_category : std::uint8_t { signed_integer, unsigned_integer, floating, other };

// What ranks must agree on about their elements.
struct type_signature {
    std::uint32_t size = 0; // bytes of one element on the wire
    type_category category = type_category::other;
    std::uint64_t hash = 0;
    friend constexpr bool operator==(const type_signature&, const type_signature&) = default;
};

namespace detail {

template <class T>
constexpr type_signature signature_of() noexcept {
    type_signature s;
    if constexpr (WireType<T>) {
        s.size = static_cast<std::uint32_t>(wire_size_v<T>);
    } else {
        s.size = static_cast<std::uint32_t>(sizeof(T));
    }
    if constexpr (std::is_arithmetic_v<T>) {
        // By kind and size, so that long and long long agree where they are the same number.
        s.category = std::is_floating_point_v<T> ? type_category::floating
                     : std::is_signed_v<T>       ? type_category::signed_integer
                                                 : type_category::unsigned_integer;
        s.hash = fnv1a(fnv1a(hash_name("bough.arithmetic"), static_cast<char>(s.category)), static_cast<char>(s.size));
    } else {
        s.hash = hash_type_name<T>();
    }
    return s;
}

} // namespace detail

// Which element type a call names.
template <class T>
inline constexpr type_signature type_id = detail::signature_of<T>();

} // namespace bough

#endif
