// SPDX-License-Identifier: BSL-1.0
// Absence: what the status of a missed deadline says of the ranks for which an operation waited in
// vain.
//
//   if (bough::names_missing(s))                           // a deadline, and it is known who did
//                                                          not come
//       for (bough::rank_t r = 0; r != comm.size(); ++r)
//           if (bough::is_missing(s, comm.world_rank(r))) ...
//   const bough::last_call last = bough::last_call_of(s);  // the latest call of s.peer, if it was known
// bough::message_of (bough/error.hpp) makes a sentence of it.
#ifndef BOUGH_CORE_ABSENCE_HPP
#define BOUGH_CORE_ABSENCE_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

// What is known of the first of the missing ranks. Of two different values, the later one knows
// more.
enum class absence : std::uint8_t {
    unknown,
    silent,    // it does not answer: it was stopped, or computes and makes no progress
    elsewhere, // it answers, and is in another call
    not_come,  // it answers, and is in no call
    late,      // it is the rank that reports this, and comes now
};

// A call of the missing rank: the one that it is in (elsewhere), or its latest (not_come).
// `operation` is 0 if there is none.
struct last_call {
    std::uint32_t operation = 0;
    std::uint16_t context = 0;   // the communicator
    std::uint8_t collective = 0; // its kind
    bough::absence absence = bough::absence::unknown;

    // As it lies in status::theirs.
    constexpr std::uint64_t packed() const noexcept {
        return std::uint64_t{static_cast<std::uint8_t>(absence)} << 56 | std::uint64_t{collective} << 48 |
               std::uint64_t{context} << 32 | operation;
    }
    static constexpr last_call unpacked(std::uint64_t word) noexcept {
        return {static_cast<std::uint32_t>(word), static_cast<std::uint16_t>(word >> 32),
                static_cast<std::uint8_t>(word >> 48), static_cast<bough::absence>(word >> 56)};
    }
    friend constexpr bool operator==(const last_call&, const last_call&) = default;
};

// Did it end by a deadline, here or on another rank?
constexpr bool is_deadline(const status& s) noexcept { return s.code == errc::deadline || s.cause == errc::deadline; }
// Is it known who was missing then?
constexpr bool names_missing(const status& s) noexcept { return is_deadline(s) && s.missing != 0 && s.peer != no_rank; }
constexpr last_call last_call_of(const status& s) noexcept {
    return names_missing(s) ? last_call::unpacked(s.theirs) : last_call{};
}
// Is this rank among the missing, as far as the status can say? It has room for those that are in
// one block of 64 ranks with `peer`; so for all of them in a group of up to 64. status::missing
// counts the others, too.
constexpr bool is_missing(const status& s, rank_t r) noexcept {
    if (!names_missing(s)) return false;
    return r == s.peer || (r / 64 == s.peer / 64 && (s.mine >> r % 64 & 1) != 0);
}
// What a rank reports if the others have given it up and gone on without it.
constexpr status came_too_late(rank_t me) noexcept {
    status s;
    s.code = errc::peer_aborted;
    s.cause = errc::deadline;
    s.peer = me;
    s.missing = 1;
    s.mine = std::uint64_t{1} << me % 64;
    s.theirs = last_call{.absence = absence::late}.packed();
    return s;
}
// What a rank reports of a deadline that others have seen: the missing rank itself came too late.
constexpr status as_seen_by(rank_t me, status s) noexcept {
    last_call last = last_call_of(s);
    if (!is_missing(s, me) || last.absence == absence::elsewhere || last.absence == absence::late) return s;
    s.peer = me;
    last.absence = absence::late;
    s.theirs = last.packed();
    return s;
}

} // namespace bough

#endif
