// SPDX-License-Identifier: BSL-1.0
// What remote writes over a device are made of (region_end.hpp): where memory is, what a write says of itself, what is known of
// a peer, and long puts on their way.
#ifndef BOUGH_TRANSPORT_FABRIC_REGION_PARTS_HPP
#define BOUGH_TRANSPORT_FABRIC_REGION_PARTS_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/transport/fabric/op.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::detail {

// Where a rank's memory begins, for those who write it; or that it has none.
struct fabric_region_card {
    std::uint64_t address = 0, key = 0, bytes = 0;
    std::uint32_t failure = 0, unused = 0;
};
// What the cards say of the whole group: an error is everybody's.
inline status agree_on_regions(std::span<const fabric_region_card> cards) noexcept {
    for (rank_t r = 0; r != cards.size(); ++r)
        if (cards[r].failure != 0)
            return {.code = errc::peer_aborted, .cause = static_cast<errc>(cards[r].failure), .peer = r};
    for (rank_t r = 0; r != cards.size(); ++r)
        if (cards[r].bytes != cards[0].bytes)
            return {.code = errc::invalid_argument, .peer = r, .argument = "region_bytes: must be equal on all ranks"};
    return {};
}

// The 32 bits that come with a write: what it is, and of whom.
struct fabric_ticket {
    enum what : std::uint32_t { data, hello, question, answer, bye, bye_heard };
    static constexpr std::uint32_t rank_bits = 29;

    static constexpr std::uint32_t make(what kind, rank_t from) noexcept {
        return static_cast<std::uint32_t>(kind) << rank_bits | from;
    }
    static constexpr what kind_of(std::uint32_t t) noexcept { return static_cast<what>(t >> rank_bits); }
    static constexpr rank_t from_of(std::uint32_t t) noexcept { return t & ((1u << rank_bits) - 1); }
};

struct fabric_region_peer {
    fabric_region_card place{};
    std::uint64_t begun = 0;        // writes of data to it that the device has taken
    std::uint64_t known_landed = 0; // of these, as it has said
    std::uint64_t asked = 0;        // in the question under way; 0: there is none
    std::uint64_t landed = 0;       // writes of its data here
    std::uint64_t question = 0;     // of its, that is not answered; 0: none
    std::uint64_t last = 0;         // of its writes, when it has said bye
    std::uint64_t suspected_ns = 0, left_ns = 0;
    std::uint32_t flying = 0;                             // writes to it that the device has not done with
    std::uint32_t waiting = 0;                            // transfers to it that are not all under way
    std::uint32_t quiet = 0;                              // polls since it was suspected that found nothing
    bool met = false, greets = false;                     // its hello has come; mine is due
    bool asks = false, answers = false, says_bye = false; // words to it that are due
    bool leaves = false, heard = false;                   // it has said bye; has heard mine
    bool left = false, reported = false;
};

template <class Memory>
struct fabric_region_transfer {
    fabric_op op{}; // first: a completion knows only this
    bool flying = false, over = false, owned = false;
    std::uint64_t id = 0, moved = 0, piece = 0, offset = 0;
    std::span<const std::byte> from{};
    std::vector<std::byte> whole{}; // that was put together, if `owned`
    Memory memory{};
};

} // namespace bough::detail

#endif
