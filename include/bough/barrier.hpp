// SPDX-License-Identifier: BSL-1.0
// barrier: no rank leaves before every rank has entered.
//
//   barrier(comm [, choice])       throws bough::error
//   barrier(comm [, choice], ec)   never throws; ec: a std::error_code or a bough::status
//   start_barrier(comm [, choice]) returns a bough::operation at once: it ends when every rank has started it
//   bind_barrier(comm [, choice])  a persistent_operation, to be started many times
//
// Choice      a plan, an algorithm (dissemination{}, tree_allreduce{fnomial{4}}) or automatic{}
// Agreement   every rank gives the same choice
// Time        that of the plan. automatic{}: ceil(log2 p) rounds, or the fewest messages where ranks share
//             cores (bough/select/standard/barrier.hpp)
// Errors      call_mismatch where ranks do not agree; those of doc/design/005
// Source      MPI_Barrier; each algorithm names its own
#ifndef BOUGH_BARRIER_HPP
#define BOUGH_BARRIER_HPP

#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/front_door.hpp>
#include <bough/call/names.hpp>
#include <bough/call/repeat_call.hpp>
#include <bough/core/config.hpp>

#if !BOUGH_COMPILED_ELSEWHERE
#include <bough/select/standard/barrier.hpp>
#endif

namespace bough::inline BOUGH_ABI {

namespace detail {

template <RunsCalls Comm, class Choice>
status run_barrier(Comm& comm, const Choice& choice) {
    static_assert(explain_choice<goal::barrier, Choice>());
    if (status said;
        detail::repeat_call<goal::barrier, void, std::byte>(comm, nullptr, nullptr, 0, 0, nullptr, choice, said))
        return said;
    return detail::guard_call(comm, [&]() -> status {
        const typed_call<std::byte> typed{.at = {.size = comm.size()}};
        if constexpr (std::same_as<Choice, automatic>)
            return detail::run_and_remember<goal::barrier, void>(comm, typed, choice);
        else
            return detail::run_choice<goal::barrier>(comm, typed, choice,
                                                     [](const auto& algorithm) { return algorithm; });
    });
}

struct barrier_forms : takes<goal::barrier, parameters{.data = false}> {
    template <class On, NotData Choice = automatic>
    static status call(On& on, const Choice& choice = {}) {
        return detail::run_barrier(on, choice);
    }
};

} // namespace detail

inline constexpr detail::blocking<detail::barrier_forms> barrier{};
inline constexpr detail::starting<detail::barrier_forms> start_barrier{};
inline constexpr detail::binding<detail::barrier_forms> bind_barrier{};

BOUGH_COMPILED_GOAL(goal::barrier)

} // namespace bough

#endif
