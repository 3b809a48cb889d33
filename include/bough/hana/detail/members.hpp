// SPDX-License-Identifier: BSL-1.0
// explain_members: checks that a list of accessors names every member of a struct once, in the
// order in which they are declared.
//
// A struct has n members if it can be made from n initialisers and not from n + 1. An accessor is a
// stateless function object that returns a member of a struct: one of Hana's, or a type made from a
// pointer to the member.
#ifndef BOUGH_HANA_DETAIL_MEMBERS_HPP
#define BOUGH_HANA_DETAIL_MEMBERS_HPP

#include <bough/core/config.hpp>

#include <boost/hana/accessors.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/unpack.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <class P>
struct member_pointer;
template <class S, class M>
struct member_pointer<M S::*> {
    using whole = S;
    using type = M;
};

template <auto Member>
struct member_accessor {
    template <class S>
    constexpr auto& operator()(S& whole) const noexcept {
        return whole.*Member;
    }
};

template <class S, class Accessor>
using member_type = std::remove_cvref_t<decltype(std::declval<const Accessor&>()(std::declval<S&>()))>;

// Converts to the type of any member of S.
template <class S>
struct any_member {
    template <class M>
    requires(!std::same_as<std::remove_cvref_t<M>, S>) constexpr operator M() const noexcept;
};

template <class S, std::size_t Members>
inline constexpr bool takes_initialisers_v = []<std::size_t... I>(std::index_sequence<I...>) {
    return requires { S{((void)I, any_member<S>{})...}; };
}
(std::make_index_sequence<Members>());

// The largest struct that can be fused.
inline constexpr std::size_t most_members = 16;

// Where the N members of a struct are, in the order of declaration.
template <std::size_t Members, class S>
constexpr std::array<const void*, Members> member_addresses(const S& s) {
    if constexpr (Members == 1) {
        auto& [a] = s;
        return {&a};
    } else if constexpr (Members == 2) {
        auto& [a, b] = s;
        return {&a, &b};
    } else if constexpr (Members == 3) {
        auto& [a, b, c] = s;
        return {&a, &b, &c};
    } else if constexpr (Members == 4) {
        auto& [a, b, c, d] = s;
        return {&a, &b, &c, &d};
    } else if constexpr (Members == 5) {
        auto& [a, b, c, d, e] = s;
        return {&a, &b, &c, &d, &e};
    } else if constexpr (Members == 6) {
        auto& [a, b, c, d, e, f] = s;
        return {&a, &b, &c, &d, &e, &f};
    } else if constexpr (Members == 7) {
        auto& [a, b, c, d, e, f, g] = s;
        return {&a, &b, &c, &d, &e, &f, &g};
    } else if constexpr (Members == 8) {
        auto& [a, b, c, d, e, f, g, h] = s;
        return {&a, &b, &c, &d, &e, &f, &g, &h};
    } else if constexpr (Members == 9) {
        auto& [a, b, c, d, e, f, g, h, i] = s;
        return {&a, &b, &c, &d, &e, &f, &g, &h, &i};
    } else if constexpr (Members == 10) {
        auto& [a, b, c, d, e, f, g, h, i, j] = s;
        return {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j};
    } else if constexpr (Members == 11) {
        auto& [a, b, c, d, e, f, g, h, i, j, k] = s;
        return {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k};
    } else if constexpr (Members == 12) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l] = s;
        return {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l};
    } else if constexpr (Members == 13) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = s;
        return {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l, &m};
    } else if constexpr (Members == 14) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = s;
        return {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l, &m, &n};
    } else if constexpr (Members == 15) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = s;
        return {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l, &m, &n, &o};
    } else if constexpr (Members == 16) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = s;
        return {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l, &m, &n, &o, &p};
    }
}

// If no S can be made at compile time, the order is not checked.
template <class S>
concept MadeAtCompileTime = requires {
    typename std::bool_constant<(S{}, true)>;
};
template <class S, class... Accessor>
consteval bool in_declaration_order() {
    if constexpr (MadeAtCompileTime<S>) {
        S whole{};
        const auto declared = member_addresses<sizeof...(Accessor)>(whole);
        std::size_t i = 0;
        return ((static_cast<const void*>(&Accessor{}(whole)) == declared[i++]) && ...);
    }
    return true;
}
template <class First, class... Rest>
consteval bool are_distinct() {
    if constexpr (sizeof...(Rest) == 0)
        return true;
    else
        return !(std::same_as<First, Rest> || ...) && are_distinct<Rest...>();
}

// True, or a compile error that says what to write.
template <class S, class... Accessor>
consteval bool explain_members() {
    constexpr std::size_t count = sizeof...(Accessor);
    static_assert(std::is_aggregate_v<S>, "bough: a struct that is fused must be an aggregate: public members, no "
                                          "constructor and no base");
    static_assert(count != 0, "bough: name the members of the struct: field<&my_struct::member>(op)");
    if constexpr (std::is_aggregate_v<S> && count != 0) {
        static_assert(
            requires { S{}; }, "bough: a struct that is fused must have a value without arguments: S{}");
        static_assert((!std::is_array_v<member_type<S, Accessor>> && ...),
                      "bough: an array that is a member of a fused struct must be a std::array");
        constexpr bool distinct = are_distinct<Accessor...>();
        static_assert(distinct, "bough: a member of the struct is named twice");
        constexpr bool complete = takes_initialisers_v<S, count> && !takes_initialisers_v<S, count + 1>;
        static_assert(complete || !distinct,
                      "bough: a member of the struct is not named: every one needs a field<&my_struct::member>(op)");
        static_assert(!complete || count <= most_members,
                      "bough: a struct that is fused has at most 16 members: put some into a struct of their own");
        if constexpr (distinct && complete && count <= most_members)
            static_assert(in_declaration_order<S, Accessor...>(),
                          "bough: name the members of the struct in the order in which they are declared");
    }
    return true;
}

// A list of types.
template <class... A>
struct accessor_list {};

// The accessors of a Hana Struct (BOOST_HANA_DEFINE_STRUCT, BOOST_HANA_ADAPT_STRUCT).
template <class S>
using hana_accessors = decltype(boost::hana::unpack(boost::hana::accessors<S>(), [](auto... named) {
    return accessor_list<std::remove_cvref_t<decltype(boost::hana::second(named))>...>{};
}));

} // namespace bough::detail

#endif
