// SPDX-License-Identifier: BSL-1.0
// Plans for the campaigns: every collective over regular and random trees, bound once and run by many seeds.
#ifndef BOUGH_TEST_SIMULATED_CATALOGUE_HPP
#define BOUGH_TEST_SIMULATED_CATALOGUE_HPP

#include <bough/core/rank.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/transport/virtual_network/world.hpp>
#include <bough/tree/table.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace test {

using bough::rank_t;
using random_bits = bough::detail::split_mix;

enum class collective : std::uint8_t { // as goal::...::kind
    reduce = 1,
    allreduce = 2,
    broadcast = 3,
    barrier = 4,
    scan = 8,
    exscan = 9,
    reduce_scatter = 10,
    allgather = 11
};

// One plan of p ranks. Two operations of it may be in flight on a rank at a time.
struct bound_plan {
    std::string name;
    collective kind = collective::allreduce;
    rank_t root = 0;
    bool keeps_order = false;
    std::array<std::vector<std::unique_ptr<bough::prepared>>, 2> work; // [operation number % 2][rank]
    std::uint64_t id() const { return work[0][0]->bound().plan_id; }
};

// A random tree with this root; if it keeps order, every subtree is an interval of ranks and children come nearest first.
bough::table random_tree(rank_t size, rank_t root, bool keeps_order, random_bits& random);

// All plans of p ranks. Made at the first call; the same in every process.
const std::vector<bound_plan>& plans_of(rank_t size);

// Recursive doubling over the members of a group, for rank `me` of it (an index).
std::unique_ptr<bough::prepared> survivors_allreduce(const std::vector<rank_t>& members, rank_t me);

} // namespace test

#endif
