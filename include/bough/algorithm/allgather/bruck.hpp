// SPDX-License-Identifier: BSL-1.0
// Allgather by Bruck's algorithm: in round k a rank passes on the (ports + 1)^k blocks that it has.
//
// The circulant allgather with powers for skips: all rounds but the last multiply what a rank has.
// Blocks land at their own places, so the rotation that ends the original is not needed.
//
// Ranks       any
// Op          none
// Rounds      ceil(log_{ports+1} p): optimal
// Traffic     a rank sends p - 1 blocks: optimal; with several ports the last round may need fewer of them
// Combines    none
// Scratch     none
// Time        alpha_beta_gamma: ceil(log2 p) alpha + (p - 1) / p n beta
// Determinism blocks are only moved
// Pre         one block a rank; they may differ in length
// Errors      ports: none
// Source      Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all
//             communications in multiport message-passing systems", IEEE TPDS 8(11), 1997
//
// Picture, p = 7, rank 0:
//   round 1   sends 0 to 6           gets 1 from 1           has 0 1
//   round 2   sends 0 1 to 5         gets 2 3 from 2         has 0 1 2 3
//   round 3   sends 0 1 2 to 3       gets 4 5 6 from 4       has all
#ifndef BOUGH_ALGORITHM_ALLGATHER_BRUCK_HPP
#define BOUGH_ALGORITHM_ALLGATHER_BRUCK_HPP

#include <bough/algorithm/detail/circulant_allgather.hpp>

namespace bough::inline BOUGH_ABI {

// Such as bruck_allgather{.ports = 2}. The default is one port.
using bruck_allgather = detail::allgather_by_skips<detail::bruck_skips>;

} // namespace bough

#endif
