// SPDX-License-Identifier: BSL-1.0
// scan: rank r gets op over the vectors of the ranks 0 to r, element by element.
//
//   scan(comm, data, op [, choice])        in place; throws bough::error
//   scan(comm, in, out, op [, choice])     in.size() == out.size(), no partial overlap
//   scan(comm, value, op [, choice])       returns the result, for one value
//   scan(..., ec)                          never throws; ec: a std::error_code or a bough::status
//   start_scan(...)                        returns a bough::operation at once; no ec
//   bind_scan(...)                         a persistent_operation, to be started many times; no ec
// What is started writes its result into data of yours, also into a single variable.
//
// Data        a span or what one can be made of; one value is anything else that has a wire form. Counts
//             are elements; none is fine
// Choice      a plan, an algorithm (recursive_doubling_scan{}), a family that serves scan, or automatic{}
// Agreement   every rank gives the same count, type, op and choice
// Time        that of the plan. automatic{}: ceil(log2 p) rounds of whole vectors
// Determinism the lower rank's value stands left, in a bracket that depends on the plan and the
//             rank alone
// Errors      invalid_argument and size_overflow for wrong arguments; call_mismatch where ranks do not
//             agree; those of doc/design/005. The output is unspecified then, `in` is unchanged
// Source      MPI_Scan; the algorithm names its own
#ifndef BOUGH_SCAN_HPP
#define BOUGH_SCAN_HPP

#include <bough/call/blocks.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/names.hpp>
#include <bough/call/repeat_call.hpp>
#include <bough/call/via_state.hpp>
#include <bough/core/config.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#if !BOUGH_COMPILED_ELSEWHERE
#include <bough/select/standard/scan.hpp>
#endif

namespace bough::inline BOUGH_ABI {

namespace detail {

template <class T, RunsCalls Comm, class O, class Choice>
status run_scan(Comm& comm, std::span<const T> in, std::span<T> out, const O& op, const Choice& choice) {
    static_assert(explain_written<T>() && explain_op<O, T>() && explain_choice<goal::scan, Choice>());
    if (const status bad = detail::check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T)))
        return comm.refuse(bad);
    if (status said; detail::repeat_call<goal::scan, O>(comm, in.data(), out.data(), in.size(), 0,
                                                        __builtin_addressof(op), choice, said))
        return said;
    return detail::guard_call(comm, [&]() -> status {
        typed_call<T> typed{.at = {.size = comm.size()}, .in = in.data(), .out = out.data(), .count = in.size()};
        typed.op = bough::make_any_op<T>(comm.hold(op));
        typed.commutative = is_commutative_v<O>;
        typed.exact = is_exact_v<O, T>;
        typed.signature = detail::signature_of<T>(op, in.size(), 0);
        if constexpr (std::same_as<Choice, automatic>)
            return detail::run_and_remember<goal::scan, O>(comm, typed, choice);
        else
            return detail::run_choice<goal::scan>(comm, typed, choice, [](const auto& c) { return c; });
    });
}

// An op that combines states, as exact_sum.
template <class T, RunsCalls Comm, class O, class Choice>
requires LiftedOp<O, T> status run_scan(Comm& comm, std::span<const T> in, std::span<T> out, const O& op,
                                        const Choice& choice) {
    if (const status bad = detail::check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T)))
        return comm.refuse(bad);
    return detail::run_via_state(comm, in, out, op, [&]<class S>(std::span<S> states, const O& held) {
        return detail::run_scan<S>(comm, states, states, held, choice);
    });
}

struct scan_forms : takes<goal::scan, parameters{.op = true, .values = true}> {
    template <class On, class T, std::size_t Extent, NotData O, NotData Choice = automatic>
    static status call(On& on, std::span<T, Extent> data, const O& op, const Choice& choice = {}) {
        return detail::run_scan<T>(on, data, data, op, choice);
    }
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData O,
              NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<T, Extent> out, const O& op,
                       const Choice& choice = {}) {
        return detail::run_scan<T>(on, in, out, op, choice);
    }
};

} // namespace detail

inline constexpr detail::blocking<detail::scan_forms> scan{};
inline constexpr detail::starting<detail::scan_forms> start_scan{};
inline constexpr detail::binding<detail::scan_forms> bind_scan{};

BOUGH_COMPILED_GOAL(goal::scan)

} // namespace bough

#endif
