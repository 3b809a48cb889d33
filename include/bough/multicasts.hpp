// SPDX-License-Identifier: BSL-1.0
// multicasts: many multicasts in one call, each from a root of its own to some members.
//
//   const std::vector<multicast_request> wanted{{.root = 0, .members = {1, 2, 5}}, {.root = 3, .members = {1, 4, 5}}};
//   multicasts(comm, data, wanted [, choice])     in place; throws bough::error
//   multicasts(..., ec)                           never throws; ec: a std::error_code or a bough::status
//   start_multicasts(...)                         returns a bough::operation at once; no ec
//   bind_multicasts(...)                          a persistent_operation, to be started many times; no ec
//
// Data        the whole vector on every rank, cut into as many parts as there are multicasts (block_begin):
//             part k is read on the root of multicast k and written on its members; others stay as they are
// Choice      a plan or an algorithm (ordered_multicasts{wanted, order}) or automatic{}:
//             balanced_multicasts among ranks of equal costs. For ranks that differ in speed, and for
//             many calls with the same wishes, make a plan once: plan_multicasts(wanted,
//             balanced_multicasts(costs, wanted).order, ...)
// Agreement   every rank calls it with the same wishes in the same order, the same count and choice
// Time        that of the plan. automatic{} makes its list anew in each call, in time messages * members
// Determinism nothing is combined: every member gets the root's bytes
// Errors      invalid_argument and size_overflow for wrong arguments; call_mismatch where ranks do not
//             agree; those of doc/design/005. The parts that a rank was to receive are unspecified then
// Source      bough/algorithm/multicast/many.hpp
#ifndef BOUGH_MULTICASTS_HPP
#define BOUGH_MULTICASTS_HPP

#include <bough/algorithm/multicast/many.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/front_door.hpp>
#include <bough/call/names.hpp>
#include <bough/tree/multicasts.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

// The balanced order if every message costs every rank the same. Pre: the wishes name ranks of the group.
template <int = 0>
ordered_multicasts order_of_equals(std::vector<multicast_request> wanted, rank_t size) {
    const std::vector<int> one(size, 1);
    auto made =
        balanced_multicasts(tree_costs<int>{.send = one, .receive = one}, std::span<const multicast_request>(wanted));
    return {std::move(wanted), std::move(made.order)};
}

template <class T, RunsCalls Comm, class Choice>
status multicasts_typed(Comm& comm, const typed_call<T>& typed, std::span<const multicast_request> wanted,
                        const Choice& choice) {
    static_assert(explain_choice<goal::multicasts, Choice>());
    const ordered_multicasts asked{{wanted.begin(), wanted.end()}, {}};
    if (const status bad = asked.check(typed.at)) return comm.refuse(bad);
    const auto unchanged = [](const auto& c) { return c; };
    if constexpr (std::same_as<Choice, automatic>) {
        return detail::run_choice<goal::multicasts>(comm, typed, order_of_equals(asked.wanted, comm.size()), unchanged);
    } else {
        if (!(choice.goal() == asked.goal()))
            return comm.refuse(invalid_argument("wanted: not the multicasts of the given plan or algorithm"));
        return detail::run_choice<goal::multicasts>(comm, typed, choice, unchanged);
    }
}

template <class T, RunsCalls Comm, class Choice>
status run_multicasts(Comm& comm, std::span<T> data, std::span<const multicast_request> wanted, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        static_assert(explain_wire<T>());
        static_assert(explain_written<T>());
        if (const status bad = check_data(data.data(), data.size(), sizeof(T))) return comm.refuse(bad);
        typed_call<T> typed{.at = {.size = comm.size()}};
        typed.in = data.data();
        typed.out = data.data();
        typed.count = data.size();
        typed.signature = signature_of<T, void>(typed.count, 0);
        return multicasts_typed(comm, typed, wanted, choice);
    });
}

struct multicasts_forms : takes<goal::multicasts, parameters{.lists = true}> {
    template <class On, class T, std::size_t Extent, NotData Choice = automatic>
    static status call(On& on, std::span<T, Extent> data, std::span<const multicast_request> wanted,
                       const Choice& choice = {}) {
        return detail::run_multicasts<T>(on, data, wanted, choice);
    }
};

} // namespace detail

inline constexpr detail::blocking<detail::multicasts_forms> multicasts{};
inline constexpr detail::starting<detail::multicasts_forms> start_multicasts{};
inline constexpr detail::binding<detail::multicasts_forms> bind_multicasts{};

} // namespace bough

#endif
