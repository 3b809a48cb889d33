// SPDX-License-Identifier: BSL-1.0
// The writes that leave a rank, each with its ticket: short puts and words from copies, and the
// pieces of long puts. It knows what the device has not done with, and which words are due.
#ifndef BOUGH_TRANSPORT_RDMA_REGION_WRITES_HPP
#define BOUGH_TRANSPORT_RDMA_REGION_WRITES_HPP

#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/transport/rdma/buffers.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/group.hpp>
#include <bough/transport/rdma/op.hpp>
#include <bough/transport/rdma/presence.hpp>
#include <bough/transport/rdma/region_exposures.hpp>
#include <bough/transport/rdma/region_memory.hpp>
#include <bough/transport/rdma/region_words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// How much of a shared supply one peer may take: it may not poll, and the others need the rest. Several
// such peers may take all of it. So a peer that has nothing under way may have one more than there are.
inline std::size_t share_of_peer(std::size_t all, rank_t ranks) noexcept {
    return ranks > 2 ? std::max<std::size_t>(all / 2, 1) : all;
}

template <RdmaWriter Device>
class fabric_region_writes {
public:
    // Pre: the device and `presence` outlive the writes.
    fabric_region_writes(Device& device, const fabric_group& g, std::size_t longest_copy, fabric_presence& presence)
        : device_(&device), presence_(&presence), me_(g.rank), ranks_(g.size), peers_(g.size),
          copies_(device, fabric_op::what::frame, Device::writes_from, std::max<std::size_t>(longest_copy, 64),
                  std::clamp<std::size_t>(device.most_sends() / 2, 1, 256)) {}

    // Allocates what is needed to say the first word. False: so much memory may not be registered.
    bool prepare() {
        fabric_buffer* const first = copies_.get();
        if (first != nullptr) copies_.put(*first);
        return first != nullptr;
    }
    // Where the memory of each rank is.
    void reach(std::span<const fabric_region_card> cards) {
        for (rank_t r = 0; r != ranks_; ++r) peers_[r].memory = cards[r];
    }
    fabric_target place_of(rank_t to, std::uint64_t at) const noexcept {
        return {peers_[to].memory.address + at, peers_[to].memory.key};
    }
    // While ranks meet, a write may fail because a peer is not there yet.
    void set_meeting(bool on) noexcept { meeting_ = on; }

    // --- Out ---

    // Copies the bytes and writes them. False: not now.
    bool write_copy(rank_t to, const fabric_target& at, std::span<const std::byte> first,
                    std::span<const std::byte> second, fabric_ticket::what kind) {
        peer& p = peers_[to];
        fabric_buffer* const b =
            p.copies < share_of_peer(copies_.most(), ranks_) ? copies_.get(p.copies == 0) : nullptr;
        if (b == nullptr) return false;
        if (!first.empty()) std::memcpy(b->memory, first.data(), first.size());
        if (!second.empty()) std::memcpy(b->memory + first.size(), second.data(), second.size());
        b->length = first.size() + second.size();
        return write(*b, to, p, at, kind);
    }
    // Writes a word into this rank's line of the peer's memory. If that is not possible now, or there is no
    // memory for it, the word is due.
    bool say(rank_t to, fabric_ticket::what kind, std::uint64_t word) {
        peer& p = peers_[to];
        fabric_buffer* const b = copies_.find(true);
        if (b == nullptr) return owe(to, kind), false;
        std::memcpy(b->memory, &word, b->length = sizeof word);
        const fabric_target at = place_of(to, fabric_region_memory::place_of_word(me_, kind));
        if (!write(*b, to, p, at, kind)) return owe(to, kind), false;
        p.due.remove(kind);
        return true;
    }
    // Writes from where the bytes lie. False: not now.
    bool write_piece(rank_t to, const fabric_piece& piece, const fabric_target& at, fabric_ticket::what kind) {
        return write(to, peers_[to], piece, at, kind);
    }
    // The device has done with a write.
    void written(fabric_op& op) noexcept {
        peer& p = peers_[op.peer];
        --p.flying;
        if (op.kind != fabric_op::what::frame) return;
        --p.copies;
        fabric_buffer& b = copies_[op.index];
        b.number = 0;
        if (presence_->is_lost(op.peer)) copies_.lower_limit(1);
        copies_.put(b);
    }
    // Writes to a lost peer may never end, and the others need buffers. It is told nothing more but
    // that its last word was heard.
    BOUGH_COLD void lose(rank_t r) noexcept {
        copies_.raise_limit(peers_[r].copies);
        for (const auto word : {fabric_ticket::question, fabric_ticket::answer, fabric_ticket::bye})
            peers_[r].due.remove(word);
    }

    // --- What is due ---

    // The word has to be said when the device takes more.
    void owe(rank_t to, fabric_ticket::what kind) noexcept {
        peers_[to].due.add(kind);
        stalled_ = true;
    }
    bool owes(rank_t to, fabric_ticket::what kind) const noexcept { return peers_[to].due.has(kind); }
    // Something waits for the device.
    void stall() noexcept { stalled_ = true; }
    bool is_stalled() const noexcept { return stalled_; }
    // From here on only what stalls again waits.
    void resume() noexcept { stalled_ = false; }

    // --- What has left: one number for all writes and long puts of this rank ---

    std::uint64_t next_number() noexcept { return ++accepted_; }
    std::uint64_t accepted() const noexcept { return accepted_; }
    bool has_copies() const noexcept { return copies_.in_use() != 0; }
    bool are_flying(rank_t to) const noexcept { return peers_[to].flying != 0; }
    // The lowest number among the copies to a rank with which the device has not done; `none`:
    // there are none.
    std::uint64_t first_copy(rank_t to, std::uint64_t none) noexcept {
        std::uint64_t first = none;
        for (std::uint32_t i = 0; i != copies_.made(); ++i)
            if (copies_[i].number != 0 && copies_[i].op.peer == to) first = std::min(first, copies_[i].number);
        return first;
    }
    // In a forked child: forgets the copies, because they belong to the parent.
    void abandon() noexcept { copies_.abandon(); }

private:
    struct peer {
        fabric_region_card memory{};
        std::uint32_t flying = 0; // writes to it with which the device has not done
        std::uint32_t copies = 0; // how many of these are copies
        fabric_words due{};
    };

    // False: the device does not take it, now or ever.
    bool write(rank_t to, peer& p, const fabric_piece& piece, const fabric_target& at, fabric_ticket::what kind) {
        const fabric_result result = device_->write(to, piece, at.address, at.key, fabric_ticket::make(kind, me_));
        if (result == fabric_result::broken && !meeting_) presence_->suspect(to);
        p.flying += result == fabric_result::ok;
        return result == fabric_result::ok;
    }
    // The same from a copy, whose buffer is free again if the device does not take it.
    bool write(fabric_buffer& b, rank_t to, peer& p, const fabric_target& at, fabric_ticket::what kind) {
        b.op.peer = to;
        if (!write(to, p, {{b.memory, b.length}, b.descriptor, &b.op}, at, kind)) return copies_.put(b), false;
        b.number = next_number();
        ++p.copies;
        if (presence_->is_lost(to)) copies_.raise_limit(1);
        return true;
    }

    Device* device_;
    fabric_presence* presence_;
    rank_t me_, ranks_;
    std::vector<peer> peers_;
    fabric_buffers<Device> copies_;
    std::uint64_t accepted_ = 0; // the number of the last write or long put
    bool meeting_ = false;
    bool stalled_ = false; // something waits for the device
};

} // namespace bough::detail

#endif
