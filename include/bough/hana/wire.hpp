// SPDX-License-Identifier: BSL-1.0
// packed_wire: gives a struct a wire form, member by member and without padding, for any collective
// and any op.
//
//   struct sample { std::uint8_t kind; double value; };                            // 16 bytes in memory, 9 on the wire
//   template <> struct bough::wire<sample> : bough::packed_wire<sample, &sample::kind, &sample::value> {};
// A Hana Struct (BOOST_HANA_DEFINE_STRUCT, BOOST_HANA_ADAPT_STRUCT) lists its members itself:
// bough::packed_wire<sample>.
//
// Every member must be named once, in the order of declaration, and travels in its own wire form.
// So equal structs have equal bytes if equal members have. Needs Boost.Hana 1.74 or later.
#ifndef BOUGH_HANA_WIRE_HPP
#define BOUGH_HANA_WIRE_HPP

#include <bough/hana/detail/members.hpp>
#include <bough/op/explain_wire.hpp>

#include <cstddef>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

namespace detail {

template <class S, auto... Member>
struct chosen_accessors {
    using type = accessor_list<member_accessor<Member>...>;
};
template <class S>
struct chosen_accessors<S> {
    using type = hana_accessors<S>;
};

template <class S, class Accessors>
struct packed_members;
template <class S, class... Accessor>
struct packed_members<S, accessor_list<Accessor...>> {
    static_assert(explain_members<S, Accessor...>());
    static_assert((explain_wire<member_type<S, Accessor>>() && ...));

    static constexpr std::size_t size = (std::size_t{0} + ... + wire_size_v<member_type<S, Accessor>>);

    static constexpr void encode(const S& whole, std::span<std::byte, size> out) {
        std::size_t at = 0;
        (put(Accessor{}(whole), out.data(), at), ...);
    }
    static constexpr S decode(std::span<const std::byte, size> in) {
        S whole{};
        std::size_t at = 0;
        (get(in.data(), at, Accessor{}(whole)), ...);
        return whole;
    }

private:
    template <class M>
    static constexpr void put(const M& member, std::byte* out, std::size_t& at) {
        constexpr std::size_t length = wire_size_v<M>;
        wire<M>::encode(member, std::span<std::byte, length>(out + at, length));
        at += length;
    }
    template <class M>
    static constexpr void get(const std::byte* in, std::size_t& at, M& member) {
        constexpr std::size_t length = wire_size_v<M>;
        member = wire<M>::decode(std::span<const std::byte, length>(in + at, length));
        at += length;
    }
};

} // namespace detail

template <class S, auto... Member>
struct packed_wire : detail::packed_members<S, typename detail::chosen_accessors<S, Member...>::type> {};

} // namespace bough

#endif
