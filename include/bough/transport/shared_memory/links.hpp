// SPDX-License-Identifier: BSL-1.0
// shared_links: the links of a rank to its peers: which peers send to it, which are gone, and how a
// peer that sleeps is woken.
#ifndef BOUGH_TRANSPORT_SHARED_MEMORY_LINKS_HPP
#define BOUGH_TRANSPORT_SHARED_MEMORY_LINKS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/lifeline.hpp>
#include <bough/transport/segment/join.hpp>
#include <bough/transport/segment/layout.hpp>
#include <bough/transport/segment/sleep.hpp>
#include <bough/transport/shared_memory/link.hpp>
#include <bough/transport/shared_memory/receiver.hpp>
#include <bough/transport/shared_memory/sender.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class shared_links {
public:
    // `mine`: this rank's segment. Takes the peers' segments and sockets out of `joined`. `whole`
    // becomes false if descriptors run out.
    shared_links(shared_join& joined, rank_t rank, const segment_layout& layout, std::byte* mine,
                 std::uint32_t eager_bytes, bool& whole)
        : rank_(rank), head_(reinterpret_cast<segment_head*>(mine)), links_(layout.ranks) {
        senders_.reserve(layout.ranks);
        for (rank_t r = 0; r != layout.ranks; ++r) {
            links_[r].peer = r;
            if (r != rank) whole &= connect(links_[r], joined, layout, mine, eager_bytes);
        }
    }

    rank_t rank() const noexcept { return rank_; }
    rank_t size() const noexcept { return static_cast<rank_t>(links_.size()); }
    shared_link& operator[](rank_t peer) noexcept { return links_[peer]; }
    const shared_link& operator[](rank_t peer) const noexcept { return links_[peer]; }
    // The link of an arrival.
    shared_link& of(std::uint64_t handle) noexcept { return links_[static_cast<std::size_t>(handle / most_slots)]; }
    // The word on which this rank sleeps.
    std::atomic<std::uint32_t>& sleeping() const noexcept { return head_->sleeping; }

    // --- Who sends to whom ---

    // Tells the peer that messages to it begin.
    BOUGH_COLD void open(shared_link& l) noexcept {
        l.opened = true;
        l.out.open();
        l.theirs->openings.fetch_add(1, std::memory_order_acq_rel);
    }
    // The peers that are known to send to this rank.
    std::vector<shared_link*>& senders() noexcept { return senders_; }
    // A slot is free, and its sender has not been told.
    void owe_slots() noexcept { owes_slots_ = true; }
    // Tells all senders which slots are free, if one of them does not know.
    void tell_slots() noexcept {
        if (!owes_slots_) return;
        owes_slots_ = false;
        for (shared_link* l : senders_)
            if (l->in.tell()) nudge(*l);
    }
    // Another peer has begun to send to this rank.
    bool has_opened() const noexcept { return head_->openings.load(std::memory_order_acquire) != openings_; }
    BOUGH_COLD void find_opened() noexcept {
        openings_ = head_->openings.load(std::memory_order_acquire);
        owes_slots_ = true; // perhaps to a peer that was not among the senders when others were told
        for (shared_link& l : links_)
            if (l.peer != rank_ && !l.loss.reported && l.in.is_opened() &&
                std::find(senders_.begin(), senders_.end(), &l) == senders_.end())
                senders_.push_back(&l);
    }
    // Wakes the peer if it sleeps. To be called after any change for which it may be waiting.
    void nudge(const shared_link& l) const noexcept {
        // The sleeper runs the barrier (segment/sleep.hpp).
        std::atomic_signal_fence(std::memory_order_seq_cst);
        std::atomic<std::uint32_t>& word = l.theirs->sleeping;
        if (word.load(std::memory_order_relaxed) != 0 && !wake(word)) lines_.ring(l.peer);
    }
    // Whether poll() would find something, or there is new room for a post that was refused. Does not
    // look for pieces of messages.
    BOUGH_COLD bool has_news() noexcept {
        if (has_opened() || head_->woken.load(std::memory_order_acquire) != woken_) return true;
        for (shared_link& l : links_) {
            if (l.peer == rank_ || l.loss.reported) continue;
            if (l.in.broken()) return lose(l, errc::protocol_error), true;
            if (l.in.has_arrival() || l.out.has_news()) return true;
            if (l.wants_room && l.out.has_new_room()) {
                l.wants_room = false;
                return true;
            }
        }
        return false;
    }

    // --- Common memory ---

    // A part of a peer's memory. Empty: the system has none left.
    std::span<std::byte> common(rank_t peer, std::uint64_t offset, std::uint64_t bytes) noexcept {
        shared_process& p = links_[peer].process;
        if (!p.segment.reserve(p.common_at + offset, bytes)) return {};
        return {p.segment.data() + p.common_at + offset, static_cast<std::size_t>(bytes)};
    }
    // There is news for the peer in such memory.
    void tell_news(const shared_link& l) noexcept {
        l.theirs->woken.fetch_add(1, std::memory_order_acq_rel);
        nudge(l);
    }
    // The caller looks for it now.
    void see_news() noexcept { woken_ = head_->woken.load(std::memory_order_acquire); }

    // --- Who is gone ---

    // Readable when a peer has ended, or has rung; -1: there is none.
    int descriptor() noexcept { return lines_.descriptor(); }
    bool is_alive(rank_t peer) const noexcept { return lines_.alive(peer); }
    // How many peers are gone and not yet reported.
    const std::uint32_t& leaving() const noexcept { return leaving_; }
    BOUGH_COLD void lose(shared_link& l, errc why) noexcept {
        if (l.loss.gone) return;
        l.loss = {.gone = true, .why = why};
        ++leaving_;
    }
    // Finds out which peers have gone.
    BOUGH_COLD void look() {
        lines_.look([this](rank_t r) { lose(links_[r], errc::peer_dead); });
        for (shared_link* l : senders_)
            if (l->in.broken()) lose(*l, errc::protocol_error);
    }
    // Reports peers that are gone and whose messages have all been handed over.
    BOUGH_COLD std::size_t report_lost(std::span<event> events) {
        find_opened();
        std::size_t found = 0;
        for (shared_link& l : links_) {
            if (!l.loss.gone || l.loss.reported || found == events.size() || l.in.has_arrival()) continue;
            l.loss.reported = true;
            --leaving_;
            l.out.desert();
            std::erase(senders_, &l);
            events[found] = {};
            events[found].what = event::kind::lost;
            events[found].code = l.loss.why;
            events[found++].peer = l.peer;
        }
        return found;
    }
    // Called when this rank leaves.
    void shut_down() noexcept { lines_.shut_down(); }

private:
    bool connect(shared_link& l, shared_join& joined, const segment_layout& layout, std::byte* mine,
                 std::uint32_t eager_bytes) {
        joined_peer& p = joined.peers[l.peer];
        l.handle = std::uint64_t{l.peer} * most_slots;
        const auto copied_if = [&](bool is_read) {
            return std::min(is_read ? joined.copied_at_most(eager_bytes) : eager_bytes, layout.area_bytes / 2);
        };
        l.process = {p.pid, p.reads_it, p.reads_me, std::move(p.segment), p.layout.common_at(), copied_if(p.reads_it)};
        std::byte* const theirs = l.process.segment.data();
        l.theirs = reinterpret_cast<segment_head*>(theirs);
        const std::span<const std::byte> heap(theirs + p.layout.heap_at(),
                                              static_cast<std::size_t>(p.layout.heap_bytes));
        l.out = shared_sender(ring_view::at(theirs + p.layout.ring_at(rank_, l.peer), layout), copied_if(p.reads_me));
        l.in = shared_receiver(ring_view::at(mine + layout.ring_at(l.peer, rank_), layout), heap, p.reads_it);
        return lines_.add(l.peer, std::move(p.socket), p.pid == ::getpid() ? 0 : p.pid);
    }

    rank_t rank_;
    std::uint32_t openings_ = 0; // how many openings this rank knows of
    bool owes_slots_ = false;    // perhaps a sender does not know of all slots that are free
    std::uint32_t leaving_ = 0;
    std::uint32_t woken_ = 0; // how often this rank had been woken when it looked last
    segment_head* head_;
    std::vector<shared_link> links_; // by rank
    std::vector<shared_link*> senders_;
    lifelines lines_;
};

} // namespace bough::detail

#endif
