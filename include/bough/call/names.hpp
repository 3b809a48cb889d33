// SPDX-License-Identifier: BSL-1.0
// The public names of a collective: function objects, all made from its one list of forms
// (bough/call/forms.hpp).
//
//   inline constexpr detail::blocking<detail::my_forms> mine{};
//   inline constexpr detail::starting<detail::my_forms> start_mine{};
//   inline constexpr detail::binding<detail::my_forms> bind_mine{};
// They are objects so that no function in the namespace of an argument's type is ever called in
// their place.
#ifndef BOUGH_CALL_NAMES_HPP
#define BOUGH_CALL_NAMES_HPP

#include <bough/call/contiguous.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/initiator.hpp>
#include <bough/call/named.hpp>
#include <bough/communicator.hpp>
#include <bough/core/config.hpp>
#include <bough/core/status.hpp>
#include <bough/operation.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// Forms run on the communicator itself, also if a derived object is given.
template <class X>
communicator<X>& base_of(communicator<X>& comm) noexcept {
    return comm;
}

// Runs the collective to its end.
template <class Forms>
struct blocking {
    template <CalledOn C, class... A>
    [[nodiscard]] form_result_t<Forms, A...> operator()(C&& comm, A&&... arguments) const {
        using group = std::remove_reference_t<C>;
        if constexpr (has_name_v<A...>) {
            return run_named(comm, std::forward<A>(arguments)...);
        } else if constexpr (explain_called_on<group>()) {
            if constexpr (detail::explain_arguments<Forms, group>(
                              std::make_index_sequence<sizeof...(A) - reports_v<A...>>(),
                              std::type_identity<std::tuple<A...>>())) {
                const auto run = [&on = detail::base_of(comm)]<class... B>(B&&... given) {
                    return detail::run_form<Forms>(on, std::forward<B>(given)...);
                };
                if constexpr (std::is_void_v<form_result_t<Forms, A...>>)
                    detail::end_call(run, std::forward<A>(arguments)...);
                else
                    return end_value_call(comm, run, std::forward<A>(arguments)...);
            }
        }
    }

private:
    // Starts a call with a name, and waits for its end.
    template <class C, class... A>
    static form_result_t<Forms, A...> run_named(C& comm, A&&... arguments) {
        if constexpr (!std::is_void_v<form_result_t<Forms, A...>>) {
            return run_named_value(comm, std::forward<A>(arguments)...);
        } else if constexpr (reports_v<A...>) {
            detail::without_last(
                [&]<class... B>(B&&... rest) {
                    detail::start_collective<operation, Forms>(comm, std::forward<B>(rest)...)
                        .wait(detail::last_of(arguments...));
                },
                std::forward<A>(arguments)...);
        } else {
            detail::start_collective<operation, Forms>(comm, std::forward<A>(arguments)...).wait();
        }
    }
    template <class C, class V, class... A>
    static std::remove_cvref_t<V> run_named_value(C& comm, V&& given, A&&... rest) {
        std::remove_cvref_t<V> value(std::forward<V>(given));
        auto all = std::span<std::remove_cvref_t<V>>(std::addressof(value), 1);
        run_named(comm, all, std::forward<A>(rest)...);
        Forms::finish_value(comm, value, rest...);
        return value;
    }
    // Runs on a copy of the value, and returns it.
    template <class C, class Run, class V, class... A>
    static std::remove_cvref_t<V> end_value_call(C& comm, const Run& run, V&& given, A&&... rest) {
        std::remove_cvref_t<V> value(std::forward<V>(given));
        detail::end_call(run, value, std::forward<A>(rest)...);
        Forms::finish_value(comm, value, rest...);
        return value;
    }
};

// Starts the collective, or binds it, and returns.
template <class Forms, class Handle = operation>
struct starting {
    template <CalledOn C, class... A>
    [[nodiscard]] Handle operator()(C&& comm, A&&... arguments) const {
        return detail::start_collective<Handle, Forms>(comm, std::forward<A>(arguments)...);
    }
};
template <class Forms>
using binding = starting<Forms, persistent_operation>;

} // namespace bough::detail

#endif
