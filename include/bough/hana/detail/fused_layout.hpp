// SPDX-License-Identifier: BSL-1.0
// fused_layout: where each member of a fused struct stands on the wire, and how all members are
// lifted, lowered and combined.
#ifndef BOUGH_HANA_DETAIL_FUSED_LAYOUT_HPP
#define BOUGH_HANA_DETAIL_FUSED_LAYOUT_HPP

#include <bough/hana/detail/fused_rule.hpp>
#include <bough/hana/detail/members.hpp>
#include <bough/op/combine.hpp>
#include <bough/op/traits.hpp>

#include <boost/hana/at.hpp>
#include <boost/hana/basic_tuple.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// One member, and the op on it. An op without state takes no room.
template <class Accessor, class O, bool = is_stateless_v<O>>
struct fused_field {
    using accessor = Accessor;
    using op_type = O;
    O kept;
    constexpr const O& op() const noexcept { return kept; }
};
template <class Accessor, class O>
struct fused_field<Accessor, O, true> {
    using accessor = Accessor;
    using op_type = O;
    constexpr O op() const noexcept { return {}; }
};

template <class S, class Field>
using rule_of = fused_rule<typename Field::op_type, member_type<S, typename Field::accessor>>;

template <class S, class... Field>
struct fused_layout {
    using fields = boost::hana::basic_tuple<Field...>;
    static constexpr std::size_t size = (std::size_t{0} + ... + rule_of<S, Field>::size);
    // The struct's memory is its wire form.
    static constexpr bool plain = (rule_of<S, Field>::plain && ...) && size == sizeof(S);
    static constexpr op_traits traits = [] {
        op_traits all{true, true, true, true};
        ((all = joined(all, rule_of<S, Field>::traits)), ...);
        return all;
    }();
    static constexpr bool has_identity = (rule_of<S, Field>::has_identity && ...);
    static constexpr std::uint64_t hash = [] {
        std::uint64_t h = hash_name("bough.fused");
        ((h = mix_hash(mix_hash(h, rule_of<S, Field>::hash), rule_of<S, Field>::size)), ...);
        return h;
    }();

    static constexpr void lift(const fields& ops, const S& whole, std::byte* to) {
        each(ops, [&]<class F>(const F& f, std::size_t at) {
            rule_of<S, F>::lift(f.op(), typename F::accessor{}(whole), to + at);
        });
    }
    static constexpr void lower(const fields& ops, const std::byte* from, S& whole) {
        each(ops, [&]<class F>(const F& f, std::size_t at) {
            rule_of<S, F>::lower(f.op(), from + at, typename F::accessor{}(whole));
        });
    }
    static constexpr void combine(const fields& ops, const std::byte* lower, const std::byte* upper, std::byte* out) {
        each(ops, [&]<class F>(const F& f, std::size_t at) {
            rule_of<S, F>::combine(f.op(), lower + at, upper + at, out + at);
        });
    }
    static constexpr void identity(const fields& ops, std::byte* to) {
        each(ops, [&]<class F>(const F& f, std::size_t at) { rule_of<S, F>::identity(f.op(), to + at); });
    }

private:
    static constexpr std::array<std::size_t, sizeof...(Field)> offsets = [] {
        std::array<std::size_t, sizeof...(Field)> at{};
        std::size_t i = 0, next = 0;
        ((at[i++] = next, next += rule_of<S, Field>::size), ...);
        return at;
    }();
    // f(field, offset)
    template <class F>
    static constexpr void each(const fields& ops, const F& f) {
        [&]<std::size_t... I>(std::index_sequence<I...>) { (f(boost::hana::at_c<I>(ops), offsets[I]), ...); }
        (std::make_index_sequence<sizeof...(Field)>());
    }
};

// True, or a compile error that says what to write.
template <class S, class Field>
consteval bool explain_field() {
    static_assert(rule_of<S, Field>::exists,
                  "bough: the op of a field must take its member: two of it give one of it, or, for a std::array, two "
                  "elements one; a struct that is a member needs a fuse(...) of its own");
    return rule_of<S, Field>::exists;
}

} // namespace bough::detail

#endif
