// SPDX-License-Identifier: BSL-1.0
// What remote writes over a device are made of (region_end.hpp): where memory is, what a write says of itself, what is known of
// a peer, and long puts on their way.
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

// Where a rank's memory begins, for those who write it.
struct fabric_region_card {
    std::uint64_t address = 0, key = 0, bytes = 0;
};
// What the cards say of the whole group: an error is everybody's.
inline status agree_on_regions(std::span<const fabric_region_card> cards, rank_t me) noexcept {
    for (rank_t r = 0; r != cards.size(); ++r)
        if (cards[r].bytes != cards[me].bytes)
            return {.code = errc::invalid_argument, .peer = r, .argument = "region_bytes: must be equal on all ranks"};
    return {};
}

// The 32 bits that come with a write: what it is, and of whom.
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

struct fabric_region_peer {
    fabric_region_card place{};
    fabric_write_count begun, landed; // writes of data to it that the device has taken; of its, here
    std::uint32_t kind = 0;           // of the next to it
    std::uint64_t known_landed = 0;   // of those to it, as it has said
    std::uint64_t asked = 0;          // the question under way; 0: there is none
    std::uint64_t asked_begun = 0;    // writes that it is about, and those before
    std::uint64_t question = 0;       // of its, that is not answered; 0: none
    std::uint64_t last = 0;           // of its writes, when it has said bye
    std::uint64_t suspected_ns = 0, left_ns = 0;
    std::uint32_t flying = 0;                             // writes to it that the device has not done with
    std::uint32_t staged = 0;                             // of these, copies
    std::uint32_t waiting = 0;                            // transfers to it that are not all under way
    std::uint32_t quiet = 0;                              // polls since it was suspected that found nothing
    bool met = false, greets = false;                     // its hello has come; mine is due
    bool asks = false, answers = false, says_bye = false; // words to it that are due,
    bool says_heard = false;                              // also when it has left
    bool leaves = false, heard = false;                   // it has said bye; has heard mine
    bool left = false, reported = false;

    // Something to it has not left this process. `alone`: what the device has taken leaves by itself.
    bool keeps_back(bool alone) const noexcept { return !left && (waiting != 0 || (flying != 0 && !alone)); }
    // Whether a rank that leaves may go, as far as this peer is concerned. Nobody waits for what is under way to the dead: some
    // providers never say that it failed. One that has left waits for the word that it was heard, but not for long.
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
    fabric_op op{}; // first: a completion knows only this
    bool flying = false, over = false, owned;
    std::uint64_t id, number; // `number`: of those before it
    std::uint64_t moved = 0, piece = 0;
    fabric_target to;
    std::span<const std::byte> from;
    std::vector<std::byte> whole{}; // that was put together, if `owned`
    Memory memory{};

    bool is_before(const fabric_flushes::open& f) const noexcept {
        return op.peer == f.to && f.before > number && !is_under_way();
    }
    bool is_under_way() const noexcept { return moved + (flying ? piece : 0) == from.size(); } // all of it
};

// The lowest number of what is to a rank and has not left this process; `none`, if there is nothing.
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
