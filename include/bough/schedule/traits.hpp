// SPDX-License-Identifier: BSL-1.0
// What `verify` finds out about a plan: that it is right, or its first fault, and its traits.
// Traits are computed, not claimed.
#ifndef BOUGH_SCHEDULE_TRAITS_HPP
#define BOUGH_SCHEDULE_TRAITS_HPP

#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

enum class fault : std::uint8_t {
    none,
    bad_peer,             // a message to oneself or to no rank of the group
    bad_slice,            // blocks that the plan does not have, or operands of different length
    bad_load,             // a block twice in a packed plane, or a buffer that is not packed in every step
    overlapping_operands, // a combine or copy whose result overlaps an operand without being it
    write_to_input,       // a step writes the caller's input
    unmatched_send,       // no receive for a send
    unmatched_receive,    // no send for a receive
    length_mismatch,      // a send and its receive differ in length
    read_of_nothing,      // a step reads a block that nobody has written
    // Input is read after the same block of output was written: wrong when they are one.
    in_place_hazard,
    // A step puts a block where another one belongs: every buffer has the vector's coordinates.
    mixed_blocks,
    repeated_contribution, // a rank's contribution is counted twice
    deadlock,              // a step can never start
    missing_result,        // a block of the result is never written
    wrong_result,          // a block of the result lacks contributions, or holds another block
    scratch_exceeded,      // more scratch than the algorithm declares
    // A step writes a block of output that is no result of its rank: there may be no memory for it.
    write_to_output,
    broken_message, // a part of a message that the next step does not continue
    // A result is not in rank order, though the algorithm, or its shape, claims that it is.
    not_in_rank_order,
    // Results of two ranks have different brackets, though the algorithm claims equal ones.
    different_bits,
};

// Computed from a proved plan. Volumes, combines and scratch are in blocks.
struct plan_traits {
    std::uint32_t rounds = 0;    // one-ported: a rank sends one and receives one message a round
    std::uint32_t hops = 0;      // the longest chain of messages
    std::uint32_t depth = 0;     // the longest chain of combines in a result: the error bound of a sum
    std::uint32_t steps_max = 0; // of the rank with the most steps
    std::uint32_t peers_max = 0;
    std::uint64_t messages = 0;     // all ranks
    std::uint64_t volume_max = 0;   // blocks sent by the busiest rank
    std::uint64_t volume = 0;       // blocks sent by all
    std::uint64_t combines_max = 0; // blocks combined by the busiest rank
    std::uint64_t combines = 0;
    std::uint64_t scratch_max = 0;
    // The bracket class: equal for plans that give the same bits; 0 if nothing combines.
    std::uint64_t bracket = 0;
    bool needs_commutative = false; // some result is not in rank order
    bool needs_idempotent = false;  // some result counts a contribution twice
    bool rank_consistent = true;    // every rank gets the same bracket, so the same bits
    bool position_invariant = true; // every block has the same bracket
    friend constexpr bool operator==(const plan_traits&, const plan_traits&) = default;
};

// A structural value: proven<V>() shows it in the compiler's message.
struct verdict {
    bough::fault fault = bough::fault::none;
    rank_t rank = no_rank;             // whose step it is
    std::uint32_t step = 0xffff'ffffu; // in program order of that rank; none: the fault is in its result
    block_t block = 0;                 // the block concerned
    // The peer of a message; or whose contribution is missing, foreign or repeated.
    rank_t peer = no_rank;
    plan_traits traits{}; // valid if there is no fault

    constexpr explicit operator bool() const noexcept { return fault == fault::none; }
    friend constexpr bool operator==(const verdict&, const verdict&) = default;
};

namespace detail {
// Compilers write a number where a class holds an enumerator, but its name where it is a template
// argument by itself.
template <fault Fault, rank_t Rank, std::uint32_t Step, block_t Block, rank_t Peer>
consteval bool holds() {
    static_assert(Fault == fault::none,
                  "bough: the plan is wrong: `holds<Fault, Rank, Step, Block, Peer>` says where (see bough::verdict)");
    return Fault == fault::none;
}
} // namespace detail

// Proves a plan at compile time: static_assert(proven<verify(plan)>()).
template <verdict V>
consteval bool proven() {
    return detail::holds<V.fault, V.rank, V.step, V.block, V.peer>();
}

} // namespace bough

#endif
