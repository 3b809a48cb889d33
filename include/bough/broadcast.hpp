// SPDX-License-Identifier: BSL-1.0
// broadcast: every rank gets the root's vector.
//
//   broadcast(comm, data, root{r} [, choice])   the root's data is only read; throws bough::error
//   broadcast(comm, value, root{r} [, choice])  returns the root's value
//   broadcast(..., ec)                          never throws; ec: a std::error_code or a bough::status
//   start_broadcast(...)                        returns a bough::operation at once; no ec
//   bind_broadcast(...)                         a persistent_operation, to be started many times; no ec
// What is started writes its result into data of yours, also into a single variable.
//
// Data        a span or what one can be made of; one value is anything else that has a wire form.
//             Counts are elements; none is fine
// Choice      a plan, an algorithm or family (circulant{}), a tree source (fnomial{.degree = 4}) or
//             automatic{}
// Agreement   every rank gives the same count, type, root and choice
// Time        that of the plan. automatic{}: trees for short vectors, blocks or parts of them for long
//             ones (bough/select/standard/broadcast.hpp)
// Determinism nothing is combined: every rank gets the root's bytes
// Errors      invalid_argument and size_overflow for wrong arguments; call_mismatch where ranks do not
//             agree; those of doc/design/005. The data of other ranks than the root is unspecified then
// Source      MPI_Bcast; each algorithm names its own
#ifndef BOUGH_BROADCAST_HPP
#define BOUGH_BROADCAST_HPP

#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/front_door.hpp>
#include <bough/call/names.hpp>
#include <bough/call/repeat_call.hpp>
#include <bough/core/config.hpp>

#if !BOUGH_COMPILED_ELSEWHERE
#include <bough/select/standard/broadcast.hpp>
#endif

namespace bough::inline BOUGH_ABI {

namespace detail {

template <class T, RunsCalls Comm, class Choice>
status run_broadcast(Comm& comm, std::span<T> data, root from, const Choice& choice) {
    static_assert(explain_written<T>() && explain_wire<T>() && explain_choice<goal::broadcast, Choice, true>());
    if (const status bad = detail::check_data(data.data(), data.size(), sizeof(T))) return comm.refuse(bad);
    if (from.rank >= comm.size()) return comm.refuse(invalid_argument("root: not a rank of the group"));
    if (status said; detail::repeat_call<goal::broadcast, void>(comm, data.data(), data.data(), data.size(), from.rank,
                                                                nullptr, choice, said))
        return said;
    return detail::guard_call(comm, [&]() -> status {
        typed_call<T> typed{.at = {.size = comm.size(), .root = from.rank},
                            .in = data.data(),
                            .out = data.data(),
                            .count = data.size()};
        typed.signature = signature_of<T, void>(data.size(), from.rank);
        if constexpr (std::same_as<Choice, automatic>) {
            return detail::run_and_remember<goal::broadcast, void>(comm, typed, choice);
        } else {
            return detail::run_choice<goal::broadcast>(comm, typed, choice, over_trees<tree_broadcast>{});
        }
    });
}

struct broadcast_forms : takes<goal::broadcast, parameters{.root = true, .trees = true, .values = true}> {
    using trees = over_trees<tree_broadcast>;
    template <class On, class T, std::size_t Extent, NotData Choice = automatic>
    static status call(On& on, std::span<T, Extent> data, root from, const Choice& choice = {}) {
        return detail::run_broadcast<T>(on, data, from, choice);
    }
};

} // namespace detail

inline constexpr detail::blocking<detail::broadcast_forms> broadcast{};
inline constexpr detail::starting<detail::broadcast_forms> start_broadcast{};
inline constexpr detail::binding<detail::broadcast_forms> bind_broadcast{};

BOUGH_COMPILED_GOAL(goal::broadcast)

} // namespace bough

#endif
