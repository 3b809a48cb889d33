// SPDX-License-Identifier: BSL-1.0
// The parts of remote writes over a device (region_end.hpp): where memory is, the ticket of a
// write, what is known about a peer, and long puts that are under way.
#ifndef BOUGH_TRANSPORT_RDMA_REGION_PARTS_HPP
#define BOUGH_TRANSPORT_RDMA_REGION_PARTS_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/transport/rdma/op.hpp>
#include <bough/transport/rdma/region_exposures.hpp>
#include <bough/transport/rdma/region_flushes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Where a rank's memory begins: its peers need this to write there.
struct fabric_region_card {
    std::uint64_t address = 0, key = 0, bytes = 0;
};
// Checks what the cards say about the whole group. If there is an error, every rank gets one.
inline status agree_on_regions(std::span<const fabric_region_card> cards, rank_t me) noexcept {
    for (rank_t r = 0; r != cards.size(); ++r)
        if (cards[r].bytes != cards[me].bytes)
            return {.code = errc::invalid_argument, .peer = r, .argument = "region_bytes: must be equal on all ranks"};
    return {};
}

// The 32 bits that come with a write: its kind and its sender.
struct fabric_ticket {
    enum what : std::uint32_t { data, hello, question, answer, bye, bye_heard, data_too };
    static constexpr std::uint32_t rank_bits = 29;

    static constexpr std::uint32_t make(what kind, rank_t from) noexcept {
        return static_cast<std::uint32_t>(kind) << rank_bits | from;
    }
    static constexpr what data_of(std::uint32_t kind) noexcept { return kind == 0 ? data : data_too; }
    static constexpr what kind_of(std::uint32_t t) noexcept { return static_cast<what>(t >> rank_bits); }
    static constexpr rank_t from_of(std::uint32_t t) noexcept { return t & ((1u << rank_bits) - 1); }
};

// What this rank knows about one peer.
struct fabric_region_peer {
    fabric_region_card place{};
    fabric_write_count begun, landed; // writes of data to it that the device has taken; from it, that landed here
    std::uint32_t kind = 0;           // of the next write to it
    std::uint64_t known_landed = 0;   // how many of the writes to it have landed, as far as it has told
    std::uint64_t asked = 0;          // the question under way; 0: there is none
    std::uint64_t asked_begun = 0;    // how many writes had been begun when that question was asked
    std::uint64_t question = 0;       // its question that this rank has not answered; 0: there is none
    std::uint64_t last = 0;           // how many writes it has sent in all, once it has said bye
    std::uint64_t suspected_ns = 0, left_ns = 0;
    std::uint32_t flying = 0;                             // writes to it with which the device has not done
    std::uint32_t staged = 0;                             // how many of these are copies
    std::uint32_t waiting = 0;                            // transfers to it of which a part is not under way
    std::uint32_t quiet = 0;                              // polls that found nothing since it was suspected
    bool met = false, greets = false;                     // its hello has come; this rank's is due
    bool asks = false, answers = false, says_bye = false; // words to it that are due
    bool says_heard = false;                              // the same, due even when it has left
    bool leaves = false, heard = false;                   // it has said bye; it has heard this rank's
    bool left = false, reported = false;

    // Whether something to it has not left this process. `alone`: what the device has taken leaves
    // by itself.
    bool keeps_back(bool alone) const noexcept { return !left && (waiting != 0 || (flying != 0 && !alone)); }
    // Whether a rank that leaves need not wait for this peer any longer. It does not wait for
    // writes to a dead peer: some providers never say that these failed. To a peer that has left it
    // still sends what is due, but not for long.
    bool is_done(std::uint64_t now, std::uint64_t grace_ns) const noexcept {
        if (left && (suspected_ns != 0 || now - left_ns > grace_ns)) return true;
        return (left || heard || leaves) && !says_bye && flying == 0;
    }
};

template <class Memory>
struct fabric_region_transfer {
    fabric_region_transfer(rank_t peer, const fabric_target& at, std::span<const std::byte> first,
                           std::span<const std::byte> second, std::uint64_t name, std::uint64_t count)
        : owned(!first.empty() && !second.empty()), id(name), number(count), to(at),
          from(first.empty() ? second : first) {
        op.kind = fabric_op::what::push;
        op.peer = peer;
        if (!owned) return;
        whole.assign(first.begin(), first.end());
        whole.insert(whole.end(), second.begin(), second.end());
        from = whole;
    }
    fabric_op op{}; // must be first: a completion knows only this
    bool flying = false, over = false, owned;
    std::uint64_t id, number; // `number`: its place among all writes and long puts of this rank
    std::uint64_t moved = 0, piece = 0;
    fabric_target to;
    std::span<const std::byte> from;
    std::vector<std::byte> whole{}; // both spans joined, if `owned`
    Memory memory{};

    // Whether a flush has to wait until this transfer is under way.
    bool is_before(const fabric_flushes::open& f) const noexcept {
        return op.peer == f.to && f.before > number && !is_under_way();
    }
    // Whether the device has taken all of it.
    bool is_under_way() const noexcept { return moved + (flying ? piece : 0) == from.size(); }
};

// The lowest number among the writes to a rank that have not left this process; `none`: there are
// none.
template <class Transfers, class Buffers>
std::uint64_t first_kept_back(rank_t to, bool alone, const Transfers& transfers, Buffers& staged, std::uint64_t none) {
    std::uint64_t first = none;
    for (const auto& t : transfers)
        if (t->op.peer == to && !(alone && t->is_under_way())) first = std::min(first, t->number);
    for (std::uint32_t i = 0; i != staged.made() && !alone; ++i)
        if (staged[i].number != 0 && staged[i].op.peer == to) first = std::min(first, staged[i].number);
    return first;
}

} // namespace bough::detail

#endif
