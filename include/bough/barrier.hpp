// SPDX-License-Identifier: BSL-1.0
// barrier: no rank leaves before every rank has entered.
//
//   barrier(comm [, choice])       throws bough::error
//   barrier(comm [, choice], ec)   never throws; ec is a std::error_code or a bough::status
// `choice` is a plan, an algorithm (dissemination{}, tree_allreduce{fnomial{4}}) or automatic{}. Every rank gives the same.
#ifndef BOUGH_BARRIER_HPP
#define BOUGH_BARRIER_HPP

#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/detail/front_door.hpp>
#include <bough/select/standard/barrier.hpp>

namespace bough {

namespace detail {

template <class Comm, class Choice>
status run_barrier(Comm& comm, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        const typed_call<std::byte> typed{.at = {.size = comm.size()}};
        if constexpr (std::same_as<Choice, automatic>)
            return run_automatic<goal::barrier>(comm, typed, choice);
        else
            return run_choice<goal::barrier>(comm, typed, choice, [](const auto& algorithm) { return algorithm; });
    });
}

} // namespace detail

template <class X, class Choice = automatic>
void barrier(communicator<X>& comm, const Choice& choice = {}) {
    detail::throw_if(detail::run_barrier(comm, choice));
}
template <class X, ErrorResult E>
void barrier(communicator<X>& comm, E& ec) {
    detail::report(detail::run_barrier(comm, automatic{}), ec);
}
template <class X, class Choice, ErrorResult E>
void barrier(communicator<X>& comm, const Choice& choice, E& ec) {
    detail::report(detail::run_barrier(comm, choice), ec);
}

} // namespace bough

#endif
