// SPDX-License-Identifier: BSL-1.0
// Prints verdicts: one sentence that names the rank, the step, the block and the peer.
//
//   rank 3, step 7 (receive from 5): no send for this receive
//   rank 0, block 2 of the result: the contribution of rank 5 is missing or does not belong there
#ifndef BOUGH_SCHEDULE_PRINT_VERDICT_HPP
#define BOUGH_SCHEDULE_PRINT_VERDICT_HPP

#include <bough/core/rank.hpp>
#include <bough/schedule/traits.hpp>

#include <iosfwd>
#include <string>
#include <string_view>

namespace bough::inline BOUGH_ABI {

// The enumerator's name.
constexpr std::string_view fault_name(fault f) noexcept {
    switch (f) {
    case fault::none: return "none";
    case fault::bad_peer: return "bad_peer";
    case fault::bad_slice: return "bad_slice";
    case fault::bad_load: return "bad_load";
    case fault::overlapping_operands: return "overlapping_operands";
    case fault::write_to_input: return "write_to_input";
    case fault::unmatched_send: return "unmatched_send";
    case fault::unmatched_receive: return "unmatched_receive";
    case fault::length_mismatch: return "length_mismatch";
    case fault::read_of_nothing: return "read_of_nothing";
    case fault::in_place_hazard: return "in_place_hazard";
    case fault::mixed_blocks: return "mixed_blocks";
    case fault::repeated_contribution: return "repeated_contribution";
    case fault::deadlock: return "deadlock";
    case fault::missing_result: return "missing_result";
    case fault::wrong_result: return "wrong_result";
    case fault::scratch_exceeded: return "scratch_exceeded";
    case fault::write_to_output: return "write_to_output";
    case fault::broken_message: return "broken_message";
    case fault::not_in_rank_order: return "not_in_rank_order";
    case fault::different_bits: return "different_bits";
    }
    return "unknown fault";
}

// The verdict as one sentence, as above.
inline std::string to_string(const verdict& v) {
    if (v.fault == fault::none) return "no fault: the plan is proved";

    const std::string block = "block " + std::to_string(v.block);
    const std::string peer = v.peer == no_rank ? std::string("nobody") : std::to_string(v.peer);
    const auto at_step = [&](const std::string& what) {
        return "rank " + std::to_string(v.rank) + ", step " + std::to_string(v.step) +
               (what.empty() ? what : " (" + what + ')') + ": ";
    };
    const auto at_result = [&] { return "rank " + std::to_string(v.rank) + ", " + block + " of the result: "; };

    switch (v.fault) {
    case fault::none: break;
    case fault::bad_peer:
        return at_step("") +
               (v.peer == v.rank ? std::string("a message to oneself") : peer + " is not a rank of the group");
    case fault::bad_slice:
        return at_step("") + "a slice at " + block + " leaves the vector, or differs in length from the others";
    case fault::bad_load:
        return at_step("") + block +
               " is twice in a packed plane, or its buffer is packed here and not elsewhere (input and output never "
               "are)";
    case fault::overlapping_operands:
        return at_step("") + "the result at " + block + " overlaps an operand without being it";
    case fault::write_to_input: return at_step("") + "writes " + block + " of the caller's input";
    case fault::unmatched_send: return at_step("send to " + peer) + "no receive for this send";
    case fault::unmatched_receive: return at_step("receive from " + peer) + "no send for this receive";
    case fault::length_mismatch:
        return at_step("receive from " + peer) + "the message has another length than what is received, from " + block +
               " on";
    case fault::read_of_nothing: return at_step("") + "reads " + block + " of a buffer that holds nothing there";
    case fault::in_place_hazard:
        return at_step("") + "reads " + block + " of the input after that of the output was written: wrong in place";
    case fault::mixed_blocks: return at_step("") + "puts another block where this one belongs: " + block;
    case fault::repeated_contribution:
        return at_step("") + "counts the contribution of rank " + peer + " to " + block + " twice";
    case fault::deadlock: return at_step(v.peer == no_rank ? "" : "message with " + peer) + "can never start: deadlock";
    case fault::missing_result: return at_result() + "never written";
    case fault::wrong_result:
        return at_result() + (v.peer == no_rank
                                  ? std::string("holds another block")
                                  : "the contribution of rank " + peer + " is missing or does not belong there");
    case fault::scratch_exceeded:
        return at_step("") + "writes " + block + " of scratch memory beyond what the algorithm declares";
    case fault::write_to_output:
        return at_step("") + "writes " + block + " of the output, which is no result of this rank";
    case fault::broken_message:
        return at_step("") + "a part of a message at " + block + " that the next step does not go on with";
    case fault::not_in_rank_order:
        return at_result() +
               "not in rank order, which the algorithm (keeps_rank_order) or its shape (rank_ordered) claims";
    case fault::different_bits:
        return at_result() + "not combined as on other ranks, which the algorithm (rank_consistent) claims";
    }
    return "unknown fault";
}

// Writes what to_string gives.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, fault f) {
    return out << fault_name(f);
}
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const verdict& v) {
    return out << to_string(v);
}

} // namespace bough

#endif
