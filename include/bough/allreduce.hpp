// SPDX-License-Identifier: BSL-1.0
// allreduce: every rank gets op over the vectors of all ranks, element by element; the lower rank's value stands left.
//
//   allreduce(comm, data, op [, choice])              in place; throws bough::error
//   allreduce(comm, in, out, op [, choice])           in.size() == out.size(), no partial overlap
//   allreduce(..., ec)                                never throws; ec is a std::error_code or a bough::status
// `choice` is a plan, an algorithm or family (recursive_doubling{}, ring{}), a tree source (fnomial{.degree = 4}) or automatic{},
// which may require properties: automatic{.required = rank_consistent | order_preserving}.
// Every rank gives the same count, type, op and choice. On error the output is unspecified, `in` is unchanged.
#ifndef BOUGH_ALLREDUCE_HPP
#define BOUGH_ALLREDUCE_HPP

#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/detail/front_door.hpp>
#include <bough/detail/lifted.hpp>
#include <bough/select/standard/allreduce.hpp>

namespace bough {

namespace detail {

template <class T, class Comm, class O, class Choice>
status run_allreduce(Comm& comm, std::span<const T> in, std::span<T> out, const O& op, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        static_assert(explain_written<T>() && explain_op<O, T>() && explain_choice<goal::allreduce, Choice, true>());
        static_assert(explain_exact<Choice, O, T>());
        if (const status bad = check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T)))
            return comm.refuse(bad);
        typed_call<T> typed{{.size = comm.size()},
                            in.data(),
                            out.data(),
                            in.size(),
                            make_any_op<T>(comm.hold(op)),
                            is_commutative_v<O>,
                            signature_of<T, O>(in.size(), 0)};
        typed.exact = is_exact_v<O, T>;
        const auto wrap = []<class C>(const C& c) {
            if constexpr (TreeSource<C>)
                return tree_allreduce<C>{c};
            else
                return c;
        };
        if constexpr (std::same_as<Choice, automatic>) {
            return run_automatic<goal::allreduce>(comm, typed, choice);
        } else {
            return run_choice<goal::allreduce>(comm, typed, choice, wrap);
        }
    });
}

// An op that combines states, as exact_sum.
template <class T, class Comm, class O, class Choice>
requires LiftedOp<O, T> status run_allreduce(Comm& comm, std::span<const T> in, std::span<T> out, const O& op,
                                             const Choice& choice) {
    if (const status bad = check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T))) return comm.refuse(bad);
    return run_lifted(comm, in, out, op, [&]<class S>(std::span<S> states, const O& held) {
        return detail::run_allreduce<S>(comm, states, states, held, choice);
    });
}

} // namespace detail

template <class X, class T, std::size_t N, class O, class Choice = automatic>
void allreduce(communicator<X>& comm, std::span<T, N> data, const O& op, const Choice& choice = {}) {
    detail::throw_if(detail::run_allreduce<T>(comm, data, data, op, choice));
}
template <class X, class T, std::size_t N, class O, ErrorResult E>
void allreduce(communicator<X>& comm, std::span<T, N> data, const O& op, E& ec) {
    detail::report(detail::run_allreduce<T>(comm, data, data, op, automatic{}), ec);
}
template <class X, class T, std::size_t N, class O, class Choice, ErrorResult E>
void allreduce(communicator<X>& comm, std::span<T, N> data, const O& op, const Choice& choice, E& ec) {
    detail::report(detail::run_allreduce<T>(comm, data, data, op, choice), ec);
}

template <class X, class T, std::size_t N, class U, std::size_t M, class O, class Choice = automatic>
requires std::same_as<std::remove_const_t<U>, T>
void allreduce(communicator<X>& comm, std::span<U, M> in, std::span<T, N> out, const O& op, const Choice& choice = {}) {
    detail::throw_if(detail::run_allreduce<T>(comm, in, out, op, choice));
}
template <class X, class T, std::size_t N, class U, std::size_t M, class O, ErrorResult E>
requires std::same_as<std::remove_const_t<U>, T>
void allreduce(communicator<X>& comm, std::span<U, M> in, std::span<T, N> out, const O& op, E& ec) {
    detail::report(detail::run_allreduce<T>(comm, in, out, op, automatic{}), ec);
}
template <class X, class T, std::size_t N, class U, std::size_t M, class O, class Choice, ErrorResult E>
requires std::same_as<std::remove_const_t<U>, T>
void allreduce(communicator<X>& comm, std::span<U, M> in, std::span<T, N> out, const O& op, const Choice& choice,
               E& ec) {
    detail::report(detail::run_allreduce<T>(comm, in, out, op, choice), ec);
}

// Data in a vector, an array or the like: each is taken as a span.
template <class X, class... A>
requires(detail::SpanLike<A> || ...) void allreduce(communicator<X>& comm, A&&... arguments) {
    allreduce(comm, detail::as_span(std::forward<A>(arguments))...);
}

} // namespace bough

#endif
