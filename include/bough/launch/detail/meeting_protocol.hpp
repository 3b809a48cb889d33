// SPDX-License-Identifier: BSL-1.0
// What is said at a meeting (meeting_server.hpp) by its leader and those who come, and how each
// proves that it knows the key of the job.
//
//   the leader                              who comes
//   challenge {nonce}               ->
//                                   <-      claim {member or joiner, rank, epoch, build, nonce, proof}
//   answer {verdict, ..., proof}    ->      at once if it is turned away, or when all have come
//
// After a welcome they go on with the protocol of bough/launch/detail/wire.hpp, whose bytes are
// sealed. Each proof is a mac under the key, of a label for the role, both nonces and the whole
// message. The claim of a member also covers a number that the leader drew for this growth alone
// and told the members; so a rank of an older epoch cannot pass for one of them.
#ifndef BOUGH_LAUNCH_DETAIL_MEETING_PROTOCOL_HPP
#define BOUGH_LAUNCH_DETAIL_MEETING_PROTOCOL_HPP

#include <bough/core/formats.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI::detail::jobs {

using meeting_bytes = std::array<std::byte, 32>; // a key, a nonce or a proof

// "bougrow2"
inline constexpr std::uint64_t meeting_magic = format_digit(formats::meeting) << 56 | 0x77'6f'72'67'75'6f'62;

struct meeting_challenge {
    std::uint64_t magic = meeting_magic;
    meeting_bytes nonce{};
};
struct meeting_claim {
    enum class role : std::uint32_t { joiner, member };
    std::uint64_t magic = meeting_magic;
    role as = role::joiner;
    rank_t member = 0;       // which one
    std::uint32_t epoch = 0; // that of the new group; 0: any
    build_card build{};      // the same for all ranks of a group
    meeting_bytes nonce{};
    meeting_bytes proof{};
};
struct meeting_answer {
    enum class verdict : std::uint32_t {
        welcome,
        wrong_key,   // the only one without a proof
        old_epoch,   // the claim is of an epoch that is over
        not_now,     // all places are taken, or the epoch is still to come: try again
        incomplete,  // the time was up
        member_gone, // `who` was lost
        other_build  // the claim is of a build that may not talk to this one
    };
    std::uint64_t magic = meeting_magic;
    verdict says = verdict::welcome;
    std::uint32_t epoch = 0;
    rank_t who = no_rank;      // of a welcome: its number in the new group
    rank_t size = 0, came = 0; // how many ranks there shall be, and how many have come
    std::uint16_t wrong_keys = 0, old_epochs = 0, other_builds = 0, unused = 0; // how many were turned away
    build_card build{};                                                         // the leader's
    meeting_bytes sealing{}; // what the key for the exchanges is made from
    meeting_bytes proof{};
};
static_assert(std::has_unique_object_representations_v<meeting_claim> &&
              std::has_unique_object_representations_v<meeting_answer>);

// The proof of a message; false: it could not be made. `first`: the leader's nonce; `second`: of a
// claim, the number of the growth, or zeros of a joiner; of an answer, the nonce of the claim.
template <class M, class Message>
bool make_proof(const meeting_bytes& key, Message said, const meeting_bytes& first, const meeting_bytes& second,
                meeting_bytes& proof) {
    constexpr bool is_claim = std::is_same_v<Message, meeting_claim>;
    constexpr char label[] = {'b', 'o', 'u', 'g', 'h', ' ', 'g', 'r', 'o', 'w', ':', ' ', is_claim ? 'I' : 'y'};
    std::array<std::byte, sizeof label + 64 + sizeof(Message)> text{};
    said.proof = {};
    std::memcpy(text.data(), label, sizeof label);
    std::memcpy(text.data() + sizeof label, first.data(), 32);
    std::memcpy(text.data() + sizeof label + 32, second.data(), 32);
    std::memcpy(text.data() + sizeof label + 64, &said, sizeof said);
    return M::authenticate(key, text, proof);
}
template <class M, class Message>
bool is_proved(const meeting_bytes& key, const Message& said, const meeting_bytes& first, const meeting_bytes& second) {
    meeting_bytes right{};
    return make_proof<M>(key, said, first, second, right) && M::equal(right, said.proof);
}

// A challenge that has another mark than this build's: of another version, or of another program
// (would_block).
inline status status_of(const meeting_challenge& asked) noexcept {
    constexpr std::uint64_t digit = std::uint64_t{0xff} << 56;
    constexpr std::uint64_t number = static_cast<std::uint64_t>(wire_format::meeting) << 8;
    if ((asked.magic | digit) != (meeting_magic | digit)) return {.code = errc::would_block};
    return version_mismatch(number | formats::meeting, number | (((asked.magic >> 56) - '0') & 0xff), no_rank);
}
// What an answer that is no welcome means to one of this build to whom it is given. Pre: it is none.
inline status status_of(const meeting_answer& a, const build_card& mine) noexcept {
    using verdict = meeting_answer::verdict;
    status s;
    switch (a.says) {
    case verdict::wrong_key: return invalid_argument("key: the group at the meeting place has another one");
    case verdict::old_epoch: return invalid_argument("epoch: the group at the meeting place is in a later one");
    case verdict::member_gone: return {.code = errc::peer_dead, .peer = a.who};
    case verdict::other_build: return compare_builds(mine, a.build, no_rank);
    case verdict::not_now: s.argument = "place: the group has all its ranks"; break;
    default: // how many have come, of how many; whether somebody came in vain
        s.missing = static_cast<std::uint16_t>(a.size - a.came < 255 ? a.size - a.came : 255);
        s.mine = a.came;
        s.theirs = a.size;
        if (a.wrong_keys != 0)
            s.argument = "key: a process with another one was turned away";
        else if (a.old_epochs != 0)
            s.argument = "epoch: a process of an earlier one was turned away";
        else if (a.other_builds != 0)
            s.argument = "place: a process of another build was turned away";
    }
    s.code = errc::deadline;
    return s;
}

} // namespace bough::detail::jobs

#endif
