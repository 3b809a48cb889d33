// SPDX-License-Identifier: BSL-1.0
// fused_rule: how one member of a fused struct travels and is combined: a value, a lifted value, an
// array, or a struct.
//
//   size                                bytes on the wire
//   plain                               memory and wire are the same bytes, combined without a lift
//   lift(op, member, to), lower(op, from, member), combine(op, lower, upper, out)
//   traits, has_identity, identity(op, to), hash
#ifndef BOUGH_HANA_DETAIL_FUSED_RULE_HPP
#define BOUGH_HANA_DETAIL_FUSED_RULE_HPP

#include <bough/concepts/op.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/lift.hpp>
#include <bough/op/mix_hash.hpp>
#include <bough/op/traits.hpp>
#include <bough/op/wire.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI::detail {

constexpr op_traits joined(const op_traits& a, const op_traits& b) noexcept {
    return {a.commutative && b.commutative, a.exact && b.exact, a.idempotent && b.idempotent,
            a.integer_only && b.integer_only};
}

// A fused op names the struct that it combines, and what makes it up (bough/hana/fuse.hpp).
template <class O>
concept FusedOp = requires {
    typename O::fused_struct;
    typename O::layout;
};

template <class O, class M>
struct fused_rule {
    static constexpr bool exists = false;
};

// The part of a rule that depends on what travels: an E, which is M itself or its state.
template <class O, class E>
struct element_rule {
    static constexpr bool exists = true;
    static constexpr std::size_t size = wire_size_v<E>;
    static constexpr op_traits traits = op_traits_of<O, E>;
    static constexpr bool has_identity = has_identity_v<O, E>;
    static constexpr std::uint64_t hash = mix_hash(op_id<O>, type_id<E>.hash);

    static constexpr E read(const std::byte* from) {
        return wire<E>::decode(std::span<const std::byte, size>(from, size));
    }
    static constexpr void write(const E& value, std::byte* to) {
        wire<E>::encode(value, std::span<std::byte, size>(to, size));
    }
    static constexpr void combine(const O& op, const std::byte* lower, const std::byte* upper, std::byte* out) {
        write(static_cast<E>(op(read(lower), read(upper))), out);
    }
    static constexpr void identity(const O& op, std::byte* to) { write(op.template identity<E>(), to); }
};

template <class O, class M>
requires(Op<O, M>&& WireType<M>) struct fused_rule<O, M> : element_rule<O, M> {
    static constexpr bool plain = travels_as_bytes_v<M>;
    static constexpr void lift(const O&, const M& member, std::byte* to) { element_rule<O, M>::write(member, to); }
    static constexpr void lower(const O&, const std::byte* from, M& member) { member = element_rule<O, M>::read(from); }
};

template <class O, class M>
requires LiftedOp<O, M>
struct fused_rule<O, M> : element_rule<O, state_of<O, M>> {
    static constexpr bool plain = false;
    static constexpr void lift(const O& op, const M& member, std::byte* to) {
        element_rule<O, state_of<O, M>>::write(op.lift(member), to);
    }
    static constexpr void lower(const O& op, const std::byte* from, M& member) {
        member = op.lower(element_rule<O, state_of<O, M>>::read(from));
    }
};

// The elements of an array, one by one, unless the op combines whole arrays.
template <class O, class E, std::size_t Extent>
requires(!FusedOp<O> && !Op<O, std::array<E, Extent>> && !LiftedOp<O, std::array<E, Extent>> &&
         fused_rule<O, E>::exists && Extent != 0) struct fused_rule<O, std::array<E, Extent>> {
    using each = fused_rule<O, E>;
    static constexpr bool exists = true, plain = each::plain, has_identity = each::has_identity;
    static constexpr std::size_t size = Extent * each::size;
    static constexpr op_traits traits = each::traits;
    static constexpr std::uint64_t hash = mix_hash(each::hash, Extent);

    static constexpr void lift(const O& op, const std::array<E, Extent>& member, std::byte* to) {
        for (std::size_t i = 0; i != Extent; ++i) each::lift(op, member[i], to + i * each::size);
    }
    static constexpr void lower(const O& op, const std::byte* from, std::array<E, Extent>& member) {
        for (std::size_t i = 0; i != Extent; ++i) each::lower(op, from + i * each::size, member[i]);
    }
    static constexpr void combine(const O& op, const std::byte* lower, const std::byte* upper, std::byte* out) {
        for (std::size_t i = 0; i != size; i += each::size) each::combine(op, lower + i, upper + i, out + i);
    }
    static constexpr void identity(const O& op, std::byte* to) {
        for (std::size_t i = 0; i != size; i += each::size) each::identity(op, to + i);
    }
};

// A struct in a struct, by a fused op of its own.
template <FusedOp O>
struct fused_rule<O, typename O::fused_struct> : O::layout {
    static constexpr bool exists = true;
    using layout = typename O::layout;
    static constexpr void lift(const O& op, const typename O::fused_struct& member, std::byte* to) {
        layout::lift(op.fields(), member, to);
    }
    static constexpr void lower(const O& op, const std::byte* from, typename O::fused_struct& member) {
        layout::lower(op.fields(), from, member);
    }
    static constexpr void combine(const O& op, const std::byte* lower, const std::byte* upper, std::byte* out) {
        layout::combine(op.fields(), lower, upper, out);
    }
    static constexpr void identity(const O& op, std::byte* to) { layout::identity(op.fields(), to); }
};

} // namespace bough::detail

#endif
