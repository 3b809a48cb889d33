// SPDX-License-Identifier: BSL-1.0
// The names of a Transport's rules, the report of the conformance suite, and the options that say
// how thorough it is.
#ifndef BOUGH_TESTING_TRANSPORT_RULES_HPP
#define BOUGH_TESTING_TRANSPORT_RULES_HPP

#include <bough/core/rank.hpp>

#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::testing {

// The rules; T1 to T11 are those of bough/concepts/transport.hpp.
enum class transport_rule : std::uint8_t {
    none,               // all rules hold
    identity,           // rank() and size() say who the end is; it has only the peers of its group
    complete_is_silent, // T1: a post that said complete has no event
    one_event,          // T2: a pending post has exactly one event; refused and failed posts have none
    in_order,           // T3: messages of a peer arrive in the order of their posts, each once
    // T4: sent bytes are read only before completion; arrived ones stay until release or take.
    borrowed_bytes,
    // T5: would_block instead of unbounded queueing; new room once the peer has made some.
    bounded,
    poll_returns, // T6: poll does not wait
    length,       // T7: a message has its sender's length, and take of another length fails
    cancelled,    // T9: after the event of a cancelled post its bytes are not touched
    // T10: a lost peer is reported once, after everything that it sent; then posts to it fail.
    loss,
    same_envelope, // the envelope arrives bit for bit
    same_payload,  // the payload arrives bit for bit, and nothing beside it is written
    release,       // a released arrival makes room, whatever the order of releases
    handed_over,   // T11: a message that is complete and handed over arrives without its sender's help
    common_memory, // memory that all ranks see is the same for all, and a wake is news (SharesMemory)
};

// Names the rule that is broken, the rank that saw it, and what it saw.
struct transport_fault {
    transport_rule rule = transport_rule::none;
    rank_t rank = no_rank;
    const char* sentence = "";
    // true: broken.
    constexpr explicit operator bool() const noexcept { return rule != transport_rule::none; }
};

// How thorough the check is.
struct transport_check {
    rank_t ranks = 3;                 // of the groups that are made
    std::uint32_t messages = 10'000;  // over one link; the others carry a twentieth of it
    std::size_t longest = 100 * 1024; // bytes of the longest message; at least 64
    // A link must refuse posts after so many without a poll of its receiver.
    std::uint32_t queue_limit = 1u << 16;
    std::uint64_t patience_ns = 2'000'000'000; // by now_ns(): if nothing happens for so long
    std::uint32_t patience_polls = 10'000;     // and for so many polls, the check fails
    // At least some polls that find nothing must take less than this.
    std::uint64_t poll_limit_ns = 20'000'000;
};

// The same for check_transport_process (process_conformance.hpp).
struct process_check {
    std::uint64_t seed = 1;
    std::uint32_t messages = 400;     // from each rank to each other rank
    std::uint32_t cancellations = 30; // by each rank
    std::size_t longest = 100 * 1024; // bytes of the longest message; at least 64
    // A link must refuse posts after so many without a poll of its receiver.
    std::uint32_t queue_limit = 1u << 16;
    std::uint64_t patience_ns = 20'000'000'000; // if nothing happens for so long, the check fails
};

} // namespace bough::testing

#endif
