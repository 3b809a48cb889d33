// SPDX-License-Identifier: BSL-1.0
// broadcast: every rank gets the root's vector.
//
//   broadcast(comm, data, root{r} [, choice])   the root's data is only read; throws bough::error
//   broadcast(..., ec)                          never throws; ec is a std::error_code or a bough::status
// `choice` is a plan, an algorithm or family (circulant{}), a tree source (fnomial{.degree = 4}) or automatic{}.
// Every rank gives the same count, type, root and choice. On error the data of other ranks than the root is unspecified.
#ifndef BOUGH_BROADCAST_HPP
#define BOUGH_BROADCAST_HPP

#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/detail/front_door.hpp>
#include <bough/select/standard/broadcast.hpp>

namespace bough {

namespace detail {

template <class T, class Comm, class Choice>
status run_broadcast(Comm& comm, std::span<T> data, root from, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        static_assert(explain_written<T>() && explain_wire<T>() && explain_choice<goal::broadcast, Choice, true>());
        if (const status bad = check_data(data.data(), data.size(), sizeof(T))) return comm.refuse(bad);
        if (from.rank >= comm.size()) return comm.refuse(invalid_argument("root: not a rank of the group"));
        typed_call<T> typed{.at = {.size = comm.size(), .root = from.rank},
                            .in = data.data(),
                            .out = data.data(),
                            .count = data.size()};
        typed.signature = signature_of<T, void>(data.size(), from.rank);
        const auto wrap = []<class C>(const C& c) {
            if constexpr (TreeSource<C>)
                return tree_broadcast<C>{c};
            else
                return c;
        };
        if constexpr (std::same_as<Choice, automatic>) {
            return run_automatic<goal::broadcast>(comm, typed, choice);
        } else {
            return run_choice<goal::broadcast>(comm, typed, choice, wrap);
        }
    });
}

} // namespace detail

template <class X, class T, std::size_t N, class Choice = automatic>
void broadcast(communicator<X>& comm, std::span<T, N> data, root from, const Choice& choice = {}) {
    detail::throw_if(detail::run_broadcast<T>(comm, data, from, choice));
}
template <class X, class T, std::size_t N, ErrorResult E>
void broadcast(communicator<X>& comm, std::span<T, N> data, root from, E& ec) {
    detail::report(detail::run_broadcast<T>(comm, data, from, automatic{}), ec);
}
template <class X, class T, std::size_t N, class Choice, ErrorResult E>
void broadcast(communicator<X>& comm, std::span<T, N> data, root from, const Choice& choice, E& ec) {
    detail::report(detail::run_broadcast<T>(comm, data, from, choice), ec);
}

// Data in a vector, an array or the like: each is taken as a span.
template <class X, class... A>
requires(detail::SpanLike<A> || ...) void broadcast(communicator<X>& comm, A&&... arguments) {
    broadcast(comm, detail::as_span(std::forward<A>(arguments))...);
}

} // namespace bough

#endif
