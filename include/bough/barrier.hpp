// SPDX-License-Identifier: BSL-1.0
// barrier: no rank leaves before every rank has entered.
//
//   barrier(comm [, choice])       throws bough::error
//   barrier(comm [, choice], ec)   never throws; ec is a std::error_code or a bough::status
// `choice` is a plan, an algorithm (dissemination{}, tree_allreduce{fnomial{4}}) or automatic{}. Every rank gives the same.
#ifndef BOUGH_BARRIER_HPP
#define BOUGH_BARRIER_HPP

#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/front_door.hpp>
#include <bough/select/standard/barrier.hpp>

namespace bough::inline BOUGH_ABI {

namespace detail {

template <class Comm, class Choice>
status run_barrier(Comm& comm, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        static_assert(explain_choice<goal::barrier, Choice>());
        const typed_call<std::byte> typed{.at = {.size = comm.size()}};
        if constexpr (std::same_as<Choice, automatic>)
            return run_automatic<goal::barrier>(comm, typed, choice);
        else
            return run_choice<goal::barrier>(comm, typed, choice, [](const auto& algorithm) { return algorithm; });
    });
}

struct barrier_forms : takes<goal::barrier, parameters{.data = false}> {
    template <class On, NotData Choice = automatic>
    static status call(On& on, const Choice& choice = {}) {
        return detail::run_barrier(on, choice);
    }
};

} // namespace detail

template <detail::CalledOn C, class... A>
detail::form_result_t<detail::barrier_forms, A...> barrier(C&& comm, A&&... arguments) {
    return detail::call_collective<detail::barrier_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
