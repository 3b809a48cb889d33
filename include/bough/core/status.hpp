// SPDX-License-Identifier: BSL-1.0
// Status: how an operation ended, small enough to travel and to be returned from firmware.
//
// The codes are stable: their numbers never change their meaning. Hosted programs see them as
// std::error_code (bough/error.hpp).
#ifndef BOUGH_CORE_STATUS_HPP
#define BOUGH_CORE_STATUS_HPP

#include <bough/core/rank.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

// How an operation ended.
enum class errc : std::uint8_t {
    ok = 0,
    invalid_argument = 1, // an argument breaks the front door's rules; `argument` names it
    deadline = 2,         // the operation did not end in time
    peer_dead = 3,        // the connection to `peer` is gone
    peer_aborted = 4,     // `peer` gave up the operation; `cause` says why
    call_mismatch = 5,    // `peer` made a different call; `mine` and `theirs` say what differs
    protocol_error = 6,   // `peer` sent what the protocol does not allow
    group_poisoned = 7,   // an earlier operation on this group failed; `cause` says how
    cancelled = 8,        // the caller cancelled the operation
    // The user's op threw an exception, or a function that makes a part of a composite.
    op_threw = 9,
    size_overflow = 10, // a size does not fit the types that carry it
    no_resources = 11,  // memory or another resource ran out
    unsupported = 12,   // the plan, the transport or the op cannot do this
    forked_child = 13,  // the process forked after the group was made
    would_block = 14,   // the transport takes no more now: try again after polling
    no_majority = 15,   // of an agreement: too few ranks have agreed; `mine` of `theirs` ranks
};
inline constexpr errc last_errc = errc::no_majority; // the highest code

// What a call_mismatch is about, and a protocol_error between builds.
enum class mismatch : std::uint8_t {
    none,
    collective,
    op,
    type,
    count,
    root,
    plan,
    operation,
    segment,
    members,
    version, // of a protocol_error: ranks of different builds (bough/core/formats.hpp)
    name,    // of the call (bough/call/named.hpp)
};

// Ranks are those of the transport (communicator::world_rank), so that all communicators of a group
// say the same.
struct status {
    errc code = errc::ok;
    errc cause = errc::ok; // of peer_aborted and group_poisoned: the first failure
    bough::mismatch mismatch = bough::mismatch::none;
    std::uint8_t collective = 0; // of a deadline: the kind of the call (bough/core/collective_name.hpp)
    // Whose fault it was, if known; of a deadline: the lowest rank that was missing.
    rank_t peer = no_rank;
    std::uint32_t operation = 0; // which operation of the communicator it hit
    std::uint16_t context = 0;   // of a deadline: the number of that communicator
    std::uint16_t missing = 0;   // of a deadline: how many ranks were missing; 255: or more
    // Of call_mismatch: this rank's value; of a deadline: see bough/core/absence.hpp.
    std::uint64_t mine = 0;
    std::uint64_t theirs = 0; // of call_mismatch: the peer's value; of a deadline: as mine
    // A literal naming what is wrong, mostly the argument of invalid_argument. message_of puts mine, theirs and peer for
    // {mine}, {theirs} and {peer} in it.
    const char* argument = nullptr;

    constexpr explicit operator bool() const noexcept { return code != errc::ok; } // true: an error
    // `argument` by its letters: the same literal has an address of its own in each translation unit.
    friend constexpr bool operator==(const status& a, const status& b) noexcept {
        return a.code == b.code && a.cause == b.cause && a.mismatch == b.mismatch && a.collective == b.collective &&
               a.peer == b.peer && a.operation == b.operation && a.context == b.context && a.missing == b.missing &&
               a.mine == b.mine && a.theirs == b.theirs && same_text(a.argument, b.argument);
    }

private:
    static constexpr bool same_text(const char* a, const char* b) noexcept {
        if (a == nullptr || b == nullptr) return a == b;
        for (; *a == *b; ++a, ++b)
            if (*a == '\0') return true;
        return false;
    }
};

// A status that refuses an argument. `argument`: a literal that begins with its name.
constexpr status invalid_argument(const char* argument) noexcept {
    status s;
    s.code = errc::invalid_argument;
    s.argument = argument;
    return s;
}

// A status for a size that is too large. `argument`: a literal that begins with its name.
constexpr status size_overflow(const char* argument) noexcept {
    status s;
    s.code = errc::size_overflow;
    s.argument = argument;
    return s;
}

// One sentence per code, for messages.
constexpr const char* describe(errc code) noexcept {
    switch (code) {
    case errc::ok: return "success";
    case errc::invalid_argument: return "invalid argument";
    case errc::deadline: return "the operation did not end by its deadline";
    case errc::peer_dead: return "the connection to a peer is gone";
    case errc::peer_aborted: return "a peer gave up the operation";
    case errc::call_mismatch: return "the ranks did not make the same call";
    case errc::protocol_error: return "a peer sent what the protocol does not allow";
    case errc::group_poisoned: return "an earlier operation on this group failed";
    case errc::cancelled: return "the operation was cancelled";
    case errc::op_threw: return "the op threw an exception";
    case errc::size_overflow: return "a size does not fit the type that carries it";
    case errc::no_resources: return "memory or another resource ran out";
    case errc::unsupported: return "not supported by this plan, transport or op";
    case errc::forked_child: return "the process forked after the group was made";
    case errc::would_block: return "the transport takes no more at the moment";
    case errc::no_majority: return "a majority of the ranks is needed";
    }
    return "unknown error";
}

} // namespace bough

#endif
