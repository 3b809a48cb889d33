// SPDX-License-Identifier: BSL-1.0
// reduce: the root gets op over the vectors of all ranks, element by element; the lower rank's value stands left.
//
//   reduce(comm, data, op, root{r} [, choice])        in place at the root; the data of other ranks stay as they are
//   reduce(comm, in, out, op, root{r} [, choice])     out is used at the root only, where it is as long as in
//   reduce(..., ec)                                   never throws; ec is a std::error_code or a bough::status
// `choice` is a plan, an algorithm or family (ring_reduce{}, circulant{}), a tree source (fnomial{.degree = 4}) or automatic{}.
// An op that is not known to commute gets a plan that keeps rank order for any root.
// Every rank gives the same count, type, op, root and choice. On error the output is unspecified, `in` is unchanged.
#ifndef BOUGH_REDUCE_HPP
#define BOUGH_REDUCE_HPP

#include <bough/algorithm/reduce/tree.hpp>
#include <bough/detail/front_door.hpp>
#include <bough/detail/lifted.hpp>
#include <bough/select/standard/reduce.hpp>

namespace bough {

namespace detail {

template <class T, class Comm, class O, class Choice>
status run_reduce(Comm& comm, std::span<const T> in, std::span<T> out, const O& op, root to, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        static_assert(explain_written<T>() && explain_op<O, T>() && explain_choice<goal::reduce, Choice, true>());
        const bool is_root = comm.rank() == to.rank;
        if (const status bad = is_root ? check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T))
                                       : check_data(in.data(), in.size(), sizeof(T)))
            return comm.refuse(bad);
        if (to.rank >= comm.size()) return comm.refuse(invalid_argument("root: not a rank of the group"));
        typed_call<T> typed{{.size = comm.size(), .root = to.rank}, in.data(),
                            is_root ? out.data() : nullptr,         in.size(),
                            make_any_op<T>(comm.hold(op)),          is_commutative_v<O>,
                            signature_of<T, O>(in.size(), to.rank)};
        typed.exact = is_exact_v<O, T>;
        const auto wrap = []<class C>(const C& c) {
            if constexpr (TreeSource<C>)
                return tree_reduce<C>{c};
            else
                return c;
        };
        if constexpr (!std::same_as<Choice, automatic>) {
            return run_choice<goal::reduce>(comm, typed, choice, wrap);
        } else {
            return run_automatic<goal::reduce>(comm, typed, choice);
        }
    });
}

// An op that combines states, as exact_sum.
template <class T, class Comm, class O, class Choice>
requires LiftedOp<O, T> status run_reduce(Comm& comm, std::span<const T> in, std::span<T> out, const O& op, root to,
                                          const Choice& choice) {
    const bool is_root = comm.rank() == to.rank;
    if (is_root)
        if (const status bad = check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T)))
            return comm.refuse(bad);
    return run_lifted(comm, in, is_root ? out : std::span<T>(), op, [&]<class S>(std::span<S> states, const O& held) {
        return detail::run_reduce<S>(comm, states, states, held, to, choice);
    });
}

} // namespace detail

template <class X, class T, std::size_t N, class O, class Choice = automatic>
void reduce(communicator<X>& comm, std::span<T, N> data, const O& op, root to, const Choice& choice = {}) {
    detail::throw_if(detail::run_reduce<T>(comm, data, data, op, to, choice));
}
template <class X, class T, std::size_t N, class O, ErrorResult E>
void reduce(communicator<X>& comm, std::span<T, N> data, const O& op, root to, E& ec) {
    detail::report(detail::run_reduce<T>(comm, data, data, op, to, automatic{}), ec);
}
template <class X, class T, std::size_t N, class O, class Choice, ErrorResult E>
void reduce(communicator<X>& comm, std::span<T, N> data, const O& op, root to, const Choice& choice, E& ec) {
    detail::report(detail::run_reduce<T>(comm, data, data, op, to, choice), ec);
}

template <class X, class T, std::size_t N, class U, std::size_t M, class O, class Choice = automatic>
requires std::same_as<std::remove_const_t<U>, T>
void reduce(communicator<X>& comm, std::span<U, M> in, std::span<T, N> out, const O& op, root to,
            const Choice& choice = {}) {
    detail::throw_if(detail::run_reduce<T>(comm, in, out, op, to, choice));
}
template <class X, class T, std::size_t N, class U, std::size_t M, class O, ErrorResult E>
requires std::same_as<std::remove_const_t<U>, T>
void reduce(communicator<X>& comm, std::span<U, M> in, std::span<T, N> out, const O& op, root to, E& ec) {
    detail::report(detail::run_reduce<T>(comm, in, out, op, to, automatic{}), ec);
}
template <class X, class T, std::size_t N, class U, std::size_t M, class O, class Choice, ErrorResult E>
requires std::same_as<std::remove_const_t<U>, T>
void reduce(communicator<X>& comm, std::span<U, M> in, std::span<T, N> out, const O& op, root to, const Choice& choice,
            E& ec) {
    detail::report(detail::run_reduce<T>(comm, in, out, op, to, choice), ec);
}

// Data in a vector, an array or the like: each is taken as a span.
template <class X, class... A>
requires(detail::SpanLike<A> || ...) void reduce(communicator<X>& comm, A&&... arguments) {
    reduce(comm, detail::as_span(std::forward<A>(arguments))...);
}

} // namespace bough

#endif
