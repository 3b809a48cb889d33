// SPDX-License-Identifier: BSL-1.0
// allgather: every rank gets the blocks of all ranks, one behind the other in the order of ranks.
//
//   allgather(comm, in, out [, choice])            out: size() times as long as in
//   allgather(comm, data [, choice])               in place: data is the whole vector, this rank's own block in its place
//   allgatherv(comm, in, out, counts [, choice])   blocks that differ in length: rank r's has counts[r] elements
//   allgatherv(comm, data, counts [, choice])      the same in place
//   (..., ec)                                      never throws; ec is a std::error_code or a bough::status
// `choice` is a plan, an algorithm (circulant_allgather{}), a family that serves allgather, or automatic{}.
// Every rank gives the same counts (all of them; a count may be 0), type and choice. An allgather and an allgatherv do not
// match. On error `out` is unspecified, and so are the blocks of other ranks in `data`; `in` is unchanged.
#ifndef BOUGH_ALLGATHER_HPP
#define BOUGH_ALLGATHER_HPP

#include <bough/detail/blocks.hpp>
#include <bough/select/standard/allgather.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

namespace bough {

namespace detail {

// `own`: this rank's block; `whole`: all blocks.
template <class T, class Comm, class Choice>
status allgather_blocks(Comm& comm, std::span<const T> own, std::span<T> whole, const rank_blocks& blocks,
                        const Choice& choice) {
    static_assert(explain_wire<T>() && explain_choice<goal::allgather, Choice>());
    if (const status bad = check_blocks({own.data(), own.size(), whole.data(), whole.size()}, blocks, comm.rank(), true,
                                        sizeof(T), "out: must hold one block for every rank",
                                        "out: overlaps the input, but not as this rank's own block in its place"))
        return comm.refuse(bad);
    typed_call<T> typed{.at = {.size = comm.size()}, .count = blocks.total()};
    typed.in_parts = true;
    typed.in = own.data();
    typed.in_part = {comm.rank(), own.size()};
    typed.out = whole.data();
    typed.out_part = {0, whole.size()};
    typed.offsets = blocks.offsets();
    typed.signature = signature_of<T, void>(blocks.signature_count(), 0);
    if constexpr (std::same_as<Choice, automatic>)
        return run_automatic<goal::allgather>(comm, typed, choice);
    else
        return run_cut<goal::allgather>(comm, typed, comm.size(), choice);
}

template <class T, class Comm, class Choice>
status run_allgather(Comm& comm, std::span<const T> in, std::span<T> out, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        const auto blocks = rank_blocks::equal(comm.size(), in.size(), block_element_bytes<T>);
        return allgather_blocks<T>(comm, in, out, blocks, choice);
    });
}
template <class T, class Comm, class Choice>
status run_allgatherv(Comm& comm, std::span<const T> in, std::span<T> out, std::span<const std::size_t> counts,
                      const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        const auto blocks = rank_blocks::of(comm.size(), counts, block_element_bytes<T>);
        return allgather_blocks<T>(comm, in, out, blocks, choice);
    });
}
template <class T, class Comm, class Choice>
status allgather_in_place(Comm& comm, std::span<T> data, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        if (const status bad = check_equal_cut(data.size(), comm.size())) return comm.refuse(bad);
        const auto blocks = rank_blocks::equal(comm.size(), data.size() / comm.size(), block_element_bytes<T>);
        return allgather_blocks<T>(comm, own_block(data, blocks, comm.rank()), data, blocks, choice);
    });
}
template <class T, class Comm, class Choice>
status allgatherv_in_place(Comm& comm, std::span<T> data, std::span<const std::size_t> counts, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        const auto blocks = rank_blocks::of(comm.size(), counts, block_element_bytes<T>);
        if (const status bad = check_sum(data.size(), blocks)) return comm.refuse(bad);
        return allgather_blocks<T>(comm, own_block(data, blocks, comm.rank()), data, blocks, choice);
    });
}

} // namespace detail

template <class X, class T, std::size_t N, class U, std::size_t M, class Choice = automatic>
requires std::same_as<std::remove_const_t<U>, T>
void allgather(communicator<X>& comm, std::span<U, M> in, std::span<T, N> out, const Choice& choice = {}) {
    detail::throw_if(detail::run_allgather<T>(comm, in, out, choice));
}
template <class X, class T, std::size_t N, class U, std::size_t M, ErrorResult E>
requires std::same_as<std::remove_const_t<U>, T>
void allgather(communicator<X>& comm, std::span<U, M> in, std::span<T, N> out, E& ec) {
    detail::report(detail::run_allgather<T>(comm, in, out, automatic{}), ec);
}
template <class X, class T, std::size_t N, class U, std::size_t M, class Choice, ErrorResult E>
requires std::same_as<std::remove_const_t<U>, T>
void allgather(communicator<X>& comm, std::span<U, M> in, std::span<T, N> out, const Choice& choice, E& ec) {
    detail::report(detail::run_allgather<T>(comm, in, out, choice), ec);
}

template <class X, class T, std::size_t N, class Choice = automatic>
void allgather(communicator<X>& comm, std::span<T, N> data, const Choice& choice = {}) {
    detail::throw_if(detail::allgather_in_place<T>(comm, data, choice));
}
template <class X, class T, std::size_t N, ErrorResult E>
void allgather(communicator<X>& comm, std::span<T, N> data, E& ec) {
    detail::report(detail::allgather_in_place<T>(comm, data, automatic{}), ec);
}
template <class X, class T, std::size_t N, class Choice, ErrorResult E>
void allgather(communicator<X>& comm, std::span<T, N> data, const Choice& choice, E& ec) {
    detail::report(detail::allgather_in_place<T>(comm, data, choice), ec);
}

template <class X, class T, std::size_t N, class U, std::size_t M, class Choice = automatic>
requires std::same_as<std::remove_const_t<U>, T>
void allgatherv(communicator<X>& comm, std::span<U, M> in, std::span<T, N> out, std::span<const std::size_t> counts,
                const Choice& choice = {}) {
    detail::throw_if(detail::run_allgatherv<T>(comm, in, out, counts, choice));
}
template <class X, class T, std::size_t N, class U, std::size_t M, ErrorResult E>
requires std::same_as<std::remove_const_t<U>, T>
void allgatherv(communicator<X>& comm, std::span<U, M> in, std::span<T, N> out, std::span<const std::size_t> counts,
                E& ec) {
    detail::report(detail::run_allgatherv<T>(comm, in, out, counts, automatic{}), ec);
}
template <class X, class T, std::size_t N, class U, std::size_t M, class Choice, ErrorResult E>
requires std::same_as<std::remove_const_t<U>, T>
void allgatherv(communicator<X>& comm, std::span<U, M> in, std::span<T, N> out, std::span<const std::size_t> counts,
                const Choice& choice, E& ec) {
    detail::report(detail::run_allgatherv<T>(comm, in, out, counts, choice), ec);
}

template <class X, class T, std::size_t N, class Choice = automatic>
requires detail::NotCounts<Choice>
void allgatherv(communicator<X>& comm, std::span<T, N> data, std::span<const std::size_t> counts,
                const Choice& choice = {}) {
    detail::throw_if(detail::allgatherv_in_place<T>(comm, data, counts, choice));
}
template <class X, class T, std::size_t N, ErrorResult E>
void allgatherv(communicator<X>& comm, std::span<T, N> data, std::span<const std::size_t> counts, E& ec) {
    detail::report(detail::allgatherv_in_place<T>(comm, data, counts, automatic{}), ec);
}
template <class X, class T, std::size_t N, class Choice, ErrorResult E>
requires detail::NotCounts<Choice>
void allgatherv(communicator<X>& comm, std::span<T, N> data, std::span<const std::size_t> counts, const Choice& choice,
                E& ec) {
    detail::report(detail::allgatherv_in_place<T>(comm, data, counts, choice), ec);
}

// Data in a vector, an array or the like: each is taken as a span.
template <class X, class... A>
requires(detail::SpanLike<A> || ...) void allgather(communicator<X>& comm, A&&... arguments) {
    allgather(comm, detail::as_span(std::forward<A>(arguments))...);
}
template <class X, class... A>
requires(detail::SpanLike<A> || ...) void allgatherv(communicator<X>& comm, A&&... arguments) {
    allgatherv(comm, detail::as_span(std::forward<A>(arguments))...);
}

} // namespace bough

#endif
