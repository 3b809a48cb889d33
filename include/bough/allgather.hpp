// SPDX-License-Identifier: BSL-1.0
// allgather: every rank gets the blocks of all ranks, one behind the other in the order of ranks.
//
//   allgather(comm, in, out [, choice])            out: size() times as long as in
//   allgather(comm, data [, choice])               in place: data is the whole vector, this rank's own
//                                                  block in its place
//   allgatherv(comm, in, out, counts [, choice])   blocks that differ in length: rank r's has counts[r]
//   allgatherv(comm, data, counts [, choice])      the same in place
//   (..., ec)                                      never throws; ec: a std::error_code or a bough::status
//   start_allgather(...), start_allgatherv(...)    return a bough::operation at once; no ec
//   bind_allgather(...), bind_allgatherv(...)      a persistent_operation, to be started many times; no ec
//
// Data        spans, or what one can be made of; counts are std::size_t, of elements, and may be 0
// Choice      a plan with as many blocks for each rank, an algorithm (circulant_allgather{}), a family
//             that serves allgather, or automatic{}
// Agreement   every rank gives the same counts (all of them), type and choice. An allgather and an
//             allgatherv do not match
// Time        that of the plan. All standard candidates send as little as there can be, p - 1 blocks a
//             rank; they differ in rounds and in distance (bough/select/standard/allgather.hpp)
// Determinism nothing is combined
// Errors      invalid_argument and size_overflow for wrong arguments; call_mismatch where ranks do not
//             agree; those of doc/design/005. `out` is unspecified then, and so are the blocks of other
//             ranks in `data`; `in` is unchanged
// Source      MPI_Allgather, MPI_Allgatherv; each algorithm names its own
#ifndef BOUGH_ALLGATHER_HPP
#define BOUGH_ALLGATHER_HPP

#include <bough/call/blocks.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/names.hpp>
#include <bough/call/repeat_call.hpp>
#include <bough/core/config.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#if !BOUGH_COMPILED_ELSEWHERE
#include <bough/select/standard/allgather.hpp>
#endif

namespace bough::inline BOUGH_ABI {

namespace detail {

// `own`: this rank's block; `whole`: all blocks.
template <class T, RunsCalls Comm, class Choice>
status allgather_blocks(Comm& comm, std::span<const T> own, std::span<T> whole, const rank_blocks& blocks,
                        const Choice& choice) {
    static_assert(explain_wire<T>() && explain_choice<goal::allgather, Choice>());
    if (const status bad = check_blocks({own.data(), own.size(), whole.data(), whole.size()}, blocks, comm.rank(), true,
                                        sizeof(T), "out: must hold one block for every rank",
                                        "out: overlaps the input, but not as this rank's own block in its place"))
        return comm.refuse(bad);
    if (status said; blocks.offsets().empty() &&
                     detail::repeat_call<goal::allgather, void>(comm, own.data(), whole.data(), blocks.total(), 0,
                                                                nullptr, choice, said))
        return said;
    typed_call<T> typed{.at = {.size = comm.size()}, .count = blocks.total()};
    typed.in_parts = true;
    typed.in = own.data();
    typed.in_part = {comm.rank(), own.size()};
    typed.out = whole.data();
    typed.out_part = {0, whole.size()};
    typed.offsets = blocks.offsets();
    typed.signature = signature_of<T, void>(blocks.signature_count(), 0);
    return detail::run_blocks<goal::allgather, void>(comm, typed, comm.size(), choice);
}

template <class T, RunsCalls Comm, class Choice>
status run_allgather(Comm& comm, std::span<const T> in, std::span<T> out, const Choice& choice) {
    return detail::guard_call(comm, [&]() -> status {
        const auto blocks = rank_blocks::equal(comm.size(), in.size(), block_element_bytes<T>);
        return detail::allgather_blocks<T>(comm, in, out, blocks, choice);
    });
}
template <class T, RunsCalls Comm, class Choice>
status run_allgatherv(Comm& comm, std::span<const T> in, std::span<T> out, std::span<const std::size_t> counts,
                      const Choice& choice) {
    return detail::guard_call(comm, [&]() -> status {
        const auto blocks = rank_blocks::of(comm.size(), counts, block_element_bytes<T>);
        return detail::allgather_blocks<T>(comm, in, out, blocks, choice);
    });
}
template <class T, RunsCalls Comm, class Choice>
status allgather_in_place(Comm& comm, std::span<T> data, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        if (const status bad = check_equal_cut(data.size(), comm.size())) return comm.refuse(bad);
        const auto blocks = rank_blocks::equal(comm.size(), data.size() / comm.size(), block_element_bytes<T>);
        return detail::allgather_blocks<T>(comm, own_block(data, blocks, comm.rank()), data, blocks, choice);
    });
}
template <class T, RunsCalls Comm, class Choice>
status allgatherv_in_place(Comm& comm, std::span<T> data, std::span<const std::size_t> counts, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        const auto blocks = rank_blocks::of(comm.size(), counts, block_element_bytes<T>);
        if (const status bad = check_sum(data.size(), blocks)) return comm.refuse(bad);
        return detail::allgather_blocks<T>(comm, own_block(data, blocks, comm.rank()), data, blocks, choice);
    });
}

struct allgather_forms : takes<goal::allgather, parameters{}> {
    template <class On, class T, std::size_t Extent, NotData Choice = automatic>
    static status call(On& on, std::span<T, Extent> data, const Choice& choice = {}) {
        return detail::allgather_in_place<T>(on, data, choice);
    }
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<T, Extent> out, const Choice& choice = {}) {
        return detail::run_allgather<T>(on, in, out, choice);
    }
};
struct allgatherv_forms : takes<goal::allgather, parameters{.lists = true}> {
    template <class On, class T, std::size_t Extent, NotData Choice = automatic>
    static status call(On& on, std::span<T, Extent> data, std::span<const std::size_t> counts,
                       const Choice& choice = {}) {
        return detail::allgatherv_in_place<T>(on, data, counts, choice);
    }
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<T, Extent> out, std::span<const std::size_t> counts,
                       const Choice& choice = {}) {
        return detail::run_allgatherv<T>(on, in, out, counts, choice);
    }
};

} // namespace detail

inline constexpr detail::blocking<detail::allgather_forms> allgather{};
inline constexpr detail::starting<detail::allgather_forms> start_allgather{};
inline constexpr detail::binding<detail::allgather_forms> bind_allgather{};

inline constexpr detail::blocking<detail::allgatherv_forms> allgatherv{};
inline constexpr detail::starting<detail::allgatherv_forms> start_allgatherv{};
inline constexpr detail::binding<detail::allgatherv_forms> bind_allgatherv{};

BOUGH_COMPILED_GOAL(goal::allgather)

} // namespace bough

#endif
