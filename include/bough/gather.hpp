// SPDX-License-Identifier: BSL-1.0
// gather: the root gets the blocks of all ranks, one behind the other in the order of ranks.
//
//   gather(comm, in, out, root{r} [, choice])            out is used at the root only: size() times as
//                                                        long as in
//   gather(comm, data, root{r} [, choice])               in place: at the root, data is the whole
//                                                        vector, its own block in its place; at other
//                                                        ranks, data is the block
//   gatherv(comm, in, out, counts, root{r} [, choice])   blocks that differ in length: rank r's has
//                                                        counts[r]
//   gatherv(comm, data, counts, root{r} [, choice])      the same in place
//   gatherv(..., counts, root{r}, counts_at_root{})      only the root needs counts; every rank
//                                                        knows the length of its own block
//   (..., ec)                                            never throws; ec: a std::error_code or a
//                                                        bough::status
//   start_gather(...), start_gatherv(...)                return a bough::operation at once; no ec
//   bind_gather(...), bind_gatherv(...)                  a persistent_operation, to be started many
//                                                        times; no ec
//
// Data        spans, or what one can be made of; counts are std::size_t, of elements, and may be 0
// Choice      a plan of one block a rank, an algorithm (tree_gather{...}), a tree source
//             (fnomial{.degree = 4}) or automatic{}
// Agreement   every rank gives the same type, root and choice. gather: every block has the same length.
//             gatherv: every rank gives the same counts, all of them, since inner ranks of the tree pass
//             on the blocks of others. With counts_at_root blocks go straight: each is as long where it
//             leaves as where it arrives; if not, that is an error (call_mismatch) where it arrives. A
//             gather and a gatherv do not match, nor does one with counts_at_root and one without
// Time        that of the plan: trees (bough/select/standard/gather.hpp); with counts_at_root a flat one
// Determinism nothing is combined
// Errors      invalid_argument and size_overflow for wrong arguments; call_mismatch where ranks do not
//             agree; those of doc/design/005. The root's `out` is unspecified then; the memory of other
//             ranks is only read
// Source      MPI_Gather, MPI_Gatherv; each algorithm names its own
#ifndef BOUGH_GATHER_HPP
#define BOUGH_GATHER_HPP

#include <bough/algorithm/gather/tree.hpp>
#include <bough/call/front_door.hpp>
#include <bough/call/names.hpp>
#include <bough/call/rooted_blocks.hpp>
#include <bough/core/config.hpp>

#if !BOUGH_COMPILED_ELSEWHERE
#include <bough/select/standard/gather.hpp>
#endif

namespace bough::inline BOUGH_ABI {

namespace detail {

struct gather_forms : rooted_block_forms<goal::gather, tree_gather, true> {};
struct gatherv_forms : rooted_list_forms<goal::gather, tree_gather, true> {};

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
