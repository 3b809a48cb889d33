// SPDX-License-Identifier: BSL-1.0
// scan: rank r gets op over the vectors of the ranks 0 to r, element by element; the lower rank's value stands left.
//
//   scan(comm, data, op [, choice])        in place; throws bough::error
//   scan(comm, in, out, op [, choice])     in.size() == out.size(), no partial overlap
//   (..., ec)                              never throws; ec is a std::error_code or a bough::status
// `choice` is a plan, an algorithm (recursive_doubling_scan{}), a family that serves scan, or automatic{}.
// Every rank gives the same count, type, op and choice. On error the output is unspecified, `in` is unchanged.
#ifndef BOUGH_SCAN_HPP
#define BOUGH_SCAN_HPP

#include <bough/detail/blocks.hpp>
#include <bough/detail/lifted.hpp>
#include <bough/select/standard/scan.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

namespace bough {

namespace detail {

template <class T, class Comm, class O, class Choice>
status run_scan(Comm& comm, std::span<const T> in, std::span<T> out, const O& op, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        static_assert(explain_written<T>() && explain_op<O, T>() && explain_choice<goal::scan, Choice>());
        if (const status bad = check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T)))
            return comm.refuse(bad);
        typed_call<T> typed{.at = {.size = comm.size()}, .in = in.data(), .out = out.data(), .count = in.size()};
        typed.op = make_any_op<T>(comm.hold(op));
        typed.commutative = is_commutative_v<O>;
        typed.exact = is_exact_v<O, T>;
        typed.signature = signature_of<T, O>(in.size(), 0);
        if constexpr (std::same_as<Choice, automatic>)
            return run_automatic<goal::scan>(comm, typed, choice);
        else
            return run_choice<goal::scan>(comm, typed, choice, [](const auto& c) { return c; });
    });
}

// An op that combines states, as exact_sum.
template <class T, class Comm, class O, class Choice>
requires LiftedOp<O, T> status run_scan(Comm& comm, std::span<const T> in, std::span<T> out, const O& op,
                                        const Choice& choice) {
    if (const status bad = check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T))) return comm.refuse(bad);
    return run_lifted(comm, in, out, op, [&]<class S>(std::span<S> states, const O& held) {
        return detail::run_scan<S>(comm, states, states, held, choice);
    });
}

} // namespace detail

template <class X, class T, std::size_t N, class O, class Choice = automatic>
void scan(communicator<X>& comm, std::span<T, N> data, const O& op, const Choice& choice = {}) {
    detail::throw_if(detail::run_scan<T>(comm, data, data, op, choice));
}
template <class X, class T, std::size_t N, class O, ErrorResult E>
void scan(communicator<X>& comm, std::span<T, N> data, const O& op, E& ec) {
    detail::report(detail::run_scan<T>(comm, data, data, op, automatic{}), ec);
}
template <class X, class T, std::size_t N, class O, class Choice, ErrorResult E>
void scan(communicator<X>& comm, std::span<T, N> data, const O& op, const Choice& choice, E& ec) {
    detail::report(detail::run_scan<T>(comm, data, data, op, choice), ec);
}

template <class X, class T, std::size_t N, class U, std::size_t M, class O, class Choice = automatic>
requires std::same_as<std::remove_const_t<U>, T>
void scan(communicator<X>& comm, std::span<U, M> in, std::span<T, N> out, const O& op, const Choice& choice = {}) {
    detail::throw_if(detail::run_scan<T>(comm, in, out, op, choice));
}
template <class X, class T, std::size_t N, class U, std::size_t M, class O, ErrorResult E>
requires std::same_as<std::remove_const_t<U>, T>
void scan(communicator<X>& comm, std::span<U, M> in, std::span<T, N> out, const O& op, E& ec) {
    detail::report(detail::run_scan<T>(comm, in, out, op, automatic{}), ec);
}
template <class X, class T, std::size_t N, class U, std::size_t M, class O, class Choice, ErrorResult E>
requires std::same_as<std::remove_const_t<U>, T>
void scan(communicator<X>& comm, std::span<U, M> in, std::span<T, N> out, const O& op, const Choice& choice, E& ec) {
    detail::report(detail::run_scan<T>(comm, in, out, op, choice), ec);
}

// Data in a vector, an array or the like: each is taken as a span.
template <class X, class... A>
requires(detail::SpanLike<A> || ...) void scan(communicator<X>& comm, A&&... arguments) {
    scan(comm, detail::as_span(std::forward<A>(arguments))...);
}

} // namespace bough

#endif
