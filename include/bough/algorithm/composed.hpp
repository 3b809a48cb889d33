// SPDX-License-Identifier: BSL-1.0
// Two levels: a collective over all ranks, made of flat ones within groups of near ranks and across
// them.
//
//   compose(inner, outer, groups)           lanes: every rank of a group works across groups for its
//                                           share of the vector
//   compose_leaders(inner, outer, groups)   one rank of each group works across groups, for all of the
//                                           vector
//
//   constexpr contiguous_groups nodes{.ranks_per_group = 8};
//   plan_allreduce(compose(ring{}, circulant{}, nodes), {.size = 64})
// Both are families. `inner` and `outer` are families, algorithms or tree shapes that serve what
// the table says; they may be composed in turn.
//
//   collective       lanes: within groups, across groups, within groups         leaders
//   allreduce        reduce_scatter   allreduce        allgather                reduce   allreduce   broadcast
//   reduce           reduce_scatter   reduce           gather (to the root)     reduce   reduce      -
//   broadcast        scatter          broadcast        allgather                -        broadcast   broadcast
//   reduce_scatter   reduce_scatter   reduce_scatter   -
//   allgather        -                allgather        allgather
//
// Ranks       any number for leaders; for lanes all groups have one size g, so h = p / g groups
// Op          any associative op if inner and outer keep rank order and groups are intervals of
//             ranks; else commutative
// Rounds      the sum of the levels'
// Traffic     the sum of the levels'. Between groups, a lane moves 1 / g of what a leader moves,
//             all lanes at once: for an allreduce of m bytes with bandwidth-optimal levels, 2 (h -
//             1) / h m / g a rank
// Combines    the sum of the levels'
// Scratch     the largest of each level's and one plane, where a result of one level must not go to
//             the output
// Determinism brackets are those of the outer level over those of the inner: position-invariant if they are
// Pre         lanes: blocks a multiple of g (allreduce, reduce, broadcast)
// Errors      check(): groups of different size (lanes), a list that does not fit, what a level refuses
// Source      multi-lane collectives: Traeff and Hunold 2020; one leader a group: Karonis et al. 2000
//
// Picture, allreduce, p = 6 in 2 groups of 3, blocks A B C:
//   reduce_scatter in groups   0:A 1:B 2:C | 3:A 4:B 5:C   sums over the own group
//   allreduce across           0-3: A   1-4: B   2-5: C    three lanes at once
//   allgather in groups        all of A B C on every rank
#ifndef BOUGH_ALGORITHM_COMPOSED_HPP
#define BOUGH_ALGORITHM_COMPOSED_HPP

#include <bough/algorithm/lanes.hpp>
#include <bough/algorithm/leaders.hpp>

#endif
