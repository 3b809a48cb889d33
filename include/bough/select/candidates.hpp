// SPDX-License-Identifier: BSL-1.0
// Candidates: the algorithms among which to choose, each with the number of blocks into which it is
// to cut the vector; and the properties that may be required of them.
//
//   auto from = candidates<goal::allreduce>(ring{}, halving_doubling{}, recursive_doubling{});
//   from.add(tree_allreduce{chain{}}, 64);                  in 64 blocks; a list may also be made at run time
//   required(rank_consistent | order_preserving | any_size | same_bits_for_any_partition)
#ifndef BOUGH_SELECT_CANDIDATES_HPP
#define BOUGH_SELECT_CANDIDATES_HPP

#include <bough/core/label.hpp>
#include <bough/schedule/any_algorithm.hpp>
#include <bough/schedule/claims.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// An algorithm, and into how many blocks the vector is cut.
struct candidate {
    any_algorithm algorithm;
    block_t blocks = natural_blocks;

    // Such as "chain in 64 blocks".
    label text() const {
        label made = algorithm.text();
        if (blocks != natural_blocks)
            made.append(" in ").append(std::uint64_t{blocks}).append(blocks == 1 ? " block" : " blocks");
        return made;
    }
    friend bool operator==(const candidate&, const candidate&) = default;
};

// The candidates of one collective, in the order in which they were given. If prices are equal, the
// first wins.
struct candidate_list {
    std::uint8_t kind = 0; // of the goal
    std::vector<candidate> list{};

    template <int = 0>
    candidate_list& add(any_algorithm algorithm, block_t blocks = natural_blocks) {
        list.push_back({std::move(algorithm), blocks});
        return *this;
    }
};

// Makes a list of algorithms, or of families that have an algorithm for the goal.
template <class Goal, ServesGoal<Goal>... C>
candidate_list candidates(const C&... choices) {
    candidate_list made{Goal::kind, {}};
    made.list.reserve(sizeof...(C));
    (made.add(bough::algorithm_for<Goal>(choices)), ...);
    return made;
}

// Properties, as algorithms claim them (bough/schedule/claims.hpp). Joined by |.
struct requirements {
    bool rank_consistent = false;
    bool order_preserving = false;
    bool any_size = false;
    bracket_class bracket{};    // if claimed(), this class is required
    bool any_partition = false; // the class that all lengths share: same_bits_for_any_partition

    constexpr requirements() = default;
    constexpr requirements(bool consistent, bool order, bool every_size, bracket_class b = {})
        : rank_consistent(consistent), order_preserving(order), any_size(every_size), bracket(b) {}
    constexpr requirements(bracket_class b) : bracket(b) {}

    friend constexpr requirements operator|(const requirements& a, const requirements& b) noexcept {
        requirements both{a.rank_consistent || b.rank_consistent, a.order_preserving || b.order_preserving,
                          a.any_size || b.any_size, a.bracket.claimed() ? a.bracket : b.bracket};
        both.any_partition = a.any_partition || b.any_partition;
        return both;
    }
    friend constexpr bool operator==(const requirements&, const requirements&) = default;
};

// Every rank gets the same bits.
inline constexpr requirements rank_consistent{true, false, false};
// Operands are combined in rank order, so that the op need not commute.
inline constexpr requirements order_preserving{false, true, false};
// Serves any number of ranks, not only this one.
inline constexpr requirements any_size{false, false, true};
// allreduce, reduce, reduce_scatter: the bits of an element depend on what the ranks contribute to it, and
// on their number. They do not depend on its place in the vector, on the length of the vector or of its
// blocks, on the root, or on which of the three collectives it is. So a vector may be cut into buckets in
// any way. The bracket is that of recursive_doubling; ops that are exact have no need of it.
inline constexpr requirements same_bits_for_any_partition = [] {
    requirements made;
    made.any_partition = true;
    return made;
}();
// The same bits as a plan of this algorithm gives at these dimensions. Pre: it claims a bracket class.
template <Algorithm A>
constexpr requirements same_bits_as(const A& algorithm, const dimensions& at) {
    const bracket_class wanted = claims_of(algorithm, at).bracket;
    BOUGH_EXPECTS(wanted.claimed(), "same_bits_as: this algorithm claims no bracket class");
    return wanted;
}
// For use in a call: required(rank_consistent | order_preserving).
constexpr requirements required(const requirements& what) noexcept { return what; }

} // namespace bough

#endif
