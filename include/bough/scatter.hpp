// SPDX-License-Identifier: BSL-1.0
// scatter: the root's vector is cut into one block a rank, in the order of ranks; every rank gets its own.
//
//   scatter(comm, in, out, root{r} [, choice])            in is used at the root only: size() times as
//                                                         long as out
//   scatter(comm, data, root{r} [, choice])               in place: at the root, data is the whole
//                                                         vector and stays as it is; at other ranks,
//                                                         data is the block
//   scatterv(comm, in, out, counts, root{r} [, choice])   blocks that differ in length: rank r's has
//                                                         counts[r]
//   scatterv(comm, data, counts, root{r} [, choice])      the same in place
//   scatterv(..., counts, root{r}, counts_at_root{})      only the root needs counts; every rank
//                                                         knows the length of its own block
//   (..., ec)                                             never throws; ec: a std::error_code or a
//                                                         bough::status
//   start_scatter(...), start_scatterv(...)               return a bough::operation at once; no ec
//   bind_scatter(...), bind_scatterv(...)                 a persistent_operation, to be started many
//                                                         times; no ec
//
// Data        spans, or what one can be made of; counts are std::size_t, of elements, and may be 0
// Choice      a plan of one block a rank, an algorithm (tree_scatter{...}), a tree source
//             (fnomial{.degree = 4}) or automatic{}
// Agreement   every rank gives the same type, root and choice. scatter: every block has the same length.
//             scatterv: every rank gives the same counts, all of them, since inner ranks of the tree pass
//             on the blocks of others. With counts_at_root blocks go straight: each is as long where it
//             leaves as where it arrives; if not, that is an error (call_mismatch) where it arrives. A
//             scatter and a scatterv do not match, nor does one with counts_at_root and one without
// Time        that of the plan: trees (bough/select/standard/scatter.hpp); with counts_at_root a flat one
// Determinism nothing is combined
// Errors      invalid_argument and size_overflow for wrong arguments; call_mismatch where ranks do not
//             agree; those of doc/design/005. `out` is unspecified then, `in` is unchanged
// Source      MPI_Scatter, MPI_Scatterv; each algorithm names its own
#ifndef BOUGH_SCATTER_HPP
#define BOUGH_SCATTER_HPP

#include <bough/algorithm/scatter/tree.hpp>
#include <bough/call/front_door.hpp>
#include <bough/call/names.hpp>
#include <bough/call/rooted_blocks.hpp>
#include <bough/core/config.hpp>

#if !BOUGH_COMPILED_ELSEWHERE
#include <bough/select/standard/scatter.hpp>
#endif

namespace bough::inline BOUGH_ABI {

namespace detail {

struct scatter_forms : rooted_block_forms<goal::scatter, tree_scatter, false> {};
struct scatterv_forms : rooted_list_forms<goal::scatter, tree_scatter, false> {};

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
