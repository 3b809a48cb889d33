// SPDX-License-Identifier: BSL-1.0
// barrier: no rank leaves before every rank has entered.
//
//   barrier(comm [, choice])       throws bough::error
//   barrier(comm [, choice], ec)   never throws; ec is a std::error_code or a bough::status
#ifndef BOUGH_BARRIER_HPP
#define BOUGH_BARRIER_HPP

#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/detail/front_door.hpp>

namespace bough {

namespace detail {

template <class Comm, class Choice>
status run_barrier(Comm& comm, const Choice& choice) {
    const typed_call<std::byte> typed{.at = {.size = comm.size()}};
    return run_choice<goal::barrier>(comm, typed, choice, [](const auto& algorithm) { return algorithm; });
}

} // namespace detail

template <class X, class Choice = dissemination>
void barrier(communicator<X>& comm, const Choice& choice = {}) {
    detail::throw_if(detail::run_barrier(comm, choice));
}
template <class X, ErrorResult E>
void barrier(communicator<X>& comm, E& ec) {
    detail::report(detail::run_barrier(comm, dissemination{}), ec);
}
template <class X, class Choice, ErrorResult E>
void barrier(communicator<X>& comm, const Choice& choice, E& ec) {
    detail::report(detail::run_barrier(comm, choice), ec);
}

} // namespace bough

#endif
