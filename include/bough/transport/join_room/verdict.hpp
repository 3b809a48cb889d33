// SPDX-License-Identifier: BSL-1.0
// The words by which joining ranks tell each other their states, and the verdict on them: which
// rank has failed. All ranks come to the same verdict.
#ifndef BOUGH_TRANSPORT_JOIN_ROOM_VERDICT_HPP
#define BOUGH_TRANSPORT_JOIN_ROOM_VERDICT_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI::detail {

// The state of a rank.
struct join_word {
    enum states : std::uint8_t {
        saying,   // it has `bytes` to say
        meeting,  // it waits for `peer`, if that is known
        ready,    // it waits for nobody any more
        finished, // it has left, with `code`
    };
    std::uint8_t state = saying;
    std::uint8_t code = 0, cause = 0; // of a status
    std::uint8_t is_short = 0;        // 1: it is short of memory, and can take in nothing but such words
    std::uint32_t bytes = 0;
    rank_t peer = no_rank;

    constexpr void set(const status& s) noexcept {
        code = static_cast<std::uint8_t>(s.code);
        cause = static_cast<std::uint8_t>(s.cause);
        peer = s.peer;
    }
    constexpr errc failed() const noexcept { return state == finished ? static_cast<errc>(code) : errc::ok; }
};
static_assert(sizeof(join_word) == 12 && std::is_trivially_copyable_v<join_word>);

// Does rank `me` report a failure of its own, not of another rank?
constexpr bool is_confession(errc code, rank_t peer, rank_t me) noexcept {
    if (code == errc::ok || code == errc::peer_aborted) return false;
    return peer == me || (peer == no_rank && code != errc::deadline && code != errc::peer_dead);
}
constexpr bool is_confession(const status& s, rank_t me) noexcept { return is_confession(s.code, s.peer, me); }

// The verdict on the words of all ranks, in order of rank. `mine`: the status that this rank has
// itself. ok: no rank has failed. A rank that waits for another one counts as its accuser.
inline status verdict_of(std::span<const join_word> all, rank_t me, const status& mine) noexcept {
    const auto votes_for = [all](rank_t whom) {
        std::size_t votes = 0;
        for (const join_word& w : all) votes += w.peer == whom && (w.failed() != errc::ok || w.state == w.meeting);
        return votes;
    };
    rank_t accused = no_rank, accuser = no_rank;
    bool confessed = false;
    std::size_t most = 0;
    for (rank_t r = 0; r != all.size() && !confessed; ++r) {
        if (all[r].failed() == errc::ok) continue;
        confessed = is_confession(all[r].failed(), all[r].peer, r);
        const rank_t whom = confessed ? r : all[r].peer;
        const std::size_t votes = whom < all.size() ? votes_for(whom) : 0;
        const bool leads = votes > most || (votes == most && votes != 0 && whom < accused);
        if (!confessed && !leads && accuser != no_rank) continue;
        accused = whom < all.size() ? whom : no_rank;
        accuser = r;
        most = votes;
    }
    if (accuser == no_rank) return mine;
    if (!confessed) // perhaps more ranks wait for one of which no rank has complained yet
        for (const join_word& w : all)
            if (w.state == w.meeting && w.peer < all.size())
                if (const std::size_t votes = votes_for(w.peer); votes > most) accused = w.peer, most = votes;
    const auto code = all[accuser].failed(), cause = static_cast<errc>(all[accuser].cause);
    if (confessed) {
        if (is_confession(mine, me)) return mine;
        return {.code = errc::peer_aborted, .cause = code, .peer = accused};
    }
    if (mine && (mine.peer == accused || me == accused)) { // its own status says more
        status same = mine;
        if (mine.code == code) same.peer = accused;
        return same;
    }
    if (me == accused)
        return {.code = errc::peer_aborted, .cause = code == errc::peer_aborted ? cause : code, .peer = accuser};
    return {.code = code, .cause = cause, .peer = accused};
}

} // namespace bough::detail

#endif
