// SPDX-License-Identifier: BSL-1.0
// problem: what a choice is made for, besides the plans and the costs: bytes, cores, who is late. All ranks
// have the same.
#ifndef BOUGH_SELECT_PROBLEM_HPP
#define BOUGH_SELECT_PROBLEM_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/rank.hpp>
#include <bough/schedule/claims.hpp>

#include <algorithm>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

class two_levels;    // bough/select/two_levels.hpp
class known_network; // bough/select/known_network.hpp

// Which way the data of a collective goes. If it goes one way, a rank may be done before others have
// begun.
enum class course : std::uint8_t {
    all_ways,
    outwards, // away from where calls begin: broadcast, multicast, scatter, scans (from low ranks to high ones)
    inwards,  // to where calls end: reduce, gather
};

// What is to be done, and on what.
struct problem {
    std::uint64_t bytes = 0;         // of the whole vector
    std::uint64_t element_bytes = 1; // bytes is a multiple of it
    // How many the ranks share, equal on all ranks; no_rank: each rank has its own.
    rank_t cores = no_rank;
    double switch_ns = 1000;        // the time to give a core from one rank to the next
    course goes = course::all_ways; // choose sets it, by the goal
    // The op's result does not depend on the order of combining (is_exact_v).
    bool exact_op = false;
    const two_levels* levels = nullptr; // which ranks are near each other, if some are
    // What joins the ranks, if that is known: then costs, cores and lateness do not count.
    const known_network* network = nullptr;
    // The op can also combine what all ranks contribute at once, and then the vector is so many times
    // shorter (rounded_once): with algorithms that combine in series. 1: it cannot.
    std::uint32_t narrowing = 1;
    // The rank that comes after all others, and how much later; no_rank: none is known to. (For other
    // times of arrival see bough/model/arriving.hpp.)
    rank_t late = no_rank;
    std::uint64_t late_ns = 0;
    friend constexpr bool operator==(const problem&, const problem&) = default;
};

// The problem as a plan of this algorithm has it. The length of an element does not become 0.
template <Algorithm A>
constexpr problem problem_for(const A& algorithm, const problem& what) {
    problem made = what;
    if (what.narrowing <= 1 || !combines_in_series(algorithm)) return made;
    made.element_bytes = std::max<std::uint64_t>(what.element_bytes / what.narrowing, 1);
    made.bytes = what.bytes / what.narrowing / made.element_bytes * made.element_bytes;
    return made;
}

} // namespace bough

#endif
