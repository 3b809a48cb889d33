// SPDX-License-Identifier: BSL-1.0
// scatter: the root's vector is cut into one block a rank, in the order of ranks; every rank gets its own.
//
//   scatter(comm, in, out, root{r} [, choice])            in is used at the root only: size() times as long as out
//   scatter(comm, data, root{r} [, choice])               in place: at the root, data is the whole vector and stays
//                                                         as it is; at other ranks, data is the block
//   scatterv(comm, in, out, counts, root{r} [, choice])   blocks that differ in length: rank r's has counts[r]
//   scatterv(comm, data, counts, root{r} [, choice])      the same in place
//   (..., ec)                                             never throws; ec: a std::error_code or a bough::status
//   start_scatter(...), start_scatterv(...)               return a bough::operation at once; no ec
//   bind_scatter(...), bind_scatterv(...)                 a persistent_operation, to be started many times; no ec
//
// Data        spans, or what one can be made of; counts are std::size_t, of elements, and may be 0
// Choice      a plan of one block a rank, an algorithm (tree_scatter{...}), a tree source
//             (fnomial{.degree = 4}) or automatic{}
// Agreement   every rank gives the same type, root and choice. scatter: every block has the same length.
//             scatterv: every rank gives the same counts, all of them, since inner ranks of the tree pass
//             on the blocks of others. A scatter and a scatterv do not match
// Time        that of the plan: trees (bough/select/standard/scatter.hpp)
// Determinism nothing is combined
// Errors      invalid_argument and size_overflow for wrong arguments; call_mismatch where ranks do not
//             agree; those of doc/design/005. `out` is unspecified then, `in` is unchanged
// Source      MPI_Scatter, MPI_Scatterv; each algorithm names its own
#ifndef BOUGH_SCATTER_HPP
#define BOUGH_SCATTER_HPP

#include <bough/algorithm/scatter/tree.hpp>
#include <bough/call/blocks.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/names.hpp>
#include <bough/core/config.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#if !BOUGH_COMPILED_ELSEWHERE
#include <bough/select/standard/scatter.hpp>
#endif

namespace bough::inline BOUGH_ABI {

namespace detail {

// `own`: this rank's block; `whole`: all blocks, looked at where this rank is the root.
template <class T, RunsCalls Comm, class Choice>
status scatter_blocks(Comm& comm, std::span<T> own, std::span<const T> whole, const rank_blocks& blocks, root from,
                      const Choice& choice) {
    static_assert(explain_wire<T>());
    if (from.rank >= comm.size()) return comm.refuse(invalid_argument("root: not a rank of the group"));
    const bool is_root = comm.rank() == from.rank;
    if (const status bad = check_blocks({own.data(), own.size(), whole.data(), whole.size()}, blocks, comm.rank(),
                                        is_root, sizeof(T), "in: must hold one block for every rank"))
        return comm.refuse(bad);
    typed_call<T> typed{.at = {.size = comm.size(), .root = from.rank}, .count = blocks.total()};
    typed.in_parts = true;
    typed.out = own.data();
    typed.out_part = {comm.rank(), own.size()};
    if (is_root) {
        typed.in = whole.data();
        typed.in_part = {0, whole.size()};
    }
    typed.offsets = blocks.offsets();
    typed.signature = signature_of<T, void>(blocks.signature_count(), from.rank);
    return run_blocks<goal::scatter, tree_scatter>(comm, typed, choice);
}

template <class T, RunsCalls Comm, class Choice>
status run_scatter(Comm& comm, std::span<const T> in, std::span<T> out, root from, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        const auto blocks = rank_blocks::equal(comm.size(), out.size(), block_element_bytes<T>);
        return scatter_blocks<T>(comm, out, in, blocks, from, choice);
    });
}
template <class T, RunsCalls Comm, class Choice>
status run_scatterv(Comm& comm, std::span<const T> in, std::span<T> out, std::span<const std::size_t> counts, root from,
                    const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        const auto blocks = rank_blocks::of(comm.size(), counts, block_element_bytes<T>);
        return scatter_blocks<T>(comm, out, in, blocks, from, choice);
    });
}
template <class T, RunsCalls Comm, class Choice>
status scatter_in_place(Comm& comm, std::span<T> data, root from, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        const bool is_root = comm.rank() == from.rank;
        if (is_root && data.size() % comm.size() != 0)
            return comm.refuse(
                invalid_argument("data: at the root, its length is not a multiple of the number of ranks"));
        const std::size_t each = is_root ? data.size() / comm.size() : data.size();
        const auto blocks = rank_blocks::equal(comm.size(), each, block_element_bytes<T>);
        return scatter_blocks<T>(comm, own_block(data, blocks, comm.rank(), is_root), data, blocks, from, choice);
    });
}
template <class T, RunsCalls Comm, class Choice>
status scatterv_in_place(Comm& comm, std::span<T> data, std::span<const std::size_t> counts, root from,
                         const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        const auto blocks = rank_blocks::of(comm.size(), counts, block_element_bytes<T>);
        const bool is_root = comm.rank() == from.rank;
        if (is_root && !blocks.bad() && data.size() != blocks.total())
            return comm.refuse(invalid_argument("data: at the root, its length is not the sum of counts"));
        return scatter_blocks<T>(comm, own_block(data, blocks, comm.rank(), is_root), data, blocks, from, choice);
    });
}

struct scatter_forms : takes<goal::scatter, parameters{.root = true, .trees = true}> {
    template <class On, class T, std::size_t Extent, NotData Choice = automatic>
    static status call(On& on, std::span<T, Extent> data, root from, const Choice& choice = {}) {
        return detail::scatter_in_place<T>(on, data, from, choice);
    }
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<T, Extent> out, root from,
                       const Choice& choice = {}) {
        return detail::run_scatter<T>(on, in, out, from, choice);
    }
};
struct scatterv_forms : takes<goal::scatter, parameters{.root = true, .lists = true, .trees = true}> {
    template <class On, class T, std::size_t Extent, NotData Choice = automatic>
    static status call(On& on, std::span<T, Extent> data, std::span<const std::size_t> counts, root from,
                       const Choice& choice = {}) {
        return detail::scatterv_in_place<T>(on, data, counts, from, choice);
    }
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<T, Extent> out, std::span<const std::size_t> counts,
                       root from, const Choice& choice = {}) {
        return detail::run_scatterv<T>(on, in, out, counts, from, choice);
    }
};

} // namespace detail

inline constexpr detail::blocking<detail::scatter_forms> scatter{};
inline constexpr detail::starting<detail::scatter_forms> start_scatter{};
inline constexpr detail::binding<detail::scatter_forms> bind_scatter{};

inline constexpr detail::blocking<detail::scatterv_forms> scatterv{};
inline constexpr detail::starting<detail::scatterv_forms> start_scatterv{};
inline constexpr detail::binding<detail::scatterv_forms> bind_scatterv{};

BOUGH_COMPILED_GOAL(goal::scatter)

} // namespace bough

#endif
