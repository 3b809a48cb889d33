// SPDX-License-Identifier: BSL-1.0
// Allgather over a circulant graph: as few rounds and as little traffic as there can be, for any
// number of ranks.
//
// Rank r collects the blocks r, r + 1, r + 2, ... (modulo p). In round k it has s_k of them, sends
// the first of these s_{k+1} - s_k back to rank r - s_k, and gets as many from rank r + s_k. The
// skips: bough/algorithm/detail/skips.hpp.
//
// Ranks       any
// Op          none
// Rounds      ceil(log_{ports+1} p): optimal; with n ports, each round has up to n messages each way
// Traffic     a rank sends p - 1 blocks: optimal; the largest message goes the furthest
// Combines    none
// Scratch     none; blocks land in their places
// Time        alpha_beta_gamma: ceil(log2 p) alpha + (p - 1) / p n beta
// Determinism blocks are only moved
// Pre         one block a rank; they may differ in length
// Errors      ports: none
// Source      Traeff 2024, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", arXiv
//             2410.14234; with ports: after Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8(11),
//             1997
//
// Picture, p = 7 (skips 1 2 4 7), rank 0; a message of blocks 6 and 0 would have two parts:
//   round 1   sends 0 to 6           gets 1 from 1           has 0 1
//   round 2   sends 0 1 to 5         gets 2 3 from 2         has 0 1 2 3
//   round 3   sends 0 1 2 to 3       gets 4 5 6 from 4       has all
#ifndef BOUGH_ALGORITHM_ALLGATHER_CIRCULANT_HPP
#define BOUGH_ALGORITHM_ALLGATHER_CIRCULANT_HPP

#include <bough/algorithm/detail/circulant_allgather.hpp>

namespace bough::inline BOUGH_ABI {

// Such as circulant_allgather{.ports = 2}. The default is one port.
using circulant_allgather = detail::allgather_by_skips<detail::circulant_skips>;

} // namespace bough

#endif
