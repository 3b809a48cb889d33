// SPDX-License-Identifier: BSL-1.0
// gather: the root gets the blocks of all ranks, one behind the other in the order of ranks.
//
//   gather(comm, in, out, root{r} [, choice])            out is used at the root only: size() times as long as in
//   gather(comm, data, root{r} [, choice])               in place: at the root, data is the whole vector, its own
//                                                        block in its place; at other ranks, data is the block
//   gatherv(comm, in, out, counts, root{r} [, choice])   blocks that differ in length: rank r's has counts[r]
//   gatherv(comm, data, counts, root{r} [, choice])      the same in place
//   (..., ec)                                            never throws; ec: a std::error_code or a bough::status
//   start_gather(...), start_gatherv(...)                return a bough::operation at once; no ec
//   bind_gather(...), bind_gatherv(...)                  a persistent_operation, to be started many times; no ec
//
// Data        spans, or what one can be made of; counts are std::size_t, of elements, and may be 0
// Choice      a plan of one block a rank, an algorithm (tree_gather{...}), a tree source
//             (fnomial{.degree = 4}) or automatic{}
// Agreement   every rank gives the same type, root and choice. gather: every block has the same length.
//             gatherv: every rank gives the same counts, all of them, since inner ranks of the tree pass
//             on the blocks of others. A gather and a gatherv do not match
// Time        that of the plan: trees (bough/select/standard/gather.hpp)
// Determinism nothing is combined
// Errors      invalid_argument and size_overflow for wrong arguments; call_mismatch where ranks do not
//             agree; those of doc/design/005. The root's `out` is unspecified then; the memory of other
//             ranks is only read
// Source      MPI_Gather, MPI_Gatherv; each algorithm names its own
#ifndef BOUGH_GATHER_HPP
#define BOUGH_GATHER_HPP

#include <bough/algorithm/gather/tree.hpp>
#include <bough/call/blocks.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/names.hpp>
#include <bough/core/config.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#if !BOUGH_COMPILED_ELSEWHERE
#include <bough/select/standard/gather.hpp>
#endif

namespace bough::inline BOUGH_ABI {

namespace detail {

// `own`: this rank's block; `whole`: all blocks, looked at where this rank is the root.
template <class T, RunsCalls Comm, class Choice>
status gather_blocks(Comm& comm, std::span<const T> own, std::span<T> whole, const rank_blocks& blocks, root to,
                     const Choice& choice) {
    static_assert(explain_wire<T>());
    if (to.rank >= comm.size()) return comm.refuse(invalid_argument("root: not a rank of the group"));
    const bool is_root = comm.rank() == to.rank;
    if (const status bad = check_blocks({own.data(), own.size(), whole.data(), whole.size()}, blocks, comm.rank(),
                                        is_root, sizeof(T), "out: must hold one block for every rank"))
        return comm.refuse(bad);
    typed_call<T> typed{.at = {.size = comm.size(), .root = to.rank}, .count = blocks.total()};
    typed.in_parts = true;
    typed.in = own.data();
    typed.in_part = {comm.rank(), own.size()};
    if (is_root) {
        typed.out = whole.data();
        typed.out_part = {0, whole.size()};
    }
    typed.offsets = blocks.offsets();
    typed.signature = signature_of<T, void>(blocks.signature_count(), to.rank);
    return run_blocks<goal::gather, tree_gather>(comm, typed, choice);
}

template <class T, RunsCalls Comm, class Choice>
status run_gather(Comm& comm, std::span<const T> in, std::span<T> out, root to, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        const auto blocks = rank_blocks::equal(comm.size(), in.size(), block_element_bytes<T>);
        return gather_blocks<T>(comm, in, out, blocks, to, choice);
    });
}
template <class T, RunsCalls Comm, class Choice>
status run_gatherv(Comm& comm, std::span<const T> in, std::span<T> out, std::span<const std::size_t> counts, root to,
                   const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        const auto blocks = rank_blocks::of(comm.size(), counts, block_element_bytes<T>);
        return gather_blocks<T>(comm, in, out, blocks, to, choice);
    });
}
template <class T, RunsCalls Comm, class Choice>
status gather_in_place(Comm& comm, std::span<T> data, root to, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        const bool is_root = comm.rank() == to.rank;
        if (is_root && data.size() % comm.size() != 0)
            return comm.refuse(
                invalid_argument("data: at the root, its length is not a multiple of the number of ranks"));
        const std::size_t each = is_root ? data.size() / comm.size() : data.size();
        const auto blocks = rank_blocks::equal(comm.size(), each, block_element_bytes<T>);
        return gather_blocks<T>(comm, own_block(data, blocks, comm.rank(), is_root), data, blocks, to, choice);
    });
}
template <class T, RunsCalls Comm, class Choice>
status gatherv_in_place(Comm& comm, std::span<T> data, std::span<const std::size_t> counts, root to,
                        const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        const auto blocks = rank_blocks::of(comm.size(), counts, block_element_bytes<T>);
        const bool is_root = comm.rank() == to.rank;
        if (is_root && !blocks.bad() && data.size() != blocks.total())
            return comm.refuse(invalid_argument("data: at the root, its length is not the sum of counts"));
        return gather_blocks<T>(comm, own_block(data, blocks, comm.rank(), is_root), data, blocks, to, choice);
    });
}

struct gather_forms : takes<goal::gather, parameters{.root = true, .trees = true}> {
    template <class On, class T, std::size_t Extent, NotData Choice = automatic>
    static status call(On& on, std::span<T, Extent> data, root to, const Choice& choice = {}) {
        return detail::gather_in_place<T>(on, data, to, choice);
    }
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<T, Extent> out, root to,
                       const Choice& choice = {}) {
        return detail::run_gather<T>(on, in, out, to, choice);
    }
};
struct gatherv_forms : takes<goal::gather, parameters{.root = true, .lists = true, .trees = true}> {
    template <class On, class T, std::size_t Extent, NotData Choice = automatic>
    static status call(On& on, std::span<T, Extent> data, std::span<const std::size_t> counts, root to,
                       const Choice& choice = {}) {
        return detail::gatherv_in_place<T>(on, data, counts, to, choice);
    }
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<T, Extent> out, std::span<const std::size_t> counts,
                       root to, const Choice& choice = {}) {
        return detail::run_gatherv<T>(on, in, out, counts, to, choice);
    }
};

} // namespace detail

inline constexpr detail::blocking<detail::gather_forms> gather{};
inline constexpr detail::starting<detail::gather_forms> start_gather{};
inline constexpr detail::binding<detail::gather_forms> bind_gather{};

inline constexpr detail::blocking<detail::gatherv_forms> gatherv{};
inline constexpr detail::starting<detail::gatherv_forms> start_gatherv{};
inline constexpr detail::binding<detail::gatherv_forms> bind_gatherv{};

BOUGH_COMPILED_GOAL(goal::gather)

} // namespace bough

#endif
