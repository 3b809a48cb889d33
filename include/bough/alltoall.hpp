// SPDX-License-Identifier: BSL-1.0
// alltoall: every rank has a block for every rank; block j of rank i's input becomes block i of rank j's output.
//
//   alltoall(comm, in, out [, choice])           both are size() blocks of one length
//   alltoallv(comm, in, send_counts, out, receive_counts [, choice])
//                                                blocks that differ in length, one behind the other:
//                                                send_counts[j] elements go to rank j, receive_counts[i] come
//                                                from rank i
//   alltoallv(comm, in, send_counts, out, receive_counts, at_most{16} [, choice])
//                                                no block of any rank has more than 16 elements
//   (..., ec)                                    never throws; ec: a std::error_code or a bough::status
//   start_alltoall(...), start_alltoallv(...)    return a bough::operation at once; no ec
//   bind_alltoall(...), bind_alltoallv(...)      a persistent_operation, to be started many times; no ec
//
// Data        spans, or what one can be made of; counts are std::size_t, of elements, and may be 0.
//             There is no in-place form: `out` must not overlap `in`
// Choice      a plan, an algorithm (pairwise_alltoall{}), a family that serves alltoall, or automatic{}.
//             alltoallv takes plans that send every block straight to its rank: others (bruck_alltoall)
//             pass on blocks whose lengths only their two ends know, and are refused. With at_most they serve,
//             too: each block travels in a slot for the longest one, which is copied at both ends
// Agreement   every rank gives the same type and choice. alltoall: every block has the same length on all
//             ranks. alltoallv: at_most is equal on all ranks; what rank i sends to rank j is as long as what j receives from i; if it is
//             not, that is an error (call_mismatch) at j, at the others from this call or their next one,
//             and nothing is cut off. An alltoall and an alltoallv do not match
// Time        that of the plan. automatic{}: few messages for short blocks, every block straight to its
//             rank for long ones (bough/select/standard/alltoall.hpp); where nodes are known, few
//             messages between these
// Determinism nothing is combined
// Errors      invalid_argument and size_overflow for wrong arguments; call_mismatch where ranks do not
//             agree; those of doc/design/005. `out` is unspecified then, `in` is unchanged
// Source      MPI_Alltoall, MPI_Alltoallv; each algorithm names its own
#ifndef BOUGH_ALLTOALL_HPP
#define BOUGH_ALLTOALL_HPP

#include <bough/algorithm/alltoall/pairwise.hpp>
#include <bough/call/blocks.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/in_slots.hpp>
#include <bough/call/names.hpp>
#include <bough/call/repeat_call.hpp>
#include <bough/core/config.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#if !BOUGH_COMPILED_ELSEWHERE
#include <bough/select/standard/alltoall.hpp>
#endif

namespace bough::inline BOUGH_ABI {

namespace detail {

// The rules for the data of a rank. `block`: the length of each, 0 if they differ.
template <class T>
status check_alltoall(std::span<const T> in, std::span<T> out, std::size_t ranks, std::size_t block) {
    if (ranks > 0xffff) {
        status s = invalid_argument("comm: alltoall numbers a block for every two ranks, which are too many");
        s.code = errc::unsupported;
        return s;
    }
    if (const status bad = detail::check_data(in.data(), in.size(), block_element_bytes<T>)) return bad;
    if (const status bad = detail::check_data(out.data(), out.size(), block_element_bytes<T>)) return bad;
    const auto a = reinterpret_cast<std::uintptr_t>(in.data());
    const auto b = reinterpret_cast<std::uintptr_t>(out.data());
    if (!in.empty() && !out.empty() && a < b + out.size_bytes() && b < a + in.size_bytes())
        return invalid_argument("out: overlaps the input, and alltoall has no in-place form");
    return rank_blocks::equal(static_cast<rank_t>(ranks * ranks), block, block_element_bytes<T>).bad();
}

// The call of a rank whose data keeps the rules, with its place in the matrix of blocks.
template <class T>
typed_call<T> alltoall_call(std::span<const T> in, std::span<T> out, rank_t ranks, rank_t rank, std::size_t block) {
    typed_call<T> typed{.at = {.size = ranks}, .in = in.data(), .out = out.data()};
    typed.count = std::size_t{ranks} * ranks * block;
    typed.in_parts = true;
    typed.in_part = {rank * ranks, in.size()};
    typed.out_part = {rank, out.size()};
    typed.row = ranks;
    typed.signature = signature_of<T, void>(block, 0);
    return typed;
}

template <class T, RunsCalls Comm, class Choice>
status run_alltoall(Comm& comm, std::span<const T> in, std::span<T> out, const Choice& choice) {
    return detail::guard_call(comm, [&]() -> status {
        static_assert(explain_wire<T>() && explain_choice<goal::alltoall, Choice>());
        if (in.size() % comm.size() != 0)
            return comm.refuse(invalid_argument("in: its length is not a multiple of the number of ranks"));
        if (out.size() != in.size()) return comm.refuse(invalid_argument("out: must be as long as the input"));
        const rank_t ranks = comm.size();
        const std::size_t block = in.size() / ranks;
        if (const status bad = detail::check_alltoall(in, out, ranks, block)) return comm.refuse(bad);
        if (status said; detail::repeat_call<goal::alltoall, void>(comm, in.data(), out.data(), ranks * in.size(), 0,
                                                                   nullptr, choice, said))
            return said;
        return detail::run_blocks<goal::alltoall, void>(comm, detail::alltoall_call(in, out, ranks, comm.rank(), block),
                                                        ranks * ranks, choice);
    });
}

// `most`: null if no longest block is given.
template <class T, RunsCalls Comm, class Choice>
status run_alltoallv(Comm& comm, std::span<const T> in, std::span<const std::size_t> send_counts, std::span<T> out,
                     std::span<const std::size_t> receive_counts, const at_most* most, const Choice& choice) {
    return detail::guard_call(comm, [&]() -> status {
        static_assert(explain_wire<T>() && explain_choice<goal::alltoall, Choice>());
        const rank_t ranks = comm.size();
        if (send_counts.size() != ranks) return comm.refuse(invalid_argument("send_counts: one per rank is needed"));
        if (receive_counts.size() != ranks)
            return comm.refuse(invalid_argument("receive_counts: one per rank is needed"));
        const auto row = rank_blocks::of(ranks, send_counts, block_element_bytes<T>);
        const auto column = rank_blocks::of(ranks, receive_counts, block_element_bytes<T>);
        if (row.bad()) return comm.refuse(row.bad());
        if (column.bad()) return comm.refuse(column.bad());
        if (in.size() != row.total())
            return comm.refuse(invalid_argument("send_counts: their sum is not the length of in"));
        if (out.size() != column.total())
            return comm.refuse(invalid_argument("receive_counts: their sum is not the length of out"));
        if (row.count(comm.rank()) != column.count(comm.rank()))
            return comm.refuse(invalid_argument("receive_counts: this rank sends itself another number of elements"));
        if (const status bad = detail::check_alltoall(in, out, ranks, 0)) return comm.refuse(bad);
        typed_call<T> typed = detail::alltoall_call(in, out, ranks, comm.rank(), 0);
        typed.row_offsets = row.offsets();
        typed.column_offsets = column.offsets();
        const auto straight = [&] {
            if constexpr (std::same_as<Choice, automatic>)
                return detail::run_cut<goal::alltoall>(comm, typed, ranks * ranks, pairwise_alltoall{});
            else
                return detail::run_cut<goal::alltoall>(comm, typed, ranks * ranks, choice);
        };
        return most == nullptr ? straight()
                               : detail::run_in_slots(comm, typed, row, column, most->elements, choice, straight);
    });
}

struct alltoall_forms : takes<goal::alltoall, parameters{}> {
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<T, Extent> out, const Choice& choice = {}) {
        return detail::run_alltoall<T>(on, in, out, choice);
    }
};
struct alltoallv_forms : takes<goal::alltoall, parameters{.lists = true}> {
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData Choice = automatic>
    requires(std::same_as<std::remove_const_t<U>, T> && !is_at_most_v<Choice>) static status
        call(On& on, std::span<U, InExtent> in, std::span<const std::size_t> send_counts, std::span<T, Extent> out,
             std::span<const std::size_t> receive_counts, const Choice& choice = {}) {
        return detail::run_alltoallv<T>(on, in, send_counts, out, receive_counts, nullptr, choice);
    }
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<const std::size_t> send_counts,
                       std::span<T, Extent> out, std::span<const std::size_t> receive_counts, const at_most& most,
                       const Choice& choice = {}) {
        return detail::run_alltoallv<T>(on, in, send_counts, out, receive_counts, &most, choice);
    }
};

} // namespace detail

inline constexpr detail::blocking<detail::alltoall_forms> alltoall{};
inline constexpr detail::starting<detail::alltoall_forms> start_alltoall{};
inline constexpr detail::binding<detail::alltoall_forms> bind_alltoall{};

inline constexpr detail::blocking<detail::alltoallv_forms> alltoallv{};
inline constexpr detail::starting<detail::alltoallv_forms> start_alltoallv{};
inline constexpr detail::binding<detail::alltoallv_forms> bind_alltoallv{};

BOUGH_COMPILED_GOAL(goal::alltoall)

} // namespace bough

#endif
