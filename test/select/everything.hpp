// SPDX-License-Identifier: BSL-1.0
// The algorithms of bough per collective, for tests that hold for all of them.
#ifndef BOUGH_TEST_SELECT_EVERYTHING_HPP
#define BOUGH_TEST_SELECT_EVERYTHING_HPP

#include <bough/select/candidates.hpp>

namespace test {

// For these dimensions; with blocks of their own. Defined in everything.cpp, which alone includes the algorithms.
bough::candidate_list everything_for_reduce(const bough::dimensions& at);
bough::candidate_list everything_for_allreduce(const bough::dimensions& at);
bough::candidate_list everything_for_broadcast(const bough::dimensions& at);
bough::candidate_list everything_for_reduce_scatter(const bough::dimensions& at);
bough::candidate_list everything_for_allgather(const bough::dimensions& at);
bough::candidate_list everything_for_scan(const bough::dimensions& at);
bough::candidate_list everything_for_exscan(const bough::dimensions& at);
bough::candidate_list everything_for_alltoall(const bough::dimensions& at);
bough::candidate_list everything_for_gather(const bough::dimensions& at);
bough::candidate_list everything_for_scatter(const bough::dimensions& at);

// Calls f(goal, candidates) for each collective.
template <class F>
void for_each_goal(const bough::dimensions& at, F f) {
    f(bough::goal::reduce{}, everything_for_reduce(at));
    f(bough::goal::allreduce{}, everything_for_allreduce(at));
    f(bough::goal::broadcast{}, everything_for_broadcast(at));
    f(bough::goal::reduce_scatter{}, everything_for_reduce_scatter(at));
    f(bough::goal::allgather{}, everything_for_allgather(at));
    f(bough::goal::scan{}, everything_for_scan(at));
    f(bough::goal::exscan{}, everything_for_exscan(at));
    f(bough::goal::alltoall{}, everything_for_alltoall(at));
    f(bough::goal::gather{}, everything_for_gather(at));
    f(bough::goal::scatter{}, everything_for_scatter(at));
}

// Of a candidate: the dimensions with its blocks, and may it be planned?
inline bough::dimensions with_blocks(const bough::candidate& c, bough::dimensions at) {
    at.blocks = c.blocks == bough::natural_blocks ? c.algorithm.natural_blocks(at.size) : c.blocks;
    return at;
}

} // namespace test

#endif
