// SPDX-License-Identifier: BSL-1.0
// What the members of a group that grows compute for themselves, and tell each other, before and after they
// meet those who join (bough/grow.hpp).
#ifndef BOUGH_LAUNCH_GROWTH_HPP
#define BOUGH_LAUNCH_GROWTH_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// More ranks than Linux gives a process descriptors by default (fs.nr_open): who leads needs one for each
// that comes.
inline constexpr rank_t most_grown = 1u << 20;

// Which numbers the members and the joiners have in a group of `size` ranks, at most most_grown;
// `kept`: the members' numbers so far.
inline void number_grown(std::span<const rank_t> kept, rank_t size, std::vector<rank_t>& members,
                         std::vector<rank_t>& vacant) {
    std::vector<unsigned char> taken(size, 0);
    for (const rank_t r : kept)
        if (r < size) taken[r] = 1;
    members.clear();
    vacant.clear();
    rank_t next = 0;
    for (const rank_t r : kept) {
        while (r >= size && taken[next] != 0) ++next;
        members.push_back(r < size ? r : next);
        taken[members.back()] = 1;
    }
    for (rank_t r = 0; r != size; ++r)
        if (taken[r] == 0) vacant.push_back(r);
}

// The number that a rank of the new group had in the old one; no_rank: it is a joiner.
inline rank_t number_before(rank_t now, std::span<const rank_t> members, std::span<const rank_t> known_as) noexcept {
    for (std::size_t i = 0; i != members.size(); ++i)
        if (members[i] == now) return known_as[i];
    return no_rank;
}

// What every member tells the others before they meet.
struct growth_card {
    std::uint64_t code = 0;                // an errc: this rank cannot take part
    std::uint64_t size = 0;                // how many ranks there shall be
    std::uint64_t place = 0;               // a mac of the place under its key
    std::uint64_t host = ~0ull;            // of the place, where this rank listens
    std::array<std::uint64_t, 4> growth{}; // a number drawn for this growth
};

// What members agree on after a growth, bit by bit: of one that has failed, the bit of its error is 0.
static_assert(static_cast<unsigned>(last_errc) < 64);
constexpr std::uint64_t growth_word(const status& how) noexcept {
    return how ? ~(std::uint64_t{1} << static_cast<unsigned>(how.code)) : ~std::uint64_t{0};
}
constexpr bool is_in(std::uint64_t word, errc code) noexcept { return (word >> static_cast<unsigned>(code) & 1) == 0; }
// The error of a member that is not the echo of another's; if there is none, cancelled. Who waits for one
// that has an error may end by its deadline.
constexpr errc cause_in(std::uint64_t word) noexcept {
    for (unsigned code = 1; code <= static_cast<unsigned>(last_errc); ++code) {
        const auto its = static_cast<errc>(code);
        const bool is_echo = its == errc::peer_aborted || its == errc::group_poisoned || its == errc::peer_dead;
        if (!is_echo && its != errc::deadline && is_in(word, its)) return its;
    }
    return is_in(word, errc::deadline) ? errc::deadline : errc::cancelled;
}

} // namespace bough::detail

#endif
