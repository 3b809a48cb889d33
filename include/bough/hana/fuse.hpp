// SPDX-License-Identifier: BSL-1.0
// fuse: makes an op on a struct from an op for each member, so that values that belong together
// travel in one message.
//
//   struct stats { double sum; double low; std::array<std::uint64_t, 4> counts; };
//   constexpr auto merge = bough::fuse(bough::field<&stats::sum>(bough::plus{}), bough::field<&stats::low>(bough::min{}),
//                                      bough::field<&stats::counts>(bough::plus{}));
//   allreduce(comm, std::span(&mine, 1), merge);
//
// Every member must be named once, in the order of declaration; a program that forgets one does not
// compile. A std::array is combined element by element, unless its op takes it whole. A struct in a
// struct has a fused op of its own. A Hana Struct may be fused by its list of members:
// fuse<stats>(plus{}, min{}, plus{}) with one op for each, or fuse_each<stats>(plus{}) with one op
// for all.
//
// On the wire there is no padding. If the memory has some, or a member's op lifts (exact_sum), the
// fused op is a LiftedOp, and its state is the members' wire forms, one behind the other. In either
// case merge.combined(a, b) combines two structs on this rank. The fused op has a trait
// (commutative, exact, idempotent, integer_only) or an identity if all members' ops have it on
// their members. op_id and the state's type_id are made from those of the members, in their order.
// The op is constexpr if the members' ops are.
//
// Needs Boost.Hana 1.74 or later.
#ifndef BOUGH_HANA_FUSE_HPP
#define BOUGH_HANA_FUSE_HPP

#include <bough/concepts/op.hpp>
#include <bough/hana/detail/fused_layout.hpp>
#include <bough/hana/detail/fused_rule.hpp>
#include <bough/hana/detail/members.hpp>
#include <bough/op/identity.hpp>
#include <bough/op/traits.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI {

// What travels for a struct that has padding, or members that are lifted.
template <class Fused>
struct fused_state {
    std::array<std::byte, Fused::layout::size> bytes{};
    friend constexpr bool operator==(const fused_state&, const fused_state&) = default;
};

template <class S, class... Field>
class fused {
public:
    using fused_struct = S;
    using layout = detail::fused_layout<S, Field...>;
    using state = fused_state<fused>;
    template <class T>
    requires(std::same_as<T, S> && !layout::plain) using state_type = state;

    constexpr fused() noexcept requires(std::is_empty_v<Field>&&...) : fields_{} {}
    constexpr explicit fused(Field... fields) : fields_(std::move(fields)...) {}

    constexpr S operator()(const S& lower, const S& upper) const requires(layout::plain) {
        return combined(lower, upper);
    }
    constexpr state operator()(const state& lower, const state& upper) const requires(!layout::plain) {
        state out;
        layout::combine(fields_, lower.bytes.data(), upper.bytes.data(), out.bytes.data());
        return out;
    }
    constexpr state lift(const S& whole) const requires(!layout::plain) { return lifted(whole); }
    constexpr S lower(const state& from) const requires(!layout::plain) { return lowered(from); }

    // Combines two structs on this rank.
    constexpr S combined(const S& lower, const S& upper) const {
        const state a = lifted(lower), b = lifted(upper);
        state out;
        layout::combine(fields_, a.bytes.data(), b.bytes.data(), out.bytes.data());
        return lowered(out);
    }

    template <class T>
    requires(layout::has_identity&& std::same_as<T, std::conditional_t<layout::plain, S, state>>) constexpr T
        identity() const {
        state neutral;
        layout::identity(fields_, neutral.bytes.data());
        if constexpr (layout::plain)
            return lowered(neutral);
        else
            return neutral;
    }

    constexpr const typename layout::fields& fields() const noexcept { return fields_; }

private:
    constexpr state lifted(const S& whole) const {
        state made;
        layout::lift(fields_, whole, made.bytes.data());
        return made;
    }
    constexpr S lowered(const state& from) const {
        S whole{};
        layout::lower(fields_, from.bytes.data(), whole);
        return whole;
    }

    [[no_unique_address]] typename layout::fields fields_; // takes no room if the ops have no state
};

namespace detail {

template <class Accessor, class O>
constexpr auto field_of(const O& op) {
    if constexpr (is_stateless_v<O>)
        return fused_field<Accessor, O>{};
    else
        return fused_field<Accessor, O>{op};
}

} // namespace detail

// The op on one member.
template <auto Member, class O>
requires std::is_member_object_pointer_v<decltype(Member)>
constexpr auto field(O op) { return detail::field_of<detail::member_accessor<Member>>(op); }

namespace detail {

template <class S, class... Field>
constexpr auto fuse_fields(const Field&... fields) {
    static_assert(explain_members<S, typename Field::accessor...>());
    static_assert((explain_field<S, Field>() && ...));
    return fused<S, Field...>(fields...);
}

template <class S, class... Accessor, class... O>
constexpr auto fuse_listed(accessor_list<Accessor...>, const O&... ops) {
    static_assert(sizeof...(O) == sizeof...(Accessor),
                  "bough: fuse<my_struct>(ops...) needs one op for each member of the Hana Struct, in their order");
    if constexpr (sizeof...(O) == sizeof...(Accessor))
        return detail::fuse_fields<S>(detail::field_of<Accessor>(ops)...);
}
template <class S, class... Accessor, class O>
constexpr auto fuse_listed_each(accessor_list<Accessor...>, const O& op) {
    return detail::fuse_fields<S>(detail::field_of<Accessor>(op)...);
}

} // namespace detail

// An op on the struct whose members the fields name.
template <auto First, class O, auto... Member, class... P>
constexpr auto fuse(const detail::fused_field<detail::member_accessor<First>, O>& first,
                    const detail::fused_field<detail::member_accessor<Member>, P>&... fields) {
    using whole = typename detail::member_pointer<decltype(First)>::whole;
    constexpr bool one = (std::same_as<whole, typename detail::member_pointer<decltype(Member)>::whole> && ...);
    static_assert(one, "bough: the fields of one fuse(...) must be members of one struct");
    if constexpr (one) return detail::fuse_fields<whole>(first, fields...);
}

// For a Hana Struct: one op for each member, in the order of the members.
template <class S, class... O>
requires(sizeof...(O) != 0) constexpr auto fuse(O... ops) {
    return detail::fuse_listed<S>(detail::hana_accessors<S>{}, ops...);
}
// The same op on every member.
template <class S, class O>
constexpr auto fuse_each(O op) {
    return detail::fuse_listed_each<S>(detail::hana_accessors<S>{}, op);
}

template <class S, class... F>
inline constexpr bool is_commutative_v<fused<S, F...>> = fused<S, F...>::layout::traits.commutative;
template <class S, class... F>
inline constexpr bool is_idempotent_v<fused<S, F...>> = fused<S, F...>::layout::traits.idempotent;
template <class S, class... F, class T>
requires Op<fused<S, F...>, T>
inline constexpr bool is_exact_v<fused<S, F...>, T> = fused<S, F...>::layout::traits.exact;
template <class S, class... F, class T>
requires Op<fused<S, F...>, T>
inline constexpr bool is_integer_only_v<fused<S, F...>, T> = fused<S, F...>::layout::traits.integer_only;
template <class S, class... F>
inline constexpr std::uint64_t op_id<fused<S, F...>> = fused<S, F...>::layout::hash;
// The ids of ops at compile time do not tell all lambdas apart.
template <class S, class... F>
struct detail::named_op<fused<S, F...>> {
    static std::uint64_t identity() noexcept {
        std::uint64_t h = op_id<fused<S, F...>>;
        ((h = detail::mix_hash(h, op_identity<typename F::op_type>())), ...);
        return h;
    }
};
template <class F>
inline constexpr type_signature type_id<fused_state<F>> = {F::layout::size, type_category::other, F::layout::hash};

} // namespace bough

#endif
