// SPDX-License-Identifier: BSL-1.0
// Named: the name of a call, by which it is matched. Ranks start named calls in different orders.
//
//   bough::communicator grads = bough::duplicate(comm);   // all of its calls will have names
//   bough::operation op = bough::start_allreduce(grads, g, bough::plus{}, bough::named{"gradient/7"});
// It stands behind the other arguments of a collective, and before an error result. The communicator's
// first call says whether its calls have names: all of them, or none.
#ifndef BOUGH_CALL_NAMED_HPP
#define BOUGH_CALL_NAMED_HPP

#include <bough/core/config.hpp>

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI {

// 1 to 200 letters. On one communicator, no two operations of one name are in flight at a time. The
// name is copied.
struct named {
    std::string_view name;
};

namespace detail {

// The name as it is copied: one without letters has an address, too.
constexpr named name_in(const named& given) noexcept {
    return given.name.data() != nullptr ? given : named{std::string_view("", 0)};
}

template <class A>
inline constexpr bool is_named_v = std::is_same_v<std::remove_cvref_t<A>, named>;

// Is the last argument a name?
template <class... A>
inline constexpr bool ends_named_v = false;
template <class First, class... A>
inline constexpr bool ends_named_v<First, A...> = ends_named_v<A...>;
template <class Last>
inline constexpr bool ends_named_v<Last> = is_named_v<Last>;

template <class... A>
inline constexpr bool has_name_v = (is_named_v<A> || ...);

template <class... A>
consteval bool explain_named() {
    constexpr std::size_t names = (std::size_t{0} + ... + is_named_v<A>);
    static_assert(names == (ends_named_v<A...> ? 1 : 0),
                  "bough: a call has one name, behind its other arguments: named{\"gradient/7\"}");
    return true;
}

// Calls f(all but the last argument...).
template <class F, class... A>
decltype(auto) without_last(F&& f, A&&... arguments) {
    auto all = std::forward_as_tuple(std::forward<A>(arguments)...);
    return [&]<std::size_t... I>(std::index_sequence<I...>)->decltype(auto) {
        return f(std::get<I>(std::move(all))...);
    }
    (std::make_index_sequence<sizeof...(A) - 1>());
}
template <class... A>
constexpr auto& last_of(A&... arguments) noexcept {
    return std::get<sizeof...(A) - 1>(std::tie(arguments...));
}

} // namespace detail
} // namespace bough

#endif
